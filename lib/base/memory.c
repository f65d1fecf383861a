/* memory.c - see memory.h. */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (UINT64_C(2) << 20)
#define PAGE 4096
#define USES 64       /* of the 512 small pages of a huge page: an eighth */
#define USES_MAX 2048 /* less than a batch of the command, so files have huge pages at once */

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

static void *take(const struct memory *from, uint64_t bytes)
{
    return from->allocate ? from->allocate(from->context, (size_t)bytes) : calloc(1, (size_t)bytes);
}

/* Memory of a custom allocator is used as it is. */
static uint64_t alignment(const struct memory *from, uint64_t bytes)
{
    return from->allocate || bytes < HUGE_PAGE ? CACHE_LINE : HUGE_PAGE;
}

static void *open_block(const struct memory *from, uint64_t bytes, void **allocation)
{
    uint64_t align = alignment(from, bytes);

    if (bytes > SIZE_MAX - align || (from->max_bytes && memory_taken(bytes) > from->max_bytes))
        return NULL;
    *allocation = take(from, bytes + align);
    if (!*allocation)
        return NULL;
    return (void *)(((uintptr_t)*allocation + align - 1) / align * align);
}

static void ask_huge(void *at, uint64_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(at, (size_t)(bytes / HUGE_PAGE * HUGE_PAGE), MADV_HUGEPAGE);
#endif
}

void *memory_open(const struct memory *from, uint64_t bytes, void **allocation)
{
    void *at = open_block(from, bytes, allocation);

    if (at && alignment(from, bytes) == HUGE_PAGE)
        ask_huge(at, bytes);
    return at;
}

/* Linux 6.1 and later can convert small pages. An empty range tests for it. */
void *memory_open_sparse(const struct memory *from, uint64_t bytes, void **allocation,
                         uint64_t *uses)
{
    void *at = open_block(from, bytes, allocation);

    *uses = 0;
    if (!at || alignment(from, bytes) != HUGE_PAGE)
        return at;
    if (madvise(at, 0, MADV_COLLAPSE) == 0)
        *uses = bytes / HUGE_PAGE * USES < USES_MAX ? bytes / HUGE_PAGE * USES : USES_MAX;
    else
        ask_huge(at, bytes);
    return at;
}

/* Converting a huge page takes 0.3 ms, as long as allocating one. The first page contains the
 * handle, so it is always in use. */
void memory_fill(void *at, uint64_t bytes, bool used)
{
    ask_huge(at, bytes);
    (void)madvise(at, used ? (size_t)(bytes / HUGE_PAGE * HUGE_PAGE) : HUGE_PAGE, MADV_COLLAPSE);
}

void memory_close(const struct memory *from, void *allocation)
{
    if (from->allocate)
        from->free(from->context, allocation);
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
