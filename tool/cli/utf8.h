/* utf8.h - names are bytes, JSON is UTF-8. */
#ifndef WEIR_CLI_UTF8_H
#define WEIR_CLI_UTF8_H

#include <jansson.h>

/* A string of JSON; bytes that are not UTF-8 become U+FFFD. NULL if memory is short. */
json_t *utf8_string(const char *name);

/* Bytes of the printable character at the start of a text; 0 if it is a control character
 * (C0, DEL, C1) or no UTF-8. */
size_t utf8_printable(const char *text, size_t size);

#endif
