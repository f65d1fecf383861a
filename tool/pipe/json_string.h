/* json_string.h - parts of a JSON string that are not plain text: escapes and multi-byte
 * characters. */
#ifndef WEIR_PIPE_JSON_STRING_H
#define WEIR_PIPE_JSON_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_string {
    bool escaped;         /* it contains a backslash */
    bool zero;            /* it has \u0000 in it */
    const char *fault;    /* what is wrong with it, */
    const char *fault_at; /* and where */
};

/* Skip escapes and characters of two to four bytes, which must be UTF-8. Returns the position
 * after them, or NULL and a fault, also at a control character. Stops at the latest at a byte
 * below 32. */
const char *json_skip_odd(struct json_string *s, const char *at);

/* Unescape one character of a string that has passed json_scan(). Returns the number of bytes, at
 * most 4, and advances *at. */
size_t json_character(const char **at, char to[4]);

/* Does a string, without its quotes, equal this text after unescaping? */
bool json_stands_for(const char *at, const char *end, const char *text, size_t size);

#endif
