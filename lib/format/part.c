/* part.c - see part.h. */
#include "format/part.h"

#include <string.h>

#include "base/hand_out.h"
#include "base/text.h"

#define VERSION 2
#define KIND_MOST 0xffff
#define CELLS_MOST (UINT64_C(1) << 56)

/* Where the fields of the head are. */
enum {
    AT_VERSION = 4,
    AT_KIND = 6,
    AT_WHOLE = 8,
    AT_HEAD = 16,
    AT_LENGTH = 20,
    AT_CELLS = 24,
    AT_SHARD = 32,
    AT_SHARDS = 36,
    AT_SUM = 48,
    AT_WORDS = 56,
    AT_SENTENCE = 64
};

static const char cut_off[] = "the data is cut off: it says that it is longer than it is";
static const char damaged[] = "the data is damaged: its checksum does not match";
static const char impossible[] = "the data is damaged: its head contradicts itself";

static uint64_t padded_length(const struct part_head *h)
{
    return (h->length + UINT64_C(7)) / 8 * 8;
}

uint32_t part_head_size(const struct part_head *h)
{
    return (uint32_t)part_lines(AT_SENTENCE + padded_length(h) + UINT64_C(8) * h->words);
}

static uint64_t sums_size(const struct part_head *h)
{
    return part_lines(8 * part_blocks(h->cells));
}

uint64_t part_size(const struct part_head *h)
{
    return part_head_size(h) + part_lines(h->cells) + sums_size(h);
}

static const uint8_t magic[4] = {'W', 'E', 'I', 'R'};

/* ---- the head as bytes ---- */

/* Of the head with a sum of zero. */
static uint64_t sum_of_head(const uint8_t *head, uint32_t size)
{
    static const uint8_t zero[8];
    XXH3_state_t sum;

    XXH3_64bits_reset(&sum);
    XXH3_64bits_update(&sum, head, AT_SUM);
    XXH3_64bits_update(&sum, zero, sizeof zero);
    XXH3_64bits_update(&sum, head + AT_SUM + 8, size - AT_SUM - 8);
    return XXH3_64bits_digest(&sum);
}

static void encode(const struct part_head *h, uint8_t head[PART_HEAD_MOST])
{
    uint8_t *word = head + AT_SENTENCE + padded_length(h);
    uint32_t size = part_head_size(h);

    memset(head, 0, size);
    memcpy(head, magic, sizeof magic);
    bits_store16(head + AT_VERSION, VERSION);
    bits_store16(head + AT_KIND, h->kind);
    bits_store64(head + AT_WHOLE, part_size(h));
    bits_store32(head + AT_HEAD, size);
    bits_store32(head + AT_LENGTH, h->length);
    bits_store64(head + AT_CELLS, h->cells);
    bits_store32(head + AT_SHARD, h->shard);
    bits_store32(head + AT_SHARDS, h->shards);
    bits_store32(head + AT_WORDS, h->words);
    if (h->length > 0)
        memcpy(head + AT_SENTENCE, h->sentence, h->length);
    for (uint32_t i = 0; i < h->words; i++)
        bits_store64(word + 8 * i, h->word[i]);
    bits_store64(head + AT_SUM, sum_of_head(head, size));
}

/* False if the lengths do not fit the head that they are in. */
static bool decode(const uint8_t *head, uint32_t size, struct part_head *h)
{
    h->kind = bits_load16(head + AT_KIND);
    h->shard = bits_load32(head + AT_SHARD);
    h->shards = bits_load32(head + AT_SHARDS);
    h->sentence = (const char *)head + AT_SENTENCE;
    h->length = bits_load32(head + AT_LENGTH);
    h->cells = bits_load64(head + AT_CELLS);
    h->words = bits_load32(head + AT_WORDS);
    h->sums = NULL;
    if (h->length > PART_HEAD_MOST || h->words > PART_WORDS || part_head_size(h) != size ||
        h->cells > CELLS_MOST || h->shard >= h->shards)
        return false;
    for (uint32_t i = 0; i < h->words; i++)
        h->word[i] = bits_load64(head + AT_SENTENCE + padded_length(h) + 8 * i);
    return true;
}

/* ---- writing ---- */

static void send(struct part_writer *out, const void *data, size_t size)
{
    if (out->ok && size > 0)
        out->ok = out->sink(out->context, data, size);
}

static void send_sum(struct part_writer *out)
{
    uint8_t sum[8];

    bits_store64(sum, XXH3_64bits_digest(&out->sum));
    send(out, sum, sizeof sum);
    XXH3_64bits_reset_withSeed(&out->sum, ++out->block);
    out->in_block = 0;
}

static void sum(struct part_writer *out, const uint8_t *data, size_t size)
{
    while (size > 0) {
        uint64_t room = PART_BLOCK - out->in_block;
        size_t n = size < room ? size : (size_t)room;

        XXH3_64bits_update(&out->sum, data, n);
        out->in_block += n;
        if (out->in_block == PART_BLOCK)
            send_sum(out);
        data += n;
        size -= n;
    }
}

void part_put(struct part_writer *out, const void *data, size_t size)
{
    if (out->summing)
        sum(out, data, size);
    else
        send(out, data, size);
}

void part_put32(struct part_writer *out, uint32_t value)
{
    uint8_t bytes[4];

    bits_store32(bytes, value);
    part_put(out, bytes, sizeof bytes);
}

void part_put64(struct part_writer *out, uint64_t value)
{
    uint8_t bytes[8];

    bits_store64(bytes, value);
    part_put(out, bytes, sizeof bytes);
}

void part_put_numbers(struct part_writer *out, const void *numbers, uint64_t size, uint32_t width)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    (void)width;
    part_put(out, numbers, (size_t)size);
#else
    for (uint64_t at = 0; at < size; at += width) {
        uint64_t wide;
        uint32_t narrow;

        if (width == sizeof wide) {
            memcpy(&wide, (const uint8_t *)numbers + at, sizeof wide);
            part_put64(out, wide);
        } else {
            memcpy(&narrow, (const uint8_t *)numbers + at, sizeof narrow);
            part_put32(out, narrow);
        }
    }
#endif
}

/* Zeros up to a whole line, after so many bytes. */
static void pad(struct part_writer *out, uint64_t after)
{
    static const uint8_t zeros[PART_LINE];

    send(out, zeros, (size_t)(part_lines(after) - after));
}

static void make_sums(void (*put)(const void *what, struct part_writer *out), const void *what,
                      struct part_writer *out)
{
    out->summing = true;
    XXH3_64bits_reset_withSeed(&out->sum, 0);
    put(what, out);
    if (out->in_block > 0)
        send_sum(out);
}

enum weir_status part_write(const struct part_head *h,
                            void (*put)(const void *what, struct part_writer *out),
                            const void *what, weir_sink sink, void *context,
                            struct weir_error *error)
{
    struct part_writer out = {.sink = sink, .context = context, .ok = true};
    uint8_t head[PART_HEAD_MOST];

    encode(h, head);
    send(&out, head, part_head_size(h));
    if (out.ok)
        put(what, &out);
    pad(&out, h->cells);
    if (h->sums)
        send(&out, h->sums, (size_t)(8 * part_blocks(h->cells)));
    else if (out.ok)
        make_sums(put, what, &out);
    pad(&out, 8 * part_blocks(h->cells));
    return out.ok ? WEIR_OK
                  : error_say(error, WEIR_WRITE_FAILED, "the sink did not take all bytes", NULL);
}

static void put_bytes(const void *what, struct part_writer *out)
{
    const struct weir_bytes *bytes = what;

    part_put(out, bytes->data, bytes->size);
}

enum weir_status weir_part_write(uint32_t kind, const void *body, size_t size, weir_sink sink,
                                 void *context, struct weir_error *error)
{
    struct part_head h = {.kind = kind, .shards = 1, .cells = size};

    if (kind > KIND_MOST)
        return error_say(error, WEIR_UNSUPPORTED, "the kind of a part is below 65536", NULL);
    return part_write(&h, put_bytes, &(struct weir_bytes){body, size}, sink, context, error);
}

bool part_fits(uint64_t needed, size_t size, struct weir_error *error)
{
    char bytes[24];
    struct text t = text_in(bytes, sizeof bytes);

    if (needed <= size)
        return true;
    text_add_u64(&t, needed);
    error_say(error, WEIR_WRITE_FAILED, "the buffer is too small: saving takes ", bytes, " bytes",
              NULL);
    return false;
}

bool part_into_buffer(void *context, const void *data, size_t size)
{
    struct part_buffer *buffer = context;

    memcpy(buffer->at, data, size);
    buffer->at += size;
    return true;
}

/* ---- reading heads ---- */

enum weir_status part_bad(struct weir_error *error, const char *why)
{
    return error_say(error, WEIR_BAD_DATA, why, NULL);
}

static enum weir_status check_version(const uint8_t *data, size_t size, struct weir_error *error)
{
    if (size < sizeof magic || memcmp(data, magic, sizeof magic) != 0)
        return part_bad(error, "this is not saved by weir: it does not begin with WEIR");
    if (size < AT_KIND)
        return part_bad(error, "the data is cut off in its first bytes");
    uint32_t version = bits_load16(data + AT_VERSION);
    if (version == 1)
        return part_bad(error, "this has format version 1, which was never released: make it anew");
    if (version != VERSION)
        return part_bad(error,
                        "this was saved by another version of weir: only format 2 is known here");
    if (size < AT_SENTENCE)
        return part_bad(error, "the data is cut off in its first bytes");
    return WEIR_OK;
}

/* The length of the head; 0 if it cannot be. */
static uint32_t told_size(const uint8_t *head)
{
    uint32_t size = bits_load32(head + AT_HEAD);

    return size >= AT_SENTENCE && size <= PART_HEAD_MOST && size % PART_LINE == 0 ? size : 0;
}

/* A head of which every byte is there. It must be just what would be written. */
static enum weir_status check_head(const uint8_t *head, uint32_t size, struct part_head *h,
                                   struct weir_error *error)
{
    uint8_t again[PART_HEAD_MOST];

    if (sum_of_head(head, size) != bits_load64(head + AT_SUM))
        return part_bad(error, damaged);
    if (!decode(head, size, h))
        return part_bad(error, impossible);
    encode(h, again);
    return memcmp(head, again, size) == 0 ? WEIR_OK : part_bad(error, impossible);
}

enum weir_status part_read_head(const uint8_t *data, size_t size, struct part_head *h,
                                struct weir_error *error)
{
    enum weir_status status = check_version(data, size, error);

    if (status != WEIR_OK)
        return status;
    uint32_t head = told_size(data);
    if (!head)
        return part_bad(error, impossible);
    return head > size ? part_bad(error, cut_off) : check_head(data, head, h, error);
}

enum weir_status part_find(const uint8_t *data, size_t size, struct part_head *h,
                           struct weir_error *error)
{
    enum weir_status status = part_read_head(data, size, h, error);

    if (status != WEIR_OK)
        return status;
    return part_size(h) > size ? part_bad(error, cut_off) : WEIR_OK;
}

bool part_sentence(const struct part_head *h, char text[WEIR_SENTENCE])
{
    if (h->length >= WEIR_SENTENCE)
        return false;
    memcpy(text, h->sentence, h->length);
    text[h->length] = '\0';
    return strlen(text) == h->length;
}

enum weir_status part_is_whole(const struct part_head *h, struct weir_error *error)
{
    char shard[24], shards[24];
    struct text a = text_in(shard, sizeof shard), b = text_in(shards, sizeof shards);

    if (h->shards == 1)
        return WEIR_OK;
    text_add_u64(&a, h->shard + UINT64_C(1));
    text_add_u64(&b, h->shards);
    return error_say(error, WEIR_BAD_DATA, "this is shard ", shard, " of ", shards,
                     ", a part of the keys only; weir_load_all() takes all of them together", NULL);
}

/* ---- reading cells ---- */

/* Are these cells those that the sums, from the first on, were made of? */
static bool sums_match(const uint8_t *cells, uint64_t size, uint64_t first, const uint8_t *sums,
                       uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = (first + i) * PART_BLOCK;
        size_t bytes = (size_t)(size - at < PART_BLOCK ? size - at : PART_BLOCK);

        if (XXH3_64bits_withSeed(cells + at, bytes, first + i) != bits_load64(sums + 8 * i))
            return false;
    }
    return true;
}

static bool all_zero(const uint8_t *bytes, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

static bool cells_sound(const uint8_t *part, const struct part_head *h)
{
    const uint8_t *cells = part + part_head_size(h), *sums = cells + part_lines(h->cells);
    uint64_t n = part_blocks(h->cells);

    return sums_match(cells, h->cells, 0, sums, n) &&
           all_zero(cells + h->cells, part_lines(h->cells) - h->cells) &&
           all_zero(sums + 8 * n, sums_size(h) - 8 * n);
}

enum weir_status part_find_sound(const uint8_t *data, size_t size, struct part_head *h,
                                 struct weir_error *error)
{
    enum weir_status status = part_find(data, size, h, error);

    if (status != WEIR_OK)
        return status;
    return cells_sound(data, h) ? WEIR_OK : part_bad(error, damaged);
}

static void tell(const uint8_t *data, const struct part_head *h, struct weir_part *part,
                 size_t room)
{
    struct weir_part known = {.kind = h->kind,
                              .body = data + part_head_size(h),
                              .body_size = (size_t)h->cells,
                              .size = (size_t)part_size(h),
                              .shard = h->shard,
                              .shards = h->shards};

    hand_out(part, room, &known, sizeof known);
}

enum weir_status weir_part_read(const void *data, size_t size, struct weir_part *part, size_t room,
                                struct weir_error *error)
{
    struct part_head h;
    enum weir_status status = part_find_sound(data, size, &h, error);

    if (status == WEIR_OK)
        tell(data, &h, part, room);
    return status;
}

enum weir_status weir_part_head(const void *data, size_t size, struct weir_part *part, size_t room,
                                struct weir_error *error)
{
    struct part_head h;
    enum weir_status status = part_find(data, size, &h, error);

    if (status == WEIR_OK)
        tell(data, &h, part, room);
    return status;
}

enum weir_status weir_verify(const void *data, size_t size, struct weir_error *error)
{
    const uint8_t *at = data;
    struct part_head h;

    do {
        enum weir_status status = part_find_sound(at, size, &h, error);

        if (status != WEIR_OK)
            return status;
        at += part_size(&h);
        size -= (size_t)part_size(&h);
    } while (size > 0);
    return WEIR_OK;
}

const uint8_t *part_get(struct part_reader *in, uint64_t size)
{
    const uint8_t *at = in->at;

    if (size > in->left)
        return NULL;
    in->at += size;
    in->left -= (size_t)size;
    return at;
}

/* ---- from a source ---- */

bool part_from_memory(void *context, void *data, size_t size)
{
    struct part_memory *memory = context;

    memcpy(data, memory->at, size);
    memory->at += size;
    return true;
}

static enum weir_status read_failed(struct weir_error *error)
{
    return part_bad(error, "the data is cut off: its source gives no more");
}

enum weir_status part_input_head(struct part_input in, uint8_t buffer[PART_HEAD_MOST],
                                 struct part_head *h, struct weir_error *error)
{
    if (!in.source(in.context, buffer, AT_SENTENCE))
        return read_failed(error);
    enum weir_status status = check_version(buffer, AT_SENTENCE, error);
    if (status != WEIR_OK)
        return status;
    uint32_t size = told_size(buffer);
    if (!size)
        return part_bad(error, impossible);
    if (size > AT_SENTENCE && !in.source(in.context, buffer + AT_SENTENCE, size - AT_SENTENCE))
        return read_failed(error);
    return check_head(buffer, size, h, error);
}

/* The next bytes of a source, of which the first n belong there and the others are
 * zeros up to a whole line. */
static enum weir_status read_padded(struct part_input in, uint8_t *to, uint64_t n,
                                    struct weir_error *error)
{
    uint8_t padding[PART_LINE];
    size_t pad = (size_t)(part_lines(n) - n);

    for (uint64_t at = 0; at < n; at += PART_BLOCK)
        if (!in.source(in.context, to + at, (size_t)(n - at < PART_BLOCK ? n - at : PART_BLOCK)))
            return read_failed(error);
    if (pad > 0 && !in.source(in.context, padding, pad))
        return read_failed(error);
    return all_zero(padding, pad) ? WEIR_OK : part_bad(error, damaged);
}

enum weir_status part_input_cells(struct part_input in, const struct part_head *h, uint8_t *cells,
                                  struct weir_error *error)
{
    uint8_t sums[PART_LINE];
    uint64_t blocks = part_blocks(h->cells);
    enum weir_status status = read_padded(in, cells, h->cells, error);

    for (uint64_t i = 0; status == WEIR_OK && i < blocks; i += PART_LINE / 8) {
        uint64_t n = blocks - i < PART_LINE / 8 ? blocks - i : PART_LINE / 8;

        status = read_padded(in, sums, 8 * n, error);
        if (status == WEIR_OK && !sums_match(cells, h->cells, i, sums, n))
            status = part_bad(error, damaged);
    }
    return status;
}
