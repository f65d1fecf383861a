/* json.h - fields of a JSON record, by pointer (RFC 6901). */
#ifndef WEIR_PIPE_JSON_H
#define WEIR_PIPE_JSON_H

#include "pipe/batch.h"
#include "pipe/json_scan.h"

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
