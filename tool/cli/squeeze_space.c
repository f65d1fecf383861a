/* squeeze_space.c - see squeeze_space.h. Most keys need no more than a look: sixteen bytes at a
 * time, beside the sixteen that begin one byte before. */
#include "cli/squeeze_space.h"

#include <stdint.h>
#include <string.h>

#define STEP 16

typedef uint8_t bytes16 __attribute__((vector_size(STEP)));

static inline bool is_space(char c)
{
    return c == ' ' || (unsigned char)(c - '\t') < 5;
}

static inline bytes16 load(const char *at)
{
    bytes16 block;

    memcpy(&block, at, sizeof block);
    return block;
}

static inline bytes16 spaces(bytes16 c)
{
    return (bytes16)((c == ' ') | (c - '\t' < 5));
}

/* Of bytes from 1 on: white space that is no blank, or follows white space? */
static bool has_fault(const char *text, size_t size)
{
    size_t i = 1;

    for (; i + STEP <= size; i += STEP) {
        bytes16 here = load(text + i);
        bytes16 fault = spaces(here) & ((bytes16)(here != ' ') | spaces(load(text + i - 1)));
        uint64_t half[2];

        memcpy(half, &fault, sizeof half);
        if (half[0] | half[1])
            return true;
    }
    for (; i < size; i++)
        if (is_space(text[i]) && (text[i] != ' ' || is_space(text[i - 1])))
            return true;
    return false;
}

bool squeeze_space_ends(const char **text, size_t *size)
{
    while (*size > 0 && is_space((*text)[*size - 1]))
        --*size;
    while (*size > 0 && is_space(**text)) {
        ++*text;
        --*size;
    }
    return !has_fault(*text, *size);
}

size_t squeeze_space(const char *text, size_t size, char *to)
{
    bool fine = squeeze_space_ends(&text, &size);
    size_t n = 0;

    if (fine) {
        if (size)
            memmove(to, text, size);
        return size;
    }
    for (size_t i = 0; i < size; i++) {
        bool space = is_space(text[i]);

        if (!space || !is_space(text[i - 1])) /* the first byte is none */
            to[n++] = (char)(space ? ' ' : text[i]);
    }
    return n;
}

size_t squeeze_space_between(const char *text, size_t size, char *to, const char ends[2])
{
    size_t n = 0;

    for (size_t i = 0, from = 0; i <= size; i++) {
        if (i < size && text[i] != ends[0] && text[i] != ends[1])
            continue;
        char end = i < size ? text[i] : '\0';

        n += squeeze_space(text + from, i - from, to + n);
        if (i < size)
            to[n++] = end;
        from = i + 1;
    }
    return n;
}
