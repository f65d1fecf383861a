/* scan.h - find bytes, a block at a time. One call returns all positions of a block: short records
 * then cost a few instructions each, while memchr() would cost a call. data must be readable for 63
 * bytes past `to`, and out must have space for 64 more than max. Returns the number found, at most
 * max; if fewer, all bytes up to `to` were searched. */
#ifndef WEIR_PIPE_SCAN_H
#define WEIR_PIPE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t scan_one(const char *data, size_t from, size_t to, char c, uint32_t *out, size_t max);
size_t scan_three(const char *data, size_t from, size_t to, const char c[3], uint32_t *out,
                  size_t max);

/* Count c in data[from .. to). */
size_t scan_count(const char *data, size_t from, size_t to, char c);

#endif
