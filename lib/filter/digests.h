/* digests.h - collects the keys of a fixed filter: 64 bits of each, in bins by the upper eight
 * bits. They are read back in ascending order without duplicates.
 *
 * Bins are written in blocks to one growing space: the caller's storage (such as a file), or
 * memory in slabs. Other memory: one block per bin, and twice the largest bin while it is sorted.
 */
#ifndef WEIR_FILTER_DIGESTS_H
#define WEIR_FILTER_DIGESTS_H

#include <weir/build.h>

#include "base/memory.h"

#define DIGEST_BINS 256
#define DIGEST_BLOCK 1024 /* digests */
#define DIGESTS_RECENT 4096

struct digest_bin {
    uint64_t n;           /* digests; those after the last full block are in its buffer */
    uint32_t first, last; /* the first and last block; chain[] links those between */
};

/* Memory that grows. */
struct growing {
    void *at, *allocation;
    uint64_t size; /* bytes */
};

struct digests {
    struct memory memory;
    struct weir_spill spill;
    struct digest_bin bin[DIGEST_BINS];
    struct growing buffers; /* a block for each bin */
    struct growing chain;   /* for each block, the next of its bin */
    struct growing slabs;   /* without storage of the caller: struct slab, */
    uint64_t slabs_taken;
    uint32_t blocks;             /* in use */
    struct growing work, sorted; /* a bin */
    uint64_t recent[DIGESTS_RECENT];
};

/* Returns WEIR_OK, WEIR_NO_MEMORY or WEIR_WRITE_FAILED, as do the following calls. */
enum weir_status digests_open(struct digests *d, const struct memory *memory);
void digests_close(struct digests *d);

enum weir_status digests_add(struct digests *d, const struct weir_key *keys, size_t n);

/* Sort the digests and count the distinct ones. No more can be added. */
enum weir_status digests_settle(struct digests *d, uint64_t *different);

/* Reads settled digests in ascending order. */
struct digest_reader {
    struct digests *from;
    uint32_t bin, block;
    uint64_t at; /* in the bin */
    bool holds;  /* the block is in `held` */
    uint64_t held[DIGEST_BLOCK];
};

void digests_begin(struct digest_reader *r, struct digests *from);

/* Read the digests of one part, at most `most`; *n becomes their number. Call it for each part in
 * order. */
enum weir_status digests_of_part(struct digest_reader *r, uint64_t part, uint64_t parts,
                                 uint64_t *digests, uint64_t most, uint64_t *n);

#endif
