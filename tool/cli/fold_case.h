/* fold_case.h - upper and lower case made the same, in UTF-8. */
#ifndef WEIR_CLI_FOLD_CASE_H
#define WEIR_CLI_FOLD_CASE_H

#include <stddef.h>

/* Once, before the first fold. */
void fold_case_open(void);

/* Room that a folded text of so many bytes may need: a few letters grow. */
#define FOLD_CASE_ROOM(size) (2 * (size) + 8)

/* Returns the length of the folded text. */
size_t fold_case(const char *text, size_t size, char *to);

#endif
