/* deal.h - the keys of a batch, each to its shard. */
#ifndef WEIR_VERDICT_DEAL_H
#define WEIR_VERDICT_DEAL_H

#include "pipe/batch.h"
#include "state/shards.h"

/* Hash the keys of a batch and put them in the order of the shards. */
void shards_deal(const struct shards *s, struct batch *b);

/* The same where there is no filter yet. */
void deal_hashed(struct trace_hash hash, uint32_t shards, struct batch *b);

/* How the keys of a filter of this sentence are hashed. */
struct trace_hash hash_of_sentence(const char *config);

#endif
