/* peers.h - filters by others, implemented from their papers, for `retention --peers`.
 *
 * Simple rather than fast: one byte per bit, one struct per slot. Memory is counted as the paper
 * packs it. */
#ifndef WEIR_BENCH_PEERS_H
#define WEIR_BENCH_PEERS_H

#include <weir.h>

struct peer {
    const char *name;
    /* Open with `bits` of memory and at most this error rate when full; writes the settings. */
    void *(*open)(double bits, double error, char *settings, size_t size);
    void (*observe)(void *self, struct weir_key key);
    bool (*ask)(const void *self, struct weir_key key);
    void (*close)(void *self);
};

/* Guarded Epoch Bloom filter (arXiv 2606.19210): r + 1 segments. The current segment receives the
 * keys of an epoch, W/r keys; then the next one is cleared and becomes current. A key is seen if
 * any segment has all its k bits. r = 8 as in the paper's figures, or the r that remembers most. */
extern const struct peer peer_epoch, peer_epoch_best;

/* The same with 14 bits for each of W live keys, at any error rate; the paper reports 2.2 %. */
extern const struct peer peer_epoch_14;

/* Time-limited Bloom filter (arXiv 2306.06742): k + l slices. A key sets a bit in each of the k
 * youngest slices, and is seen if k adjacent slices have its bits. A generation ends after the time
 * T/l; here new keys arrive evenly, so after a number of keys. */
extern const struct peer peer_timed;

/* A cuckoo filter with time-to-live and LRU: two buckets of 4; a slot has a fingerprint, 8 bits of
 * age and an 8-bit counter. A hit refreshes the key. A miss takes an empty or expired slot,
 * otherwise the one that was refreshed least recently. Fingerprints have 16 bits, or as many as the
 * error rate requires. */
extern const struct peer peer_cuckoo, peer_cuckoo_16;

/* A 64-bit hash of a key for its i-th use. */
uint64_t peer_word(struct weir_key key, uint32_t i);

#endif
