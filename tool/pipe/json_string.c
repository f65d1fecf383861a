/* json_string.c - see json_string.h. */
#include "pipe/json_string.h"

#include <string.h>

static const char *refuse(struct json_string *s, const char *at, const char *fault)
{
    s->fault = fault;
    s->fault_at = at;
    return NULL;
}

static bool within(char c, uint8_t least, uint8_t most)
{
    return (uint8_t)c >= least && (uint8_t)c <= most;
}

static bool continues(char c)
{
    return within(c, 0x80, 0xbf);
}

/* One character of two to four bytes, as in table 3-7 of the Unicode standard: not overlong, not a
 * surrogate, not above U+10FFFF. */
static const char *skip_character(struct json_string *s, const char *at)
{
    uint8_t first = (uint8_t)*at;

    if (first < 0xe0) {
        if (first >= 0xc2 && continues(at[1]))
            return at + 2;
    } else if (first < 0xf0) {
        if (within(at[1], first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) &&
            continues(at[2]))
            return at + 3;
    } else if (first < 0xf5) {
        if (within(at[1], first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) &&
            continues(at[2]) && continues(at[3]))
            return at + 4;
    }
    return refuse(s, at, "not JSON: bytes that are not UTF-8");
}

static int hex(char c)
{
    char small = (char)(c | 32);

    if (c >= '0' && c <= '9')
        return c - '0';
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/* The number of \uXXXX, or -1 if there is none. */
static int32_t code_unit(const char *at)
{
    int32_t code = 0;

    if (at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hex(at[i]);

        if (digit < 0)
            return -1;
        code = code << 4 | digit;
    }
    return code;
}

static const char *skip_code(struct json_string *s, const char *at)
{
    int32_t code = code_unit(at);
    bool high = code >= 0xd800 && code < 0xdc00, low = code >= 0xdc00 && code < 0xe000;
    int32_t next = high ? code_unit(at + 6) : 0;

    if (code < 0)
        return refuse(s, at, "not JSON: \\u without four hexadecimal digits");
    if (low || (high && (next < 0xdc00 || next >= 0xe000)))
        return refuse(s, at, "not JSON: half of a surrogate pair");
    s->zero |= code == 0;
    return at + (high ? 12 : 6);
}

/* Non-ASCII characters usually occur in runs. */
static const char *skip_characters(struct json_string *s, const char *at)
{
    while (at && *at & 0x80)
        at = skip_character(s, at);
    return at;
}

const char *json_skip_odd(struct json_string *s, const char *at)
{
    if (*at & 0x80)
        return skip_characters(s, at);
    if (*at != '\\')
        return refuse(s, at, "not JSON: a control character in a string");
    s->escaped = true;
    if (at[1] == 'u')
        return skip_code(s, at);
    if (at[1] == '\0' || !strchr("\"\\/bfnrt", at[1]))
        return refuse(s, at, "not JSON: a backslash before a character that cannot be escaped");
    return at + 2;
}

size_t json_character(const char **at, char to[4])
{
    static const char names[] = "\"\\/bfnrt", stand_for[] = "\"\\/\b\f\n\r\t";
    const char *p = *at;

    if (*p != '\\') {
        *to = *(*at)++;
        return 1;
    }
    if (p[1] != 'u') {
        *to = stand_for[strchr(names, p[1]) - names];
        *at += 2;
        return 1;
    }
    uint32_t code = (uint32_t)code_unit(p);
    *at += 6;
    if (code >= 0xd800 && code < 0xdc00) {
        code = 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)code_unit(p + 6) - 0xdc00);
        *at += 6;
    }
    if (code < 0x80)
        return to[0] = (char)code, 1;
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    to[0] = (char)(0xff00u >> (more + 1) | code >> (6 * more));
    for (int i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
    return (size_t)more + 1;
}

bool json_stands_for(const char *at, const char *end, const char *text, size_t size)
{
    size_t n = 0;

    while (at < end) {
        char bytes[4];
        size_t more = json_character(&at, bytes);

        if (n + more > size || memcmp(text + n, bytes, more) != 0)
            return false;
        n += more;
    }
    return n == size;
}
