/* memory.c - see memory.h. */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (UINT64_C(2) << 20)
#define PAGE 4096

static void *take(const struct memory *from, uint64_t bytes)
{
    return from->take ? from->take(from->context, (size_t)bytes) : calloc(1, (size_t)bytes);
}

/* Huge pages are for memory that is ours: a caller has reasons of its own. */
void *memory_open(const struct memory *from, uint64_t bytes, void **allocation)
{
    uint64_t align = from->take || bytes < HUGE_PAGE ? CACHE_LINE : HUGE_PAGE;

    if (bytes > SIZE_MAX - align || (from->most && memory_taken(bytes) > from->most))
        return NULL;
    *allocation = take(from, bytes + align);
    if (!*allocation)
        return NULL;
    uintptr_t at = ((uintptr_t)*allocation + align - 1) / align * align;
#ifdef MADV_HUGEPAGE
    if (align == HUGE_PAGE)
        (void)madvise((void *)at, (size_t)(bytes / HUGE_PAGE * HUGE_PAGE), MADV_HUGEPAGE);
#endif
    return (void *)at;
}

void memory_close(const struct memory *from, void *allocation)
{
    if (from->take)
        from->give(from->context, allocation);
    else
        free(allocation);
}

void memory_copy(void *to, const void *from, uint64_t bytes)
{
    uint8_t *into = to;
    const uint8_t *at = from;

    for (uint64_t n; bytes > 0; into += n, at += n, bytes -= n) {
        n = bytes < PAGE ? bytes : PAGE;
        if (memcmp(into, at, (size_t)n) != 0)
            memcpy(into, at, (size_t)n);
    }
}
