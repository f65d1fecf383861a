/* fields.h - split a record into fields. */
#ifndef WEIR_PIPE_FIELDS_H
#define WEIR_PIPE_FIELDS_H

#include "pipe/pick.h"

/* Store the fields that the picker requests, in its order and without quotes. Returns the number of
 * fields up to the last requested one; 0 if out of memory. Reads up to 63 bytes past the record. */
uint32_t fields_of(const struct picker *p, struct arena *a, const char *record, size_t size,
                   struct weir_bytes *wanted);

/* The same for records from i on, if the picker requests one field, the key: fills that column, and
 * returns the first record that has too few fields. */
uint32_t fields_batch(const struct picker *p, struct batch *b, uint32_t i);

/* The number of the first field after this one with that text, or 0. */
uint32_t fields_find(const struct picker *p, struct arena *a, const char *record, size_t size,
                     const char *text, uint32_t after);

#endif
