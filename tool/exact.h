/* exact.h - a set of keys from a file, without error: what --strict asks. */
#ifndef WEIR_EXACT_H
#define WEIR_EXACT_H

#include "options.h"
#include <weir.h>

struct exact;

/* A file of keys, one per line (or NUL-terminated with -z). One that is sorted
 * bytewise is searched where it lies; of any other a table is made, 16 bytes
 * per key. NULL after a sentence. */
struct exact *exact_open(const char *path, const struct options *o);
void exact_close(struct exact *e);

bool exact_has(const struct exact *e, struct weir_bytes key);

#endif
