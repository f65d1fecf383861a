/* json_text.c - see json_text.h. */
#include "cli/json_text.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/print.h"
#include "cli/normalize.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

char *json_text(const json_t *value, size_t flags)
{
    size_t size = value ? json_dumpb(value, NULL, 0, flags) : 0;
    char *text = size > 0 ? malloc(size + 1) : NULL;

    if (!text)
        return NULL;
    if (json_dumpb(value, text, size, flags) != size) {
        free(text);
        return NULL;
    }
    text[size] = '\0';
    return text;
}

json_t *utf8_string(const char *name)
{
    char *text = malloc(strlen(REPLACEMENT) * strlen(name) + 1), *to = text;
    json_t *string;

    if (!text)
        return NULL;
    while (*name) {
        size_t n = utf8_character(name);

        to = n ? mempcpy(to, name, n) : mempcpy(to, REPLACEMENT, strlen(REPLACEMENT));
        name += n ? n : 1;
    }
    *to = '\0';
    string = json_string(text);
    free(text);
    return string;
}

json_t *json_with(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

/* ---- printing ---- */

bool json_print(json_t *value, size_t flags)
{
    char *text = json_text(value, flags | JSON_REAL_PRECISION(6));

    if (text)
        puts(text);
    free(text);
    json_decref(value);
    return text || reject("out of memory");
}

static void print_cell(const json_t *value)
{
    if (json_is_string(value))
        print_tsv_text(json_string_value(value), json_string_length(value));
    else if (json_is_integer(value))
        printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        printf("%.6g", json_real_value(value));
    else
        putchar('-');
}

static void print_row(json_t *object, bool names)
{
    const char *before = "", *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        fputs(before, stdout);
        before = "\t";
        if (names)
            fputs(name, stdout);
        else
            print_cell(value);
    }
    putchar('\n');
}

bool json_print_tsv(json_t *value)
{
    json_t *row;
    size_t i;

    if (!value)
        return reject("out of memory");
    if (json_is_object(value)) {
        print_row(value, true);
        print_row(value, false);
    }
    json_array_foreach(value, i, row)
    {
        if (i == 0)
            print_row(row, true);
        print_row(row, false);
    }
    json_decref(value);
    return true;
}

/* ---- escapes ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The number of leading bytes, of 8, that a JSON string contains unescaped. */
static size_t count_plain(uint64_t x)
{
    uint64_t quote = x ^ EACH('"'), backslash = x ^ EACH('\\');
    uint64_t stop = (quote - EACH(1)) | (backslash - EACH(1)) | (x - EACH(' ')) | x;

    stop &= EACH(0x80); /* the lowest set bit is exact: no borrow from below */
    return stop ? (size_t)__builtin_ctzll(stop) / 8 : 8;
}

/* Escape one control character, quote, backslash or non-ASCII character: at most 6 bytes. */
static size_t escape(const char **from, const char *end, char *to)
{
    static const char hex[] = "0123456789abcdef";
    static const char shorts[128] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                     ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};
    uint8_t c = (uint8_t) * *from;

    if (c >= 0x80) {
        char first[5] = ""; /* the NUL ends a truncated character */
        size_t left = (size_t)(end - *from);

        memcpy(first, *from, left < 4 ? left : 4);
        size_t n = utf8_character(first);
        if (n > 0) {
            memcpy(to, first, 4);
            *from += n;
            return n;
        }
    }
    ++*from;
    if (c < 0x80 && shorts[c]) {
        to[0] = '\\';
        to[1] = shorts[c];
        return 2;
    }
    to[0] = '\\';
    to[1] = 'u';
    to[2] = c < ' ' ? '0' : 'd';
    to[3] = c < ' ' ? '0' : 'c';
    to[4] = hex[c >> 4];
    to[5] = hex[c & 15];
    return 6;
}

size_t json_escape(const char **from, const char *end, char *to, size_t room)
{
    const char *begin = to, *last = to + room - JSON_ESCAPE_ROOM;

    while (*from < end && to <= last) {
        size_t left = (size_t)(end - *from);
        uint64_t next = 0; /* zero bytes are not plain */

        if (left >= 8)
            memcpy(&next, *from, 8);
        else
            memcpy(&next, *from, left);
        memcpy(to, &next, 8);
        size_t n = count_plain(le64toh(next));
        *from += n;
        to += n;
        if (n < 8 && n < left && to <= last)
            to += escape(from, end, to);
    }
    return (size_t)(to - begin);
}
