/* utf8.c - see utf8.h. */
#include "cli/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static size_t length_of(uint8_t first)
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
    size_t n = length_of(p[0]);

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
    char first[5] = ""; /* a NUL ends what the text ends within */

    memcpy(first, text, size < 4 ? size : 4);
    uint8_t c = (uint8_t)first[0];
    bool control = c < ' ' || c == 0x7f || (c == 0xc2 && (uint8_t)first[1] < 0xa0);

    return size == 0 || control ? 0 : utf8_character(first);
}
