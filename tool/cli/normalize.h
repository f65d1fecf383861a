/* normalize.h - UTF-8 characters, and keys normalized by case and white space
 * (--ignore-case, --ignore-space). */
#ifndef WEIR_CLI_NORMALIZE_H
#define WEIR_CLI_NORMALIZE_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the UTF-8 character at the start of a NUL-terminated text; 0 if it is invalid:
 * a surrogate, a character beyond U+10FFFF or an overlong encoding. */
size_t utf8_character(const char *text);

/* The same for a text of a given size; also 0 for a control character (C0, DEL, C1). */
size_t utf8_printable(const char *text, size_t size);

/* Buffer size for a folded text: some characters grow. */
#define FOLD_CASE_ROOM(size) (2 * (size) + 8)

/* Convert to lower case; invalid UTF-8 is copied. Returns the length. */
size_t fold_case(const char *text, size_t size, char *to);

/* White space is blank, tab, line break, carriage return, vertical tab and form feed. */

/* Trim both ends. Returns true if the rest needs no further change. */
bool squeeze_space_ends(const char **text, size_t *size);

/* Trim both ends and replace each run of white space by one blank. Returns the length, which
 * never exceeds `size`; `to` may equal `text`. */
size_t squeeze_space(const char *text, size_t size, char *to);

/* Apply squeeze_space() to each part of a text; either of two bytes ends a part. */
size_t squeeze_space_between(const char *text, size_t size, char *to, const char ends[2]);

#endif
