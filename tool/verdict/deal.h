/* deal.h - the keys of a batch, each to its shard. */
#ifndef WEIR_VERDICT_DEAL_H
#define WEIR_VERDICT_DEAL_H

#include "pipe/batch.h"
#include "state/shards.h"

/* Hash the keys of a batch and put them in the order of the shards. */
void shards_deal(const struct shards *s, struct batch *b);

#endif
