/* deal.c - see deal.h. */
#include "verdict/deal.h"

#include <string.h>
#include <weir/hash.h>

#define NOWHERE SHARDS_MAX

/* Which shard each record belongs to, NOWHERE if it is bad, and how many each
 * shard has. Counted in four columns: neighbours rarely wait for one another. */
static void choose_shards(uint32_t shards, struct batch *b)
{
    uint32_t count[4][SHARDS_MAX + 1] = {{0}};
    const struct weir_key *restrict raw = b->raw;
    uint16_t *restrict shard = b->shard;
    uint32_t n = b->n;

    for (uint32_t i = 0; i < n; i++)
        shard[i] = (uint16_t)weir_shard(raw[i], shards);
    for (uint32_t i = 0; b->bads && i < n; i++)
        shard[i] = b->bad[i] ? NOWHERE : shard[i];
    for (uint32_t i = 0; i < n; i++)
        count[i & 3][shard[i]]++;
    b->first[0] = 0;
    for (uint32_t j = 0; j < shards; j++)
        b->first[j + 1] = b->first[j] + count[0][j] + count[1][j] + count[2][j] + count[3][j];
}

/* As order_keys(), for two shards and records that are all good and have no time, which is what -j
 * 2 has to do with most streams: places are kept in registers, and no branch depends on a key. */
static void order_between_two(struct batch *b)
{
    const struct weir_key *restrict raw = b->raw;
    struct weir_key *restrict hash = b->hash;
    const uint16_t *restrict shard = b->shard;
    uint32_t *restrict origin = b->origin, n = b->n;
    uint32_t first = 0, second = b->first[1];

    for (uint32_t i = 0; i < n; i++) {
        uint32_t to = shard[i] ? second : first;

        hash[to] = raw[i];
        origin[to] = i;
        second += shard[i];
        first += 1u - shard[i];
    }
}

/* Keeps the order within a shard; with one shard, works in place. */
static void order_keys(uint32_t shards, struct batch *b)
{
    uint32_t next[SHARDS_MAX];
    const struct weir_key *raw = b->raw;
    struct weir_key *hash = b->hash;
    const uint16_t *restrict shard = b->shard;
    uint32_t *restrict origin = b->origin, n = b->n;

    memcpy(next, b->first, shards * sizeof *next);
    for (uint32_t i = 0; i < n; i++) {
        if (shard[i] == NOWHERE) {
            b->verdict[i] = VERDICT_NONE;
            continue;
        }
        uint32_t to = next[shard[i]]++;
        hash[to] = raw[i];
        origin[to] = i;
        if (b->timed)
            b->at[to] = b->time[i];
    }
}

/* What is bad has no key. */
static void blank_bad_keys(struct batch *b)
{
    for (uint32_t i = 0; b->bads && i < b->n; i++)
        if (b->bad[i])
            b->key[i] = (struct weir_bytes){"", 0};
}

/* The keys are hashed. */
static void deal(uint32_t shards, struct batch *b)
{
    b->dealt = shards > 1 || b->bads > 0;
    b->first[0] = 0;
    b->first[1] = b->n;
    if (b->dealt) {
        choose_shards(shards, b);
        if (shards == 2 && !b->bads && !b->timed)
            order_between_two(b);
        else
            order_keys(shards, b);
    }
}

void shards_hash(const struct shards *s, struct batch *b)
{
    blank_bad_keys(b);
    weir_hash_many(s->w[0], b->key, b->n, b->raw);
    for (uint32_t i = 0; b->important && i < b->n; i++)
        b->raw[i].importance = b->importance[i];
}

void shards_deal(const struct shards *s, struct batch *b)
{
    deal(s->count, b);
}

void hash_keys(struct trace_hash hash, struct batch *b)
{
    blank_bad_keys(b);
    weir_hash_bytes_many(hash.kind, hash.seed, b->key, b->n, b->raw);
    for (uint32_t i = 0; b->important && i < b->n; i++)
        b->raw[i].importance = b->importance[i];
}

void deal_hashed(struct trace_hash hash, uint32_t shards, struct batch *b)
{
    hash_keys(hash, b);
    deal(shards, b);
}

struct trace_hash hash_of_spec(const char *config)
{
    struct trace_hash hash = {WEIR_HASH_XXH3, 0};
    char word[8] = "";

    weir_spec_get(config, "hash", word, sizeof word);
    if (strcmp(word, "sip") == 0)
        hash.kind = WEIR_HASH_SIP;
    weir_spec_number(config, "seed", &hash.seed);
    return hash;
}
