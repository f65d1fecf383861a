/* batch_keys.c - see batch_keys.h. */
#include "verdict/batch_keys.h"

#include <string.h>
#include <weir/hash.h>

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

void keys_hash(struct trace_hash hash, struct batch *b)
{
    for (uint32_t i = 0; b->bads && i < b->n; i++)
        if (b->bad[i])
            b->key[i] = (struct weir_bytes){"", 0};
    weir_hash_bytes_many(hash.kind, hash.seed, b->key, b->n, b->hash);
    for (uint32_t i = 0; b->important && i < b->n; i++)
        b->hash[i].importance = b->importance[i];
}

const struct good_keys *keys_select(struct batch *b)
{
    struct good_keys *good = &b->good;
    uint32_t n = 0;

    *good = (struct good_keys){b->n, b->hash, b->event.time, b->verdict};
    if (b->bads) {
        *good = b->dense;
        for (uint32_t i = 0; i < b->n; i++) {
            good->key[n] = b->hash[i];
            if (b->event.timed)
                good->time[n] = b->event.time[i];
            b->origin[n] = i;
            n += !b->bad[i];
        }
        good->n = n;
    }
    if (!b->event.timed)
        good->time = NULL;
    return good;
}

void keys_return(struct batch *b)
{
    if (b->good.verdict == b->verdict)
        return;
    memset(b->verdict, VERDICT_NONE, b->n);
    for (uint32_t j = 0; j < b->good.n; j++)
        b->verdict[b->origin[j]] = b->good.verdict[j];
}
