/* shards.h - the filter of a run: one, or several that share the keys among
 * them. */
#ifndef WEIR_STATE_SHARDS_H
#define WEIR_STATE_SHARDS_H

#include <weir/shared.h>

#include "cli/filter_request.h"

struct shards {
    uint32_t count;
    bool viewed;                /* they lie in a file: see file_view() */
    weir_shared *shared;        /* all of them; NULL if they are not joined yet */
    weir_filter **w;            /* each, for one thread at a time */
    char config[WEIR_SPEC_MAX]; /* of the whole */
};

/* How many a new filter is divided into, if so many were asked for (0: none); else by the threads:
 * as many, but two threads do best with one shard if a key takes no longer to look up than to read
 * and hash (bench/pipeline). */
uint32_t shards_wanted(uint32_t given, uint32_t threads, const char *spec);

/* Open them: memory, and what else is a matter of size, is divided. */
enum weir_status shards_open(struct shards *s, const char *spec, uint32_t count,
                             struct weir_error *error);

/* The same of filters that are in w. */
enum weir_status shards_join(struct shards *s, struct weir_error *error);

void shards_close(struct shards *s);

/* All together: sums, and means of fill and error. */
struct weir_stats shards_stats(const struct shards *s);

#endif
