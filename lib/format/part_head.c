/* part_head.c - encode, decode and check the head of a part. */
#include <string.h>

#include "base/text.h"
#include "format/part.h"

#define VERSION 3
#define CELLS_MAX (UINT64_C(1) << 56)

/* Offsets of the fields. */
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
    AT_SPEC = 64
};

static const char cut_off[] = "the data is truncated: it is shorter than its head states";
static const char impossible[] = "the data is damaged: its head contradicts itself";

static uint64_t padded_length(const struct part_head *h)
{
    return (h->length + UINT64_C(7)) / 8 * 8;
}

uint32_t part_head_size(const struct part_head *h)
{
    return (uint32_t)part_lines(AT_SPEC + padded_length(h) + UINT64_C(8) * h->words);
}

uint64_t part_size(const struct part_head *h)
{
    return part_head_size(h) + part_lines(h->cells) + part_sums_size(h);
}

static const uint8_t magic[4] = {'W', 'E', 'I', 'R'};

/* ---- the head as bytes ---- */

/* The checksum of the head, computed with a sum field of zero. */
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

void part_encode_head(const struct part_head *h, uint8_t head[PART_HEAD_MAX])
{
    uint8_t *word = head + AT_SPEC + padded_length(h);
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
        memcpy(head + AT_SPEC, h->spec, h->length);
    for (uint32_t i = 0; i < h->words; i++)
        bits_store64(word + 8 * i, h->word[i]);
    bits_store64(head + AT_SUM, sum_of_head(head, size));
}

/* Returns false if the lengths are inconsistent. */
static bool decode(const uint8_t *head, uint32_t size, struct part_head *h)
{
    h->kind = bits_load16(head + AT_KIND);
    h->shard = bits_load32(head + AT_SHARD);
    h->shards = bits_load32(head + AT_SHARDS);
    h->spec = (const char *)head + AT_SPEC;
    h->length = bits_load32(head + AT_LENGTH);
    h->cells = bits_load64(head + AT_CELLS);
    h->words = bits_load32(head + AT_WORDS);
    h->sums = NULL;
    if (h->length > PART_HEAD_MAX || h->words > PART_WORDS || part_head_size(h) != size ||
        h->cells > CELLS_MAX || h->shard >= h->shards)
        return false;
    for (uint32_t i = 0; i < h->words; i++)
        h->word[i] = bits_load64(head + AT_SPEC + padded_length(h) + 8 * i);
    return true;
}

/* ---- reading heads ---- */

enum weir_status part_bad(struct weir_error *error, enum weir_error_code code, const char *why)
{
    return error_say(error, code, why, NULL);
}

enum weir_status part_damaged(struct weir_error *error)
{
    return part_bad(error, WEIR_ERROR_CHECKSUM, "the data is damaged: its checksum does not match");
}

enum weir_status part_cut_off(struct weir_error *error)
{
    return part_bad(error, WEIR_ERROR_TRUNCATED, "the data is truncated: the source ended early");
}

static enum weir_status check_version(const uint8_t *data, size_t size, struct weir_error *error)
{
    if (size < sizeof magic || memcmp(data, magic, sizeof magic) != 0)
        return part_bad(error, WEIR_ERROR_NOT_WEIR,
                        "this is not saved by weir: it does not begin with WEIR");
    if (size < AT_KIND)
        return part_bad(error, WEIR_ERROR_TRUNCATED, "the data is truncated in its first bytes");
    uint32_t version = bits_load16(data + AT_VERSION);
    if (version < VERSION)
        return part_bad(error, WEIR_ERROR_OLD_FORMAT, "written by 0.2.0; build it again");
    if (version > VERSION)
        return part_bad(error, WEIR_ERROR_NEWER_FORMAT,
                        "written by a newer version of weir; upgrade weir to read it");
    if (size < AT_SPEC)
        return part_bad(error, WEIR_ERROR_TRUNCATED, "the data is truncated in its first bytes");
    return WEIR_OK;
}

/* The stated length of the head; 0 if it is impossible. */
static uint32_t stated_size(const uint8_t *head)
{
    uint32_t size = bits_load32(head + AT_HEAD);

    return size >= AT_SPEC && size <= PART_HEAD_MAX && size % PART_LINE == 0 ? size : 0;
}

/* Check a complete head: encoding it again must give the same bytes. */
static enum weir_status check_head(const uint8_t *head, uint32_t size, struct part_head *h,
                                   struct weir_error *error)
{
    uint8_t again[PART_HEAD_MAX];

    if (sum_of_head(head, size) != bits_load64(head + AT_SUM))
        return part_damaged(error);
    if (!decode(head, size, h))
        return part_bad(error, WEIR_ERROR_CONTRADICTORY, impossible);
    part_encode_head(h, again);
    return memcmp(head, again, size) == 0 ? WEIR_OK
                                          : part_bad(error, WEIR_ERROR_CONTRADICTORY, impossible);
}

enum weir_status part_read_head(const uint8_t *data, size_t size, struct part_head *h,
                                struct weir_error *error)
{
    enum weir_status status = check_version(data, size, error);

    if (status != WEIR_OK)
        return status;
    uint32_t head = stated_size(data);
    if (!head)
        return part_bad(error, WEIR_ERROR_CONTRADICTORY, impossible);
    return head > size ? part_bad(error, WEIR_ERROR_TRUNCATED, cut_off)
                       : check_head(data, head, h, error);
}

enum weir_status part_find(const uint8_t *data, size_t size, struct part_head *h,
                           struct weir_error *error)
{
    enum weir_status status = part_read_head(data, size, h, error);

    if (status != WEIR_OK)
        return status;
    return part_size(h) > size ? part_bad(error, WEIR_ERROR_TRUNCATED, cut_off) : WEIR_OK;
}

bool part_spec(const struct part_head *h, char text[WEIR_SPEC_MAX])
{
    if (h->length >= WEIR_SPEC_MAX)
        return false;
    memcpy(text, h->spec, h->length);
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
    return error_say(error, WEIR_ERROR_ONE_SHARD, "this is shard ", shard, " of ", shards,
                     "; load all of them with weir_load_shards() or weir_shared_load_file()", NULL);
}

/* ---- from a source ---- */

enum weir_status part_input_head(struct part_input in, uint8_t buffer[PART_HEAD_MAX],
                                 struct part_head *h, struct weir_error *error)
{
    if (!in.source(in.context, buffer, AT_SPEC))
        return part_cut_off(error);
    enum weir_status status = check_version(buffer, AT_SPEC, error);
    if (status != WEIR_OK)
        return status;
    uint32_t size = stated_size(buffer);
    if (!size)
        return part_bad(error, WEIR_ERROR_CONTRADICTORY, impossible);
    if (size > AT_SPEC && !in.source(in.context, buffer + AT_SPEC, size - AT_SPEC))
        return part_cut_off(error);
    return check_head(buffer, size, h, error);
}
