/* deal.h - the keys of a batch, each to its shard. */
#ifndef WEIR_VERDICT_DEAL_H
#define WEIR_VERDICT_DEAL_H

#include "pipe/batch.h"
#include "state/shards.h"

/* Hash the keys of a batch. */
void shards_hash(const struct shards *s, struct batch *b);

/* Put them in the order of the shards, without those of bad records. */
void shards_deal(const struct shards *s, struct batch *b);

/* Hash them where there is no filter here; */
void hash_keys(struct trace_hash hash, struct batch *b);

/* and both. */
void deal_hashed(struct trace_hash hash, uint32_t shards, struct batch *b);

/* How the keys of a filter of this spec are hashed. */
struct trace_hash hash_of_spec(const char *config);

#endif
