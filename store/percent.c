/* percent.c - see percent.h. */
#include "percent.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int digit(char c)
{
    if (isdigit((unsigned char)c))
        return c - '0';
    return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

int percent_byte(const char *text)
{
    if (text[0] != '%' || digit(text[1]) < 0 || digit(text[2]) < 0)
        return -1;
    return digit(text[1]) * 16 + digit(text[2]);
}

char *percent_decode(const char *text, size_t size)
{
    char *out = malloc(size + 1), *to = out;

    for (size_t i = 0; out && i < size; i++) {
        int byte = (unsigned char)text[i];

        if (byte == '%') {
            byte = size - i > 2 ? percent_byte(text + i) : -1;
            i += 2;
        }
        if (byte <= 0) {
            free(out);
            return NULL;
        }
        *to++ = (char)byte;
    }
    if (out)
        *to = '\0';
    return out;
}

size_t utf8_length(const unsigned char *s, size_t left)
{
    size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;

    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (*s == 0xe0 && s[1] < 0xa0) || (*s == 0xf0 && s[1] < 0x90);
    bool beyond = (*s == 0xed && s[1] > 0x9f) || (*s == 0xf4 && s[1] > 0x8f);
    return overlong || beyond ? 0 : n;
}

char *percent_tidy(char *to, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    for (size_t left = strlen(text), n; left > 0; left -= n, s += n) {
        n = utf8_length(s, left);
        bool control = *s < ' ' || *s == 0x7f || (*s == 0xc2 && n == 2 && s[1] < 0xa0);

        if (n > 0 && !control) {
            memcpy(to, s, n);
            to += n;
            continue;
        }
        n = n ? n : 1;
        for (size_t i = 0; i < n; i++)
            to += sprintf(to, "%%%02X", s[i]);
    }
    *to = '\0';
    return to;
}
