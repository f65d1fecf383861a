/* batch_keys.h - the hashed keys of a batch (by_filter.c). */
#ifndef WEIR_VERDICT_BATCH_KEYS_H
#define WEIR_VERDICT_BATCH_KEYS_H

#include "pipe/batch.h"

/* How the keys of a filter of this spec are hashed. */
struct trace_hash hash_of_spec(const char *config);

/* Hash the keys of a batch. Any thread. */
void keys_hash(struct trace_hash hash, struct batch *b);

/* The good records, when it is known which are bad: the columns of the batch itself if all are
 * good, otherwise dense copies. keys_return() copies their verdicts back. */
const struct good_keys *keys_select(struct batch *b);
void keys_return(struct batch *b);

#endif
