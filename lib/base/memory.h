/* memory.h - one zeroed block on a cache line; from 2 MiB up on a huge page,
 * which the system is asked for. Pages that are never used are never there. */
#ifndef WEIR_BASE_MEMORY_H
#define WEIR_BASE_MEMORY_H

#include <stdint.h>

#define CACHE_LINE 64

/* Bytes of the whole cache lines that so many take. */
static inline uint64_t memory_lines(uint64_t bytes)
{
    return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* The block, and in *allocation what memory_close() takes; NULL if there is
 * none. */
void *memory_open(uint64_t bytes, void **allocation);
void memory_close(void *allocation);

/* Copy one block onto another, where they differ: pages that neither has used stay
 * unused. */
void memory_copy(void *to, const void *from, uint64_t bytes);

#endif
