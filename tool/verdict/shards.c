/* shards.c - see shards.h. */
#include "verdict/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/units.h"

/* ---- opening ---- */

/* Is it a matter of size, so that each shard gets its share? */
static bool divided(const char *word)
{
    return strncmp(word, "memory=", 7) == 0 || strncmp(word, "capacity=", 9) == 0 ||
           strncmp(word, "window=", 7) == 0;
}

/* "bloom memory=1000 k=4" for four -> "bloom memory=250 k=4". False if a share
 * of the memory would be too small for a filter. */
static bool divide(const char *config, uint32_t by, char *out)
{
    char copy[CONFIG_MAX], *rest = copy;

    snprintf(copy, sizeof copy, "%s", config);
    *out = '\0';
    for (char *word; (word = strsep(&rest, " "));) {
        size_t used = strlen(out), room = CONFIG_MAX - used;
        const char *space = used ? " " : "";

        if (divided(word)) {
            char *unit, *digits = strchr(word, '=') + 1;
            unsigned long long share = strtoull(digits, &unit, 10) / by;
            unsigned long long least = *word != 'm' ? 1 : *unit ? 512 : 64;

            if (*word == 'm' && share < least)
                return false;
            snprintf(out + used, room, "%s%.*s%llu%s", space, (int)(digits - word), word,
                     share > least ? share : least, unit);
        } else {
            snprintf(out + used, room, "%s%s", space, word);
        }
    }
    return true;
}

static enum weir_status open_parts(struct shards *s, uint32_t count, struct weir_error *error)
{
    char part[CONFIG_MAX];
    enum weir_status status = WEIR_OK;

    if (!divide(s->config, count, part)) {
        snprintf(error->text, sizeof error->text,
                 "%u shards of at least 64 bytes do not fit into the memory; give it %u bytes or "
                 "more, or fewer threads or shards",
                 count, 64 * count);
        return error->status = WEIR_BAD_CONFIG;
    }
    while (status == WEIR_OK && s->count < count) {
        status = weir_open(&s->w[s->count], part, error);
        s->count += status == WEIR_OK;
    }
    return status;
}

enum weir_status shards_open(struct shards *s, const char *sentence, uint32_t count,
                             struct weir_error *error)
{
    weir *whole;
    enum weir_status status;

    *s = (struct shards){.w = calloc(count, sizeof *s->w)};
    if (!s->w) {
        *error = (struct weir_error){WEIR_NO_MEMORY, "memory is short"};
        return WEIR_NO_MEMORY;
    }
    status = weir_open(&whole, sentence, error);
    if (status != WEIR_OK)
        return status;
    weir_config(whole, s->config, sizeof s->config);
    if (count == 1) {
        s->w[s->count++] = whole;
        return WEIR_OK;
    }
    weir_close(whole);
    return open_parts(s, count, error);
}

void shards_close(struct shards *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        weir_close(s->w[i]);
    free(s->w);
    *s = (struct shards){0};
}

/* ---- dealing ---- */

#define NOWHERE SHARDS_MAX

/* Filters take their places from the upper bits of a hash word. */
static inline uint32_t shard_of(struct weir_key key, uint32_t count)
{
    return (uint32_t)((key.hi & 0xffff) * count >> 16);
}

/* Which shard each record belongs to, NOWHERE if it is bad, and how many each
 * shard has. Counted in four columns: neighbours rarely wait for one another. */
static void choose_shards(const struct shards *s, struct batch *b)
{
    uint32_t count[4][SHARDS_MAX + 1] = {{0}};
    const struct weir_key *restrict raw = b->raw;
    uint16_t *restrict shard = b->shard;
    uint32_t shards = s->count, n = b->n;

    for (uint32_t i = 0; i < n; i++)
        shard[i] = (uint16_t)shard_of(raw[i], shards);
    for (uint32_t i = 0; b->bads && i < n; i++)
        shard[i] = b->bad[i] ? NOWHERE : shard[i];
    for (uint32_t i = 0; i < n; i++)
        count[i & 3][shard[i]]++;
    b->first[0] = 0;
    for (uint32_t j = 0; j < shards; j++)
        b->first[j + 1] = b->first[j] + count[0][j] + count[1][j] + count[2][j] + count[3][j];
}

/* Keeps the order within a shard; with one shard, works in place. */
static void order_keys(const struct shards *s, struct batch *b)
{
    uint32_t next[SHARDS_MAX];
    const struct weir_key *raw = b->raw;
    struct weir_key *hash = b->hash;
    const uint16_t *restrict shard = b->shard;
    uint32_t *restrict origin = b->origin, n = b->n;

    memcpy(next, b->first, s->count * sizeof *next);
    for (uint32_t i = 0; i < n; i++) {
        if (shard[i] == NOWHERE) {
            b->verdict[i] = VERDICT_NONE;
            continue;
        }
        uint32_t to = next[shard[i]]++;
        hash[to] = raw[i];
        origin[to] = i;
    }
}

void shards_deal(const struct shards *s, struct batch *b)
{
    for (uint32_t i = 0; b->bads && i < b->n; i++)
        if (b->bad[i])
            b->key[i] = (struct weir_bytes){"", 0};
    weir_hash_many(s->w[0], b->key, b->n, b->raw);
    for (uint32_t i = 0; b->important && i < b->n; i++)
        b->raw[i].importance = b->importance[i];
    b->dealt = s->count > 1 || b->bads > 0;
    b->first[0] = 0;
    b->first[1] = b->n;
    if (b->dealt) {
        choose_shards(s, b);
        order_keys(s, b);
    }
}

struct weir_stats shards_stats(const struct shards *s)
{
    struct weir_stats sum = {0};

    for (uint32_t i = 0; i < s->count; i++) {
        struct weir_stats one = weir_stats(s->w[i]);

        sum.memory += one.memory;
        sum.bytes += one.bytes;
        sum.shown += one.shown;
        sum.seen += one.seen;
        sum.fresh += one.fresh;
        sum.fill += one.fill / s->count;
        sum.error += one.error / s->count;
    }
    return sum;
}
