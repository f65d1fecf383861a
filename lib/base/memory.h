/* memory.h - one zeroed block on a cache line, from the system or from a caller who
 * gave functions for it. The system's are on a huge page from 2 MiB up, which it is
 * asked for; pages of them that are never used are never there.
 *
 * The first key in each huge page costs 2 MiB, so a hundred keys cost all of a 64 MiB filter: 15 ms
 * and 64 MiB. A block that begins empty (memory_open_sparse) therefore has small pages until it has
 * been used some times. Then memory_fill() makes huge pages of them in place. */
#ifndef WEIR_BASE_MEMORY_H
#define WEIR_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_LINE 64

/* Where blocks come from, and how large one may be. All zero: the system, any size. */
struct memory {
    void *(*allocate)(void *context, size_t size); /* zeroed; NULL: the system's */
    void (*free)(void *context, void *block);
    void *context;
    uint64_t max_bytes; /* 0: any */
};

/* Bytes of the whole cache lines that so many take. */
static inline uint64_t memory_lines(uint64_t bytes)
{
    return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* What is taken for a block of so many, which is to begin on a line. */
static inline uint64_t memory_taken(uint64_t bytes)
{
    return bytes + CACHE_LINE;
}

/* The block, and in *allocation what memory_close() takes; NULL if there is
 * none. */
void *memory_open(const struct memory *from, uint64_t bytes, void **allocation);

/* The same for a block that is used at random from its start. *uses is how many times before
 * memory_fill() is due; 0 if never: it has huge pages, or is to have none. */
void *memory_open_sparse(const struct memory *from, uint64_t bytes, void **allocation,
                         uint64_t *uses);

/* Give it huge pages. used: more than the first bytes have small ones by now. */
void memory_fill(void *at, uint64_t bytes, bool used);

/* `from` may lie in what is given back. */
void memory_close(const struct memory *from, void *allocation);

/* Copy one block onto another, where they differ: pages that neither has used stay
 * unused. */
void memory_copy(void *to, const void *from, uint64_t bytes);

#endif
