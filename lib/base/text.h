/* text.h - building and reading short texts without stdio or locale.
 *
 * Writers never overflow: what does not fit is cut, and the text is always
 * terminated. Readers accept the units of weir's one grammar. */
#ifndef WEIR_BASE_TEXT_H
#define WEIR_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *at;
    char *end; /* one past the last byte of the buffer */
};

struct text text_in(char *buffer, size_t size);
void text_add(struct text *t, const char *s);
void text_add_span(struct text *t, const char *s, size_t n);
void text_add_u64(struct text *t, uint64_t n);
/* A number of billionths as a decimal fraction: 30000000 -> 0.03 */
void text_add_rate(struct text *t, uint64_t billionths);
/* A rate to three digits, rounded up: 0.0101, 2.3e-7 */
void text_add_double(struct text *t, double rate);

/* As much of a text as a caller's buffer takes, which may be nothing. */
void text_copy(char *buffer, size_t size, const char *s);

/* A stretch of someone else's text. */
struct span {
    const char *s;
    size_t n;
};

bool span_is(struct span a, const char *word);

/* Each of these takes the whole span or fails.
 * whole: digits. size: bytes with K, M, G, T (powers of 1024; "B" or "iB"
 * may follow; mb and mib are as MB and MiB, Mb is refused) or bits with "bit"; gives bits. count:
 * k, M, G, T (powers of 1000). rate: a fraction or a percentage, 1e-3 allowed. */
bool span_whole(struct span a, uint64_t *out);
bool span_size(struct span a, uint64_t *bits);
bool span_count(struct span a, uint64_t *out);
bool span_rate(struct span a, double *out);
/* A time with ms, s, m, h or d, in milliseconds. */
bool span_time(struct span a, uint64_t *milliseconds);

#endif
