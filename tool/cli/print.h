/* print.h - standard output for what is printed and not passed on: lists, counts,
 * help. Records go by pipe/write.c. */
#ifndef WEIR_CLI_PRINT_H
#define WEIR_CLI_PRINT_H

#include <stdbool.h>

/* From here on stdout waits where standard output is not blocking and full. */
void print_open(void);

/* Has all that was printed been written? False after a sentence, the first time. */
bool print_flush(void);

#endif
