/* json_text.h - a JSON value as text, and bytes as a JSON value. */
#ifndef WEIR_CLI_JSON_TEXT_H
#define WEIR_CLI_JSON_TEXT_H

#include <jansson.h>

/* To be freed; NULL where memory is short, or for no value. The flags are jansson's.
 *
 * json_dumps() of jansson 2.14 goes on without a name for which its buffer could not grow,
 * and gives a text that is none. Measured first and written into room for all of it, none has
 * to grow. */
char *json_text(const json_t *value, size_t flags);

/* A string of JSON; bytes that are not UTF-8 become U+FFFD. NULL if memory is short. */
json_t *utf8_string(const char *name);

#endif
