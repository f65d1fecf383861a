/* sql_set.c - a filter in a blob: copied, verified to the last byte and opened in place once. After
 * that the same blob is recognized by its content. */
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>

#define LINE 64
#define SMALL 4096 /* bytes of a blob that is compared whole, not by its checksums */

/* Bytes of the file outside the cells. */
struct stretch {
    size_t at, size;
};

struct sql_set {
    unsigned users;
    struct weir_bytes file; /* an aligned copy */
    weir_filter **shard;
    uint32_t shards;
    struct stretch *between; /* the cells: heads and checksums */
    size_t stretches;
};

static bool fail(struct weir_error *error, const char *text)
{
    error->status = WEIR_BAD_DATA;
    error->code = WEIR_ERROR_BAD_DATA;
    strcpy(error->text, text);
    return false;
}

static const uint8_t *bytes_of(const struct sql_set *set)
{
    return set->file.data;
}

/* Add the stretches before and after the cells of a part. */
static bool add_stretches(struct sql_set *set, size_t at, const struct weir_part *part)
{
    size_t cells = (size_t)((const uint8_t *)part->body - bytes_of(set));
    size_t n = set->stretches;
    struct stretch *more = realloc(set->between, (n + 2) * sizeof *more);

    if (!more)
        return false;
    set->between = more;
    more[n] = (struct stretch){at, cells - at};
    more[n + 1] =
        (struct stretch){cells + part->body_size, at + part->size - cells - part->body_size};
    set->stretches = n + 2;
    return true;
}

/* Open all shards of the filter at this offset. */
static bool view(struct sql_set *set, size_t at, uint32_t shards, struct weir_error *error)
{
    if (set->shard)
        return fail(error,
                    "the blob contains several filters; merge them with 'weir merge -o F A B'");
    set->shard = calloc(shards, sizeof(weir_filter *));
    if (!set->shard)
        return fail(error, "out of memory");
    return weir_view_shards(set->shard, shards, &set->shards, bytes_of(set) + at,
                            set->file.size - at, NULL, NULL, error) == WEIR_OK;
}

static bool read_part(struct sql_set *set, size_t at, struct weir_part *part,
                      struct weir_error *error)
{
    if (weir_part_head(bytes_of(set) + at, set->file.size - at, part, sizeof *part, error) !=
        WEIR_OK)
        return false;
    if (!add_stretches(set, at, part))
        return fail(error, "out of memory");
    if (part->kind == WEIR_PART_COUNTS || part->kind == WEIR_PART_TOP)
        return fail(error, "the blob contains a sketch, not a filter; use weir_top()");
    if (part->kind == WEIR_PART_SCREEN)
        return fail(error, "the blob contains a screen, not a filter; make filters with weir_agg() "
                           "or 'weir build'");
    /* Notes of the command and unknown parts are skipped. */
    return part->kind != WEIR_PART_FILTER || part->shard > 0 || view(set, at, part->shards, error);
}

static bool read_parts(struct sql_set *set, struct weir_error *error)
{
    struct weir_part part;

    if (set->file.size == 0)
        return fail(error, "the blob is empty; make filters with weir_agg() or 'weir build'");
    if (weir_verify(set->file.data, set->file.size, error) != WEIR_OK)
        return false;
    for (size_t at = 0; at < set->file.size; at += part.size)
        if (!read_part(set, at, &part, error))
            return false;
    return set->shards > 0 ||
           fail(error, "the blob contains no filter; make filters with weir_agg() or 'weir build'");
}

struct sql_set *sql_set_open(struct weir_bytes blob, bool keys_differ, struct weir_error *error)
{
    if (!keys_differ && !sql_keys_as_given(blob, error))
        return NULL;
    struct sql_set *set = calloc(1, sizeof *set);
    void *copy = set ? aligned_alloc(LINE, (blob.size / LINE + 1) * LINE) : NULL;

    if (!copy) {
        free(set);
        fail(error, "out of memory");
        return NULL;
    }
    memcpy(copy, blob.data, blob.size);
    set->users = 1;
    set->file = (struct weir_bytes){copy, blob.size};
    if (read_parts(set, error))
        return set;
    sql_set_leave(set);
    return NULL;
}

struct sql_set *sql_set_share(struct sql_set *set)
{
    set->users++;
    return set;
}

void sql_set_leave(void *any)
{
    struct sql_set *set = any;

    if (--set->users > 0)
        return;
    for (uint32_t i = 0; i < set->shards; i++)
        weir_close(set->shard[i]);
    free(set->shard);
    free(set->between);
    free((void *)set->file.data);
    free(set);
}

bool sql_set_is(const struct sql_set *set, struct weir_bytes blob)
{
    return blob.size == set->file.size && sql_set_is_still(set, blob) &&
           memcmp(blob.data, set->file.data, blob.size) == 0;
}

bool sql_set_is_still(const struct sql_set *set, struct weir_bytes blob)
{
    const uint8_t *theirs = blob.data;

    if (blob.size != set->file.size)
        return false;
    if (blob.size <= SMALL)
        return memcmp(theirs, set->file.data, blob.size) == 0;
    for (size_t i = 0; i < set->stretches; i++) {
        struct stretch s = set->between[i];

        if (memcmp(theirs + s.at, bytes_of(set) + s.at, s.size) != 0)
            return false;
    }
    return true;
}

bool sql_set_has(const struct sql_set *set, struct weir_bytes bytes)
{
    struct weir_key key = weir_hash(set->shard[0], bytes.data, bytes.size);

    return weir_ask(set->shard[weir_shard(key, set->shards)], key) == WEIR_SEEN;
}

struct weir_stats sql_set_stats(const struct sql_set *set)
{
    struct weir_stats sum = weir_stats_of(set->shard[0]);

    for (uint32_t i = 1; i < set->shards; i++) {
        struct weir_stats s = weir_stats_of(set->shard[i]);

        sum.memory += s.memory;
        sum.bytes += s.bytes;
        sum.observed += s.observed;
        sum.seen += s.seen;
        sum.new_keys += s.new_keys;
        sum.fill += s.fill;
        sum.error += s.error;
        sum.lost += s.lost;
        sum.overflow += s.overflow;
    }
    sum.fill /= set->shards;
    sum.error /= set->shards;
    return sum;
}

void sql_set_config(const struct sql_set *set, char *spec, size_t size)
{
    weir_config(set->shard[0], spec, size);
}
