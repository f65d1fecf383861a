/* by_builder.h - gathers the keys of a filter that is built from the complete set, in shards. Every
 * verdict is new. */
#ifndef WEIR_VERDICT_BY_BUILDER_H
#define WEIR_VERDICT_BY_BUILDER_H

#include <weir/build.h>

#include "pipe/network.h"
#include "state/spill.h"
#include "state/shards.h"
#include "verdict/verdict.h"

#define DEFAULT_FOR_FIXED "fuse" /* the filter for a set that never changes, if none is named */

#define SHARD_KEYS 256 /* keys gathered for a shard before they are added; chosen */

struct shard_keys {
    uint32_t n;
    struct weir_key key[SHARD_KEYS];
};

struct building {
    struct shards *shards; /* they become the filters */
    uint32_t count;
    weir_builder **builder;
    struct spill *spill;
    struct trace_hash hash;
    struct shard_keys *keys;
    enum weir_status *status;
    struct weir_error *error;
    struct prefix_lengths *prefixes; /* keys are networks, of these lengths; NULL: they are not */
};

/* Begin `count` filters of this spec, which has a seed. False after a message. */
bool building_open(struct building *b, const char *spec, uint32_t count, struct shards *shards);

/* All keys were added: build the filters. False after a message. */
bool building_finish(struct building *b);
void building_close(struct building *b);

/* Saving finishes it. */
struct verdict verdict_by_builder(struct building *b);

#endif
