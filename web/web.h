/* web.h - what the exported calls of the page share: the answer, as JSON text in one buffer. */
#ifndef WEIR_WEB_H
#define WEIR_WEB_H

#include <stdbool.h>

#define EXPORT(name) __attribute__((export_name(#name)))

/* Begin a new answer, append to it. */
void answer_begin(void);
__attribute__((format(printf, 1, 2))) void answer(const char *format, ...);

/* `"name":value,`; null if it is not finite. */
void answer_number(const char *name, double value);

/* `"name":"text",` with escapes. */
void answer_text(const char *name, const char *text);

/* Replace the last comma by this. */
void answer_close(char bracket);

/* {"error":"..."}. Returns 1. */
int answer_error(const char *text);

#endif
