/* json.h - fields of a JSON record, by pointer (RFC 6901). */
#ifndef WEIR_PIPE_JSON_H
#define WEIR_PIPE_JSON_H

#include "pipe/batch.h"
#include "pipe/json_scan.h"

/* Add one more pointer, such as /user/id; in it ~0 is a tilde, ~1 a slash of a
 * name. False if memory is short or there are JSON_PATHS_MAX already. */
bool json_add(struct json_paths *p, const char *pointer);
void json_close(struct json_paths *p);

enum json_result { JSON_FINE, JSON_REFUSED, JSON_NO_MEMORY };

/* The text of each value that a pointer leads to: of a string what it says, of
 * anything else its JSON, a number as it is written, objects and arrays as
 * json_compact() has them. Where there is no value, field[i].data is NULL. The
 * fields of a blank record are empty, as in CSV. json_scan() says what must
 * follow the record. */
enum json_result json_fields(const struct json_paths *p, struct arena *a, const char *record,
                             size_t size, struct weir_bytes *field, struct json_fault *fault);

/* An object or array that json_scan() has found, without blanks, its members
 * sorted by name and of equal names the last; the way of jansson, but for numbers,
 * which stay as they are written. to has room for as many bytes as
 * there were. Returns the length, or 0 if memory is short. */
size_t json_compact(const char *value, char *to);

#endif
