/* part_cells.c - the cells of a part: read them from memory or a source and verify their sums, or
 * write them to a sink, with the head before and the sums after them. */
#include <string.h>

#include "spec/caller_struct.h"
#include "format/part.h"
#include "base/text.h"

/* ---- reading cells ---- */

/* Do the cells match n sums, which begin with that of block `first`? */
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

static bool cells_sound(const uint8_t *cells, const struct part_head *h)
{
    const uint8_t *sums = cells + part_lines(h->cells);
    uint64_t n = part_blocks(h->cells);

    return sums_match(cells, h->cells, 0, sums, n) &&
           all_zero(cells + h->cells, part_lines(h->cells) - h->cells) &&
           all_zero(sums + 8 * n, part_sums_size(h) - 8 * n);
}

/* Find a whole part and verify its sums. */
static enum weir_status find_sound(const uint8_t *data, size_t size, struct part_head *h,
                                   struct weir_error *error)
{
    enum weir_status status = part_find(data, size, h, error);

    if (status != WEIR_OK)
        return status;
    return cells_sound(data + part_head_size(h), h) ? WEIR_OK : part_damaged(error);
}

static void describe(const uint8_t *data, const struct part_head *h, struct weir_part *part,
                     size_t room)
{
    struct weir_part known = {.kind = h->kind,
                              .body = data + part_head_size(h),
                              .body_size = (size_t)h->cells,
                              .size = (size_t)part_size(h),
                              .shard = h->shard,
                              .shards = h->shards,
                              .spec = h->spec,
                              .spec_size = h->length};

    caller_struct_return(part, room, &known, sizeof known);
}

enum weir_status weir_part_read(const void *data, size_t size, struct weir_part *part, size_t room,
                                struct weir_error *error)
{
    struct part_head h;
    enum weir_status status = find_sound(data, size, &h, error);

    if (status == WEIR_OK)
        describe(data, &h, part, room);
    return status;
}

enum weir_status weir_part_head(const void *data, size_t size, struct weir_part *part, size_t room,
                                struct weir_error *error)
{
    struct part_head h;
    enum weir_status status = part_find(data, size, &h, error);

    if (status == WEIR_OK)
        describe(data, &h, part, room);
    return status;
}

enum weir_status weir_verify(const void *data, size_t size, struct weir_error *error)
{
    const uint8_t *at = data;
    struct part_head h;

    do {
        enum weir_status status = find_sound(at, size, &h, error);

        if (status != WEIR_OK)
            return status;
        at += part_size(&h);
        size -= (size_t)part_size(&h);
    } while (size > 0);
    return WEIR_OK;
}

/* The value of the line "keys=" in a note of weir(1); its data is NULL if there is none. */
static struct weir_bytes keys_line(const char *note, size_t size)
{
    static const char mark[] = "\nkeys=";
    const size_t n = sizeof mark - 1, name = strcspn(WEIR_KEYS_NOTE, " ");

    if (size < name || memcmp(note, WEIR_KEYS_NOTE, name) != 0)
        return (struct weir_bytes){NULL, 0};
    for (size_t i = name; i + n <= size; i++)
        if (memcmp(note + i, mark, n) == 0) {
            const char *end = memchr(note + i + n, '\n', size - i - n);

            return (struct weir_bytes){note + i + n,
                                       end ? (size_t)(end - note) - i - n : size - i - n};
        }
    return (struct weir_bytes){NULL, 0};
}

size_t weir_saved_key_description(const void *data, size_t size, char *text, size_t room)
{
    const uint8_t *at = data;
    struct weir_bytes keys = {NULL, 0};
    struct part_head h;

    while (!keys.data && size > 0 && part_find(at, size, &h, NULL) == WEIR_OK &&
           h.kind != WEIR_PART_FILTER) {
        if (h.kind == WEIR_PART_NOTE && cells_sound(at + part_head_size(&h), &h))
            keys = keys_line((const char *)at + part_head_size(&h), (size_t)h.cells);
        at += part_size(&h);
        size -= (size_t)part_size(&h);
    }
    if (keys.size >= WEIR_KEY_DESCRIPTION_MAX)
        keys.size = WEIR_KEY_DESCRIPTION_MAX - 1;
    for (size_t i = 0; i < keys.size && i + 1 < room; i++) {
        char c = ((const char *)keys.data)[i];

        text[i] = (char)(c >= ' ' && c <= '~' ? c : '?');
    }
    if (room > 0)
        text[keys.size < room ? keys.size : room - 1] = '\0';
    return keys.size;
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

/* Read n bytes from a source, and the zeros that pad them to a whole line. */
static enum weir_status read_padded(struct part_input in, uint8_t *to, uint64_t n,
                                    struct weir_error *error)
{
    uint8_t padding[PART_LINE];
    size_t pad = (size_t)(part_lines(n) - n);

    for (uint64_t at = 0; at < n; at += PART_BLOCK)
        if (!in.source(in.context, to + at, (size_t)(n - at < PART_BLOCK ? n - at : PART_BLOCK)))
            return part_cut_off(error);
    if (pad > 0 && !in.source(in.context, padding, pad))
        return part_cut_off(error);
    return all_zero(padding, pad) ? WEIR_OK : part_damaged(error);
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
            status = part_damaged(error);
    }
    return status;
}

enum weir_status part_input_in_place(struct part_input in, const struct part_head *h,
                                     const uint8_t **cells, struct weir_error *error)
{
    const struct part_memory *memory = in.context;

    *cells = in.source == part_from_memory ? memory->at : NULL;
    return !*cells || cells_sound(*cells, h) ? WEIR_OK : part_damaged(error);
}

/* ---- writing ---- */

#define KIND_MAX 0xffff

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

/* Pad with zeros to a whole line after this many bytes. */
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
    uint8_t head[PART_HEAD_MAX];

    part_encode_head(h, head);
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
                  : error_say(error, WEIR_ERROR_WRITE_FAILED, "the sink did not accept all bytes",
                              NULL);
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

    if (kind > KIND_MAX)
        return error_say(error, WEIR_ERROR_UNSUPPORTED,
                         "invalid kind of a part; use a number below 65536", NULL);
    return part_write(&h, put_bytes, &(struct weir_bytes){body, size}, sink, context, error);
}

bool part_fits(uint64_t needed, size_t size, struct weir_error *error)
{
    char bytes[24];
    struct text t = text_in(bytes, sizeof bytes);

    if (needed <= size)
        return true;
    text_add_u64(&t, needed);
    error_say(error, WEIR_ERROR_BUFFER_TOO_SMALL, "the buffer is too small: saving needs ", bytes,
              " bytes", NULL);
    return false;
}

bool part_into_buffer(void *context, const void *data, size_t size)
{
    struct part_buffer *buffer = context;

    memcpy(buffer->at, data, size);
    buffer->at += size;
    return true;
}
