/* digests.h - the keys of a fixed filter on their way: 64 bits of each, sorted into bins by the
 * uppermost eight, put aside in blocks, and read again in ascending order without repeats.
 *
 * Bins fill up block by block, in one space of bytes that grows: the caller's (a file, say), or
 * slabs of memory. Memory beside that: a block for each bin, and twice the largest bin when
 * it is sorted. */
#ifndef WEIR_FILTER_DIGESTS_H
#define WEIR_FILTER_DIGESTS_H

#include <weir/build.h>

#include "base/memory.h"

#define DIGEST_BINS 256
#define DIGEST_BLOCK 1024 /* digests */
#define DIGESTS_RECENT 4096

struct digest_bin {
    uint64_t n;           /* digests; those behind the last full block are in its buffer */
    uint32_t first, last; /* blocks; chain[] has those between */
};

/* Memory that grows. */
struct growing {
    void *at, *allocation;
    uint64_t room; /* bytes */
};

struct digests {
    struct memory memory;
    struct weir_spill spill;
    struct digest_bin bin[DIGEST_BINS];
    struct growing buffers; /* a block for each bin */
    struct growing chain;   /* by block: the next of its bin */
    struct growing slabs;   /* where the caller has no room: of void *, */
    uint64_t slabs_taken;
    uint32_t blocks;             /* in use */
    struct growing work, sorted; /* a bin */
    uint64_t recent[DIGESTS_RECENT];
};

/* WEIR_OK, WEIR_NO_MEMORY or WEIR_WRITE_FAILED, as of all that follow. */
enum weir_status digests_open(struct digests *d, const struct memory *memory);
void digests_close(struct digests *d);

enum weir_status digests_add(struct digests *d, const struct weir_key *keys, size_t n);

/* No more are added: sort them; says how many are different. */
enum weir_status digests_settle(struct digests *d, uint64_t *different);

/* From the least to the greatest, once they are settled. */
struct digest_reader {
    struct digests *from;
    uint32_t bin, block;
    uint64_t at; /* in the bin */
    bool holds;  /* its block */
    uint64_t held[DIGEST_BLOCK];
};

void digests_begin(struct digest_reader *r, struct digests *from);

/* The digests of one of so many parts, *n of them; no more than `most` are taken. To be called
 * for each part in turn. */
enum weir_status digests_of_part(struct digest_reader *r, uint64_t part, uint64_t parts,
                                 uint64_t *digests, uint64_t most, uint64_t *n);

#endif
