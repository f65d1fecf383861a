/* json_scan.h - validate a JSON text (RFC 8259) and find the values of some pointers, in one pass.
 *
 * Everything is checked: structure, strings with their escapes and UTF-8, the grammar of numbers,
 * nesting. Numbers may have any size, because only their text is used. If a name occurs twice in an
 * object, the last one counts. */
#ifndef WEIR_PIPE_JSON_SCAN_H
#define WEIR_PIPE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
