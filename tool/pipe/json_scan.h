/* json_scan.h - one walk over a JSON text (RFC 8259): is it JSON, and where are
 * the values that some pointers lead to?
 *
 * Everything is checked: structure, strings with their escapes and UTF-8, the
 * grammar of numbers, nesting. Numbers may be of any size, since their text is
 * all that is wanted. Where a name comes twice in an object, the last counts. */
#ifndef WEIR_PIPE_JSON_SCAN_H
#define WEIR_PIPE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_PATHS_MAX 32
#define JSON_DEPTH_MAX 2048 /* a value lies in fewer containers; jansson has the same limit */

/* One step into a value: the member of that name, or the element of that
 * number if the name is one (otherwise UINT64_MAX). */
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
    bool escaped; /* a string that has a backslash in it */
};

struct json_fault {
    const char *text; /* a message */
    size_t at;        /* the byte, counted from 0 */
};

/* Fill found[i] for each path. False: the text is no JSON, and why. text[size]
 * must be a line break or NUL, and 63 more bytes readable. */
bool json_scan(const struct json_paths *paths, const char *text, size_t size,
               struct json_value *found, struct json_fault *fault);

#endif
