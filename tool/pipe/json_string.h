/* json_string.h - what is not plain text in a JSON string: escapes, and characters of
 * more than one byte. */
#ifndef WEIR_PIPE_JSON_STRING_H
#define WEIR_PIPE_JSON_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_string {
    bool escaped;         /* it has a backslash in it */
    bool zero;            /* it has \u0000 in it */
    const char *fault;    /* what is wrong with it, */
    const char *fault_at; /* and where */
};

/* Pass over what is not plain text: an escape, characters of two to four bytes,
 * which must be UTF-8, or a control character, which must not be there. NULL
 * and a fault, or the place behind it. Ends at the latest at a byte below 32. */
const char *json_skip_odd(struct json_string *s, const char *at);

/* The bytes that one character of a string stands for, escaped or not, of a
 * text that has passed json_scan(). Returns how many, at most 4; *at moves on. */
size_t json_character(const char **at, char to[4]);

/* Does a string, its quotes left out, stand for this text? */
bool json_stands_for(const char *at, const char *end, const char *text, size_t size);

#endif
