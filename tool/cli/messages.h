/* messages.h - one message to the person at the terminal. */
#ifndef WEIR_CLI_MESSAGES_H
#define WEIR_CLI_MESSAGES_H

#include <stdbool.h>

enum { EXIT_FINE = 0, EXIT_ANSWER_NO = 1, EXIT_ERROR = 2 };

/* "weir: ..." on standard error; returns EXIT_ERROR. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for functions that say whether it went well: returns false. */
bool reject(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for what is no error. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The nearest of a list of words, or NULL if none is near. Ends with NULL. */
const char *nearest(const char *word, const char *const *words);

#endif
