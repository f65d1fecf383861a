/* rivals.h - filters of others, each written from its description, to be measured
 * beside ours by `retention --rivals`. Plain rather than fast: one byte for a bit,
 * one struct for a slot; memory is counted as the description packs it. */
#ifndef WEIR_BENCH_RIVALS_H
#define WEIR_BENCH_RIVALS_H

#include <weir.h>

struct rival {
    const char *name;
    /* So many bits at this error at most, when fullest; tells its settings. */
    void *(*open)(double bits, double error, char *settings, size_t size);
    void (*observe)(void *self, struct weir_key key);
    bool (*ask)(const void *self, struct weir_key key);
    void (*close)(void *self);
};

/* Guarded Epoch Bloom filter (arXiv 2606.19210): r + 1 segments, of which the current
 * one takes the keys of an epoch, W/r of them; then the next is cleared and becomes
 * current. A key is seen if any segment has all its k bits. r = 8 as in the paper's
 * figures, or the r that remembers most. */
extern const struct rival rival_epoch, rival_epoch_best;

/* The same with 14 bits for each of W live keys, whatever the error: the paper says 2.2 %. */
extern const struct rival rival_epoch_14;

/* Time-limited Bloom filter (arXiv 2306.06742): k + l slices; a key sets a bit in
 * each of the k youngest, and is seen if k neighbours have its bits. A generation
 * ends by time, T/l, not by number; new keys that come evenly make that a number. */
extern const struct rival rival_timed;

/* A cuckoo filter with time-to-live and LRU: two buckets of 4, each slot a print, 8 bits of
 * age and 8 of a counter. A key that is found is renewed; one that is not takes an
 * empty or outlived slot, else the one longest not renewed. Prints of 16 bits, or of
 * as many as the error takes. */
extern const struct rival rival_cuckoo, rival_cuckoo_16;

/* 64 bits of a key's own for the i-th use. */
uint64_t rival_word(struct weir_key key, uint32_t i);

#endif
