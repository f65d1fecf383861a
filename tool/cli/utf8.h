/* utf8.h - characters of a text that may be anything. */
#ifndef WEIR_CLI_UTF8_H
#define WEIR_CLI_UTF8_H

#include <stddef.h>

/* Bytes of the character at the start of a text that ends with NUL; 0 if it is none. Surrogates,
 * characters beyond U+10FFFF and longer spellings than need be are none. */
size_t utf8_character(const char *text);

/* The same for any text of this size; 0 also for a control character (C0, DEL, C1). */
size_t utf8_printable(const char *text, size_t size);

#endif
