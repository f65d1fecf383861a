/* scan.h - where certain bytes are, a block at a time.
 *
 * One call gives all positions of a block, so that short records cost a few
 * instructions each, where memchr() would cost a call. data must be readable
 * for 63 bytes past `to`, and out have room for 64 more than max. Returns how
 * many were found, at most max; if fewer, all up to `to` were looked at. */
#ifndef WEIR_PIPE_SCAN_H
#define WEIR_PIPE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t scan_one(const char *data, size_t from, size_t to, char c, uint32_t *out, size_t max);
size_t scan_three(const char *data, size_t from, size_t to, const char c[3], uint32_t *out,
                  size_t max);

/* How often c is in data[from .. to). */
size_t scan_count(const char *data, size_t from, size_t to, char c);

#endif
