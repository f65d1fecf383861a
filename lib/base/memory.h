/* memory.h - one zeroed block, aligned to a cache line, from the system or from a caller's
 * allocator.
 *
 * Blocks of the system from 2 MiB up are aligned to huge pages and request them (madvise). Pages
 * that are never touched take no memory.
 *
 * The first key in a huge page costs 2 MiB, so a hundred keys would touch all of a 64 MiB filter:
 * 15 ms and 64 MiB. A block that starts empty (memory_open_sparse) therefore has small pages until
 * it has been used a number of times. Then memory_fill() converts them to huge pages in place. */
#ifndef WEIR_BASE_MEMORY_H
#define WEIR_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_LINE 64

/* Where blocks come from, and the maximum size of one. All zero: the system, no limit. */
struct memory {
    void *(*allocate)(void *context, size_t size); /* zeroed; NULL: the system */
    void (*free)(void *context, void *block);
    void *context;
    uint64_t max_bytes; /* 0: any */
};

/* Round up to whole cache lines. */
static inline uint64_t memory_lines(uint64_t bytes)
{
    return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* Bytes to allocate so that a block can be aligned to a cache line. */
static inline uint64_t memory_taken(uint64_t bytes)
{
    return bytes + CACHE_LINE;
}

/* Returns the block, and in *allocation the argument of memory_close(). NULL if out of memory. */
void *memory_open(const struct memory *from, uint64_t bytes, void **allocation);

/* The same for a block that is used at random positions. *uses becomes the number of uses before
 * memory_fill() is due; 0 if it never is. */
void *memory_open_sparse(const struct memory *from, uint64_t bytes, void **allocation,
                         uint64_t *uses);

/* Convert to huge pages. used: more than the first bytes were used. */
void memory_fill(void *at, uint64_t bytes, bool used);

/* `from` may point into the block itself. */
void memory_close(const struct memory *from, void *allocation);

/* Copy a block to another, only the pages that differ: pages that neither has used stay
 * untouched. */
void memory_copy(void *to, const void *from, uint64_t bytes);

#endif
