/* text.h - format and parse short texts without stdio or locale.
 *
 * Writers never overflow: text that is too long is truncated, and always terminated. Readers
 * accept the units of weir's specs. */
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
/* Billionths as a decimal fraction: 30000000 -> 0.03 */
void text_add_rate(struct text *t, uint64_t billionths);
/* A rate with three digits, rounded up: 0.0101, 2.3e-7 */
void text_add_double(struct text *t, double rate);

/* Copy a text, truncated to the size of the buffer, which may be 0. */
void text_copy(char *buffer, size_t size, const char *s);

/* A part of another text. */
struct span {
    const char *s;
    size_t n;
};

bool span_is(struct span a, const char *word);

/* Each function parses the whole span or fails.
 * whole: digits.
 * size: bytes with K, M, G or T (powers of 1024), optionally followed by B or iB, or bits with
 *       "bit"; the result is in bits. mb and mib mean MB and MiB; Mb is rejected.
 * count: k, M, G or T (powers of 1000).
 * rate: a fraction, a percentage, or with an exponent such as 1e-3. */
bool span_whole(struct span a, uint64_t *out);
bool span_size(struct span a, uint64_t *bits);
bool span_count(struct span a, uint64_t *out);
bool span_rate(struct span a, double *out);
/* A time with ms, s, m, h or d, in milliseconds. */
bool span_time(struct span a, uint64_t *milliseconds);

#endif
