/* json.h - fields of a JSON record, by pointer (RFC 6901). */
#ifndef WEIR_PICK_JSON_H
#define WEIR_PICK_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipe/batch.h"

/* ---- all values of a text, in one pass: json_scan.c
 *
 * Everything is checked: structure, strings with their escapes and UTF-8, the grammar of numbers,
 * nesting. Numbers may have any size, because only their text is used. If a name occurs twice in an
 * object, the last one counts. ---- */

#define JSON_PATHS_MAX 32
#define JSON_DEPTH_MAX 2048 /* a value is nested less deeply; jansson has the same limit */

/* One step of a path: the member of that name, or the element of that number if the name is a
 * number (otherwise UINT64_MAX). */
struct json_step {
    const char *name;
    size_t size;
    uint64_t index;
};

struct json_path {
    struct json_step *step;
    uint32_t steps;
};

struct json_paths {
    struct json_path path[JSON_PATHS_MAX];
    uint32_t n;
};

/* The text of a value as it is in the record, a string with its quotes; NULL
 * if there is none. */
struct json_value {
    const char *at;
    size_t size;
    bool escaped; /* a string with a backslash */
};

struct json_fault {
    const char *text; /* a message */
    size_t at;        /* the byte, counted from 0 */
};

/* Fill found[i] for each path. Returns false, with a reason, if the text is not JSON. text[size]
 * must be a line break or NUL, and 63 bytes after it must be readable. */
bool json_scan(const struct json_paths *paths, const char *text, size_t size,
               struct json_value *found, struct json_fault *fault);

/* ---- parts of a string that are not plain text: escapes and multi-byte characters ---- */

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

/* ---- the fields of a record: json.c ---- */

/* Add a pointer, such as /user/id. In names, ~0 is a tilde and ~1 a slash. False if out of memory
 * or if there are JSON_PATHS_MAX already. */
bool json_add(struct json_paths *p, const char *pointer);
void json_close(struct json_paths *p);

enum json_result { JSON_FINE, JSON_REFUSED, JSON_NO_MEMORY };

/* Store the text of the value of each pointer. Strings are unescaped. Numbers are used as written,
 * objects and arrays as json_compact() writes them. If there is no value, field[i].data is NULL.
 * The fields of a blank record are empty, as in CSV. json_scan() documents which bytes must follow
 * the record. */
enum json_result json_fields(const struct json_paths *p, struct arena *a, const char *record,
                             size_t size, struct weir_bytes *field, struct json_fault *fault);

/* Write an object or array found by json_scan() without blanks, members sorted by name; of equal
 * names the last one is kept. This is what jansson does, except that numbers stay as written. `to`
 * must have space for as many bytes as the input. Returns the length, or 0 if out of memory. */
size_t json_compact(const char *value, char *to);

#endif
