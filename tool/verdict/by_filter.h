/* by_filter.h - verdicts of a filter in shards, of many filters, and of one that is being built. */
#ifndef WEIR_VERDICT_BY_FILTER_H
#define WEIR_VERDICT_BY_FILTER_H

#include <weir/build.h>

#include "pick/network.h"
#include "verdict/verdict.h"
#include "verdict/watch.h"
#include "pipe/batch.h"
#include "state/files.h"
#include "state/shards.h"

struct filtering {
    struct shards *shards;
    enum weir_shared_operation operation;
    struct trace_hash hash; /* set by verdict_by_filter() */
    struct watch *watch;    /* of what it observes; NULL: none */
    bool must_fit;          /* a key that does not fit is an error, and nothing is saved; */
    uint64_t overflow;      /* except this many, from before */
    struct prefix_lengths *prefixes; /* keys are networks, of these lengths; NULL: they are not */
    uint32_t threads;                /* that look them up */
};

struct verdict verdict_by_filter(struct filtering *f);

/* ---- many filters: which of them have a key, or whether any has
 *
 * A batch is hashed once for all filters with the same hash, and looked up in one filter after the
 * other. ---- */

struct one_filter {
    const char *path;
    char *name; /* as it is printed */
    struct shards shards;
    struct view view; /* the mapped file, if shards.viewed */
    struct trace_hash hash;
    uint64_t seen; /* records that it has */
};

struct many_filters {
    struct one_filter *filter;
    uint32_t count;
    uint32_t threads;
    const char *keys; /* how keys are made, as those of the filters must be; or NULL */
    bool whole;       /* load the files, because their figures are printed */
    bool named;       /* records get the names of the filters that contain them, */
    bool quoted;      /* as JSON strings, */
    char separator;   /* with this in between */
};

/* Add filter files one by one, for lookups: mapped, unless `whole`. False after a message. */
bool many_open(struct many_filters *m, uint32_t most, uint32_t threads, bool whole);
bool many_add(struct many_filters *m, const char *path);
void many_close(struct many_filters *m);

struct verdict verdict_by_filters(struct many_filters *m);

/* ---- the keys of a filter that is built from the complete set, in shards
 *
 * Every verdict is new. ---- */

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
