/* squeeze_space.h - white space made the same: a run of it is one blank, and what stands at
 * the ends does not count. White space is blank, tab, line break, carriage return,
 * vertical tab and form feed. */
#ifndef WEIR_CLI_SQUEEZE_SPACE_H
#define WEIR_CLI_SQUEEZE_SPACE_H

#include <stdbool.h>
#include <stddef.h>

/* Leave out the ends; says whether the rest is as it should be, so that no copy is needed. */
bool squeeze_space_ends(const char **text, size_t *size);

/* Returns the length of the squeezed text, which is no longer. It may lie where the text
 * does. */
size_t squeeze_space(const char *text, size_t size, char *to);

/* The same for each stretch of a text; one ends with either of two bytes. */
size_t squeeze_space_between(const char *text, size_t size, char *to, const char ends[2]);

#endif
