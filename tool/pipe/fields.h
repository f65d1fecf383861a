/* fields.h - a record -> its fields. */
#ifndef WEIR_PIPE_FIELDS_H
#define WEIR_PIPE_FIELDS_H

#include "pipe/pick.h"

/* The fields that the picker wants, in its order, free of quotes. Returns how
 * many fields there were, up to the last one wanted; 0 if memory is short. Reads
 * up to 63 bytes past the record. */
uint32_t fields_of(const struct picker *p, struct arena *a, const char *record, size_t size,
                   struct weir_bytes *wanted);

/* The same for records from i on, of a picker that wants one field, the key:
 * fill that column, and return the first record that has too few fields. */
uint32_t fields_batch(const struct picker *p, struct batch *b, uint32_t i);

/* The number of the first field behind the so manieth with that text, or 0. */
uint32_t fields_find(const struct picker *p, struct arena *a, const char *record, size_t size,
                     const char *text, uint32_t after);

#endif
