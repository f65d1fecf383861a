/* shards.h - the filter of a run: one filter, or several shards that divide the keys. */
#ifndef WEIR_STATE_SHARDS_H
#define WEIR_STATE_SHARDS_H

#include <weir/shared.h>
#include <weir/build.h>

#include "cli/filter_request.h"

struct shards {
    uint32_t count;
    bool viewed;                /* mapped from a file: see file_view() */
    weir_shared *shared;        /* NULL until they are joined */
    weir_filter **w;            /* each, for one thread at a time */
    char config[WEIR_SPEC_MAX]; /* spec of the whole filter */
};

/* The number of shards of a new filter: as given, or one per thread (given = 0). Two threads of a
 * filter whose lookup is no slower than reading and hashing use one shard (bench/command/pipeline).
 */
uint32_t shards_wanted(uint32_t given, uint32_t threads, const char *spec);

/* Open the shards. Memory and other sizes are divided among them. */
enum weir_status shards_open(struct shards *s, const char *spec, uint32_t count,
                             struct weir_error *error);

/* Join the filters in w. */
enum weir_status shards_join(struct shards *s, struct weir_error *error);

void shards_close(struct shards *s);

/* Statistics of all shards: sums, and means of fill and error. */
struct weir_stats shards_stats(const struct shards *s);

/* ---- the keys of a fixed filter while it is built: memory first, then an unnamed file in TMPDIR
 * ---- */

#define SPILL_KEPT ((uint64_t)32 << 20) /* bytes of memory for all shards */

struct spill {
    uint64_t kept;    /* max bytes in memory */
    int memory, file; /* -1: not open yet; memory: of memfd_create() */
    int error;        /* errno, if something failed */
    bool opening;     /* creating the file failed */
};

/* Open with a limit of bytes in memory. */
void spill_open(struct spill *a, uint64_t kept);
void spill_close(struct spill *a);

/* The callbacks for the library. */
struct weir_spill spill_room(struct spill *a);

/* The message of a failure. */
const char *spill_failure(const struct spill *a);

#endif
