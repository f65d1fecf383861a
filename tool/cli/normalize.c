/* normalize.c - see normalize.h.
 *
 * Most keys have no white space to squeeze, so needs_squeeze() compares 16 bytes at a time with
 * the 16 bytes that start one byte earlier. */
#include "cli/normalize.h"

#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

/* ---- UTF-8 ---- */

static size_t character_length(uint8_t first)
{
    return first < 0x80   ? 1
           : first < 0xc2 ? 0
           : first < 0xe0 ? 2
           : first < 0xf0 ? 3
           : first < 0xf5 ? 4
                          : 0;
}

size_t utf8_character(const char *text)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t n = character_length(p[0]);

    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

size_t utf8_printable(const char *text, size_t size)
{
    char first[5] = ""; /* the NUL ends a truncated character */

    memcpy(first, text, size < 4 ? size : 4);
    uint8_t c = (uint8_t)first[0];
    bool control = c < ' ' || c == 0x7f || (c == 0xc2 && (uint8_t)first[1] < 0xa0);

    return size == 0 || control ? 0 : utf8_character(first);
}

/* ---- case ---- */

/* One character beyond ASCII; invalid UTF-8 is copied. Independent of the system's locales. */
static size_t fold_case_wide(const char **at, const char *end, char *to)
{
    utf8proc_int32_t character;
    utf8proc_ssize_t left = end - *at;
    utf8proc_ssize_t n =
        utf8proc_iterate((const utf8proc_uint8_t *)*at, left < 4 ? left : 4, &character);

    if (n <= 0) {
        *to = *(*at)++;
        return 1;
    }
    *at += n;
    return (size_t)utf8proc_encode_char(utf8proc_tolower(character), (utf8proc_uint8_t *)to);
}

size_t fold_case(const char *text, size_t size, char *to)
{
    const char *end = text + size;
    size_t n = 0;

    while (text < end) {
        if ((signed char)*text < 0) {
            n += fold_case_wide(&text, end, to + n);
        } else {
            to[n++] = (char)(*text >= 'A' && *text <= 'Z' ? *text + 32 : *text);
            text++;
        }
    }
    return n;
}

/* ---- white space ---- */

#define STEP 16

typedef uint8_t bytes16 __attribute__((vector_size(STEP)));

static inline bool is_space(char c)
{
    return c == ' ' || (unsigned char)(c - '\t') < 5;
}

static inline bytes16 spaces(bytes16 c)
{
    return (bytes16)((c == ' ') | (c - '\t' < 5));
}

/* Is there white space other than single blanks, from byte 1 on? */
static bool needs_squeeze(const char *text, size_t size)
{
    size_t i = 1;

    for (; i + STEP <= size; i += STEP) {
        bytes16 here, before;
        uint64_t half[2];

        memcpy(&here, text + i, sizeof here);
        memcpy(&before, text + i - 1, sizeof before);
        bytes16 found = spaces(here) & ((bytes16)(here != ' ') | spaces(before));
        memcpy(half, &found, sizeof half);
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
    return !needs_squeeze(*text, *size);
}

size_t squeeze_space(const char *text, size_t size, char *to)
{
    size_t n = 0;

    if (squeeze_space_ends(&text, &size)) {
        if (size)
            memmove(to, text, size);
        return size;
    }
    for (size_t i = 0; i < size; i++) {
        bool space = is_space(text[i]);

        if (!space || !is_space(text[i - 1])) /* the first byte is not white space */
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
