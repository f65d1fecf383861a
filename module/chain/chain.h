/* chain.h - what a key of BF.* or CF.* holds: a filter that grows by further ones.
 *
 * The first has the capacity that was asked for. When it is full a second is added, of
 * `expansion` times the capacity and half the error, and so on; all have one seed, so
 * that an item is hashed once. The first has half of the error asked for, so that the
 * errors of all together stay below it (Almeida et al. 2007). A chain that does not scale
 * has one filter, of the whole error, and refuses what comes when it is full.
 *
 * A Bloom filter has five eighths of the hash functions that would need the least memory: 6 % more
 * of it, and three eighths fewer cache lines per item, which are what an item costs. */
#ifndef MODULE_CHAIN_H
#define MODULE_CHAIN_H

#include "value/value.h"

struct link {
    weir_filter *w;
    uint64_t capacity, items;
    double error;
};

struct chain {
    struct value is;    /* of family_bloom or family_cuckoo */
    uint64_t expansion; /* 0: it does not scale */
    double error;       /* as asked for, of all */
    double tightening;  /* by which the error of each is below that of the one before */
    uint64_t seed;
    uint64_t deleted; /* items that CF.DEL took out */

    /* What CF.RESERVE was told; of a Bloom filter the last two are 0. */
    uint64_t asked; /* capacity */
    uint64_t bucket_size, moves;

    uint32_t n;
    struct link *links;
};

struct chain_wish {
    const struct family *family;
    double error, tightening;
    uint64_t capacity, expansion;
    uint64_t bucket_size, moves; /* of CF.*: told again, but not obeyed */
    bool seeded;                 /* else the seed is random */
    uint64_t seed;
};

#define CHAIN_TIGHTENING 0.5

/* most as of filter_open(), for all links together. NULL with a message. */
struct chain *chain_open(const struct chain_wish *wish, uint64_t most, struct weir_error *error);
void chain_close(struct chain *c);

/* At most ITEMS_AT_ONCE of them. verdicts[i] becomes 1 if it was there. */
void chain_ask(const struct chain *c, const struct weir_key *keys, size_t n, uint8_t *verdicts);

/* Add in order; returns how many were: fewer than n if the last filter is full, and the next key
 * is new. Then chain_grow() makes room, or the chain does not scale. */
size_t chain_add(struct chain *c, const struct weir_key *keys, size_t n, uint8_t *verdicts);

/* Add a filter: larger by the expansion if all are full, else a small one. False if memory is
 * short, or the most is reached. */
bool chain_grow(struct chain *c, uint64_t most);

/* Take out the filters that have no items, but not the first; false if there are none. */
bool chain_drop_empty(struct chain *c);

/* The buckets that clients expect of a cuckoo filter. The first one has a place for each item of
 * so many, or of the capacity if that is more. */
uint64_t chain_buckets(uint64_t capacity, uint64_t bucket_size);

uint64_t chain_items(const struct chain *c);
uint64_t chain_capacity(const struct chain *c);
uint64_t chain_bytes(const struct chain *c);

/* ---- SCANDUMP and LOADCHUNK of BF.* and CF.* ---- */

int bf_scandump(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int bf_loadchunk(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int cf_scandump(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int cf_loadchunk(struct rm_ctx *ctx, struct rm_string **argv, int argc);

#endif
