/* json_text.h - print JSON values, and make JSON strings from bytes. */
#ifndef WEIR_CLI_JSON_TEXT_H
#define WEIR_CLI_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>

/* The value as text, which the caller frees; NULL if memory is exhausted or the value is NULL.
 * Flags as in jansson. json_dumps() of jansson 2.14 omits names if its buffer cannot grow; this
 * function measures first, so no buffer grows. */
char *json_text(const json_t *value, size_t flags);

/* A JSON string; bytes that are not UTF-8 become U+FFFD. NULL if memory is exhausted. */
json_t *utf8_string(const char *name);

/* Add a member. Returns NULL and frees both if memory is exhausted or one is NULL. */
json_t *json_with(json_t *object, const char *name, json_t *value);

/* Print a document, real numbers with 6 digits, and free it. NULL is reported as out of memory.
 * False after a message. */
bool json_print(json_t *value, size_t flags);

/* Print an object or an array of objects as TSV, a header line and a row each, and free it. */
bool json_print_tsv(json_t *value);

/* Escape bytes for a JSON string: from *from up to `end`, or while there is space (at least
 * JSON_ESCAPE_ROOM). Advances *from. Returns the length of the output.
 *
 * A byte XX that is not part of a UTF-8 character becomes \udcXX, a lone surrogate, as with
 * Python's "surrogateescape". Valid text contains none, so the bytes round-trip. */
#define JSON_ESCAPE_ROOM 8
size_t json_escape(const char **from, const char *end, char *to, size_t room);

#endif
