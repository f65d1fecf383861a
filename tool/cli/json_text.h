/* json_text.h - a JSON value as text, and bytes as a JSON value. */
#ifndef WEIR_CLI_JSON_TEXT_H
#define WEIR_CLI_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>

/* To be freed; NULL where memory is short, or for no value. The flags are jansson's.
 *
 * json_dumps() of jansson 2.14 goes on without a name for which its buffer could not grow,
 * and gives a text that is none. Measured first and written into room for all of it, none has
 * to grow. */
char *json_text(const json_t *value, size_t flags);

/* A string of JSON; bytes that are not UTF-8 become U+FFFD. NULL if memory is short. */
json_t *utf8_string(const char *name);

/* The object with one more member; NULL, and both freed, if memory is short or one is NULL. */
json_t *json_with(json_t *object, const char *name, json_t *value);

/* Print a document, real numbers with 6 digits, and free it. NULL stands for one that memory was
 * too short for. False after a message. */
bool json_print(json_t *value, size_t flags);

/* Print an object, or an array of objects, as TSV: their names, then a row each; and free it. */
bool json_print_tsv(json_t *value);

/* The inside of a JSON string: write what stands for the bytes from *from on, up to `end` or as
 * far as there is room (at least JSON_ESCAPE_ROOM), and move *from on. Returns the length.
 *
 * A byte XX that is not part of a UTF-8 character becomes \udcXX, a lone surrogate, as with
 * Python's "surrogateescape": no text has it, so that the bytes can be had back. */
#define JSON_ESCAPE_ROOM 8
size_t json_escape(const char **from, const char *end, char *to, size_t room);

#endif
