/* messages.h - messages on standard error, one line each: "weir: WHAT: problem; fix". */
#ifndef WEIR_CLI_MESSAGES_H
#define WEIR_CLI_MESSAGES_H

#include <stdbool.h>

enum { EXIT_FINE = 0, EXIT_ANSWER_NO = 1, EXIT_ERROR = 2 };

/* Print an error. Returns EXIT_ERROR. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print an error. Returns false. */
bool reject(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print a message that is not an error. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The most similar word of a NULL-terminated list; NULL if none is similar. */
const char *nearest(const char *word, const char *const *words);

#endif
