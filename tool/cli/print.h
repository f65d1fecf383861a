/* print.h - standard output for what is printed and not passed on: lists, counts,
 * help. Records go by pipe/write.c. */
#ifndef WEIR_CLI_PRINT_H
#define WEIR_CLI_PRINT_H

#include <stdbool.h>
#include <stddef.h>

/* From here on stdout waits where standard output is not blocking and full. */
void print_open(void);

/* A key, with tabs between its fields if it may have several; in it they are joined by
 * another byte. */
void print_key(const char *key, size_t size, bool fields);

/* Columns of the terminal that standard output is; 0 if it is none. */
int print_columns(void);

/* The rest of a line, from this column on, in as many lines as it takes: of less than 80 columns,
 * and of less than a narrower terminal has. */
void print_wrapped(const char *text, int column);

/* Has all that was printed been written? False after a message, the first time. */
bool print_flush(void);

#endif
