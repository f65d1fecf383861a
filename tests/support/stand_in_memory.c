/* stand_in_memory.c - allocation, with failures, and strings; see stand_in.h. */
#include "support/stand_in_inside.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- allocation: a header before each block contains its size ---- */

#define HEAD 64

void *stand_take(size_t size)
{
    char *block = size < (size_t)1 << 40 ? malloc(size + HEAD) : NULL;

    if (!block)
        return NULL;
    memcpy(block, &size, sizeof size);
    memset(block + HEAD, 0xa5, size < 4096 ? size : 4096);
    stand.held += size;
    return block + HEAD;
}

static void *try_alloc(size_t size)
{
    stand.allocations++;
    return stand.fail_from > 0 && stand.allocations >= stand.fail_from ? NULL : stand_take(size);
}

/* Used after try_alloc() was asked for the same size. */
static void *zeroed(size_t n, size_t size)
{
    void *block = stand_take(n * size);

    assert(block);
    memset(block, 0, n * size);
    return block;
}

size_t stand_size_of(void *block)
{
    size_t size;

    memcpy(&size, (char *)block - HEAD, sizeof size);
    return size;
}

void stand_give(void *block)
{
    if (!block)
        return;
    stand.held -= stand_size_of(block);
    free((char *)block - HEAD);
}

void stand_in_fail(size_t n)
{
    stand.fail_from = n;
    stand.allocations = 0;
}

size_t stand_in_allocations(void)
{
    return stand.allocations;
}

size_t stand_in_held(void)
{
    return stand.held;
}

/* ---- strings ---- */

struct rm_string *stand_string(const void *data, size_t size)
{
    struct rm_string *s = malloc(sizeof *s);

    assert(s);
    s->size = size;
    s->data = malloc(size + 1);
    assert(s->data);
    if (size > 0)
        memcpy(s->data, data, size);
    s->data[size] = '\0';
    return s;
}

void stand_free_string(struct rm_ctx *ctx, struct rm_string *s)
{
    (void)ctx;
    free(s->data);
    free(s);
}

static struct rm_string *create_string(struct rm_ctx *ctx, const char *data, size_t size)
{
    (void)ctx;
    return stand_string(data, size);
}

static const char *string_bytes(const struct rm_string *s, size_t *size)
{
    if (size)
        *size = s->size;
    return s->data;
}

/* As in the server: digits without a plus sign or leading zeros. */
static int to_number(const struct rm_string *s, long long *number)
{
    char *end, text[32];

    if (s->size == 0 || s->size > 20)
        return RM_ERR;
    *number = strtoll(s->data, &end, 10);
    snprintf(text, sizeof text, "%lld", *number);
    return strlen(text) == s->size && strcmp(text, s->data) == 0 ? RM_OK : RM_ERR;
}

static int to_double(const struct rm_string *s, double *number)
{
    char *end;

    if (s->size == 0 || s->size > 100 || strchr(" \t\n\v\f\r", *s->data))
        return RM_ERR;
    *number = strtod(s->data, &end);
    return end == s->data + s->size && *number == *number ? RM_OK : RM_ERR;
}

void stand_add_word(struct words *w, struct rm_string *s)
{
    w->list = realloc(w->list, (w->n + 1) * sizeof *w->list);
    assert(w->list);
    w->list[w->n++] = s;
}

void stand_free_words(struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        stand_free_string(NULL, w->list[i]);
    free(w->list);
    *w = (struct words){0};
}

const struct stand_in_call stand_in_memory_calls[] = {
    STAND_IN_CALL(Alloc, stand_take),
    STAND_IN_CALL(TryAlloc, try_alloc),
    STAND_IN_CALL(Calloc, zeroed),
    STAND_IN_CALL(Free, stand_give),
    STAND_IN_CALL(MallocSize, stand_size_of),
    STAND_IN_CALL(CreateString, create_string),
    STAND_IN_CALL(FreeString, stand_free_string),
    STAND_IN_CALL(StringPtrLen, string_bytes),
    STAND_IN_CALL(StringToLongLong, to_number),
    STAND_IN_CALL(StringToDouble, to_double),
    {0},
};
