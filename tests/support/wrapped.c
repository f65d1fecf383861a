/* wrapped.c - see wrapped.h. */
#include "support/wrapped.h"

#include <sys/types.h>

struct wrapped wrapped = {.budget = SIZE_MAX};

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
void __real_free(void *block);
int __real_getentropy(void *buffer, size_t size);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);
void __wrap_free(void *block);
int __wrap_getentropy(void *buffer, size_t size);

static bool granted(void)
{
    return wrapped.asked++ < wrapped.budget;
}

static void *counted(void *block)
{
    wrapped.live += block != NULL;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return granted() ? counted(__real_malloc(size)) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return granted() ? counted(__real_calloc(n, size)) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    void *block = granted() ? __real_realloc(old, size) : NULL;

    wrapped.live += block && !old;
    return block;
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return granted() ? counted(__real_aligned_alloc(align, size)) : NULL;
}

int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
    int status = granted() ? __real_posix_memalign(out, align, size) : 12;

    wrapped.live += status == 0;
    return status;
}

void __wrap_free(void *block)
{
    wrapped.live -= block != NULL;
    __real_free(block);
}

int __wrap_getentropy(void *buffer, size_t size)
{
    return wrapped.entropy_fails ? -1 : __real_getentropy(buffer, size);
}
