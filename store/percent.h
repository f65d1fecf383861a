/* percent.h - bytes written %XX, as in addresses. */
#ifndef WEIR_STORE_PERCENT_H
#define WEIR_STORE_PERCENT_H

#include <stdbool.h>
#include <stddef.h>

/* The byte that three characters %XX stand for; -1 if they are no such. */
int percent_byte(const char *text);

/* A copy of some text with each %XX made a byte; NULL if memory is short or one of
 * them is no number, or zero. */
char *percent_decode(const char *text, size_t size);

/* Append a text, with whatever could break a line or is not UTF-8 written %XX: at
 * most three times as many bytes. Returns the end. */
char *percent_tidy(char *to, const char *text);

/* Bytes of the first character, 0 if it is not UTF-8. */
size_t utf8_length(const unsigned char *s, size_t left);

#endif
