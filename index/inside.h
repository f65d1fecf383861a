/* inside.h - the parts of an index, for index.c, compact.c and commit.c. */
#ifndef WEIR_INDEX_INSIDE_H
#define WEIR_INDEX_INSIDE_H

#include <pthread.h>

#include "index/index.h"
#include "index/log.h"
#include "index/manifest.h"
#include "index/run.h"
#include "index/table.h"

#define INDEX_CHUNK 4096 /* keys at once */
#define INDEX_BUCKETS                                                                              \
    33 /* of keep / 32 each: a key lives at least keep from anywhere in the first */

#define INDEX_INPUTS 64

struct candidate;

/* A run that a thread writes: a table, or a merge of other runs. It owns the run until it is done;
 * the inputs are only read meanwhile. */
struct index_job {
    pthread_t thread;
    bool running;
    atomic_bool done, cancel;
    int dir;
    struct index_run *out;
    const struct index_table *table; /* to write; or NULL: merge these */
    struct index_run *input[INDEX_INPUTS];
    uint32_t inputs;
    _Atomic uint32_t pages;          /* of the output that can be read */
    int error;                       /* errno, if it failed */
    const struct index_run *damaged; /* the input that could not be read */
};

struct index {
    struct index_options options;
    char *path;
    int dir, lock;
    char failure[INDEX_MESSAGE];

    struct index_table table[2];
    struct index_table *active;
    const struct index_table *frozen; /* being written, or NULL */
    uint64_t generation;              /* of the active table */
    struct digest *cache;             /* cache of repeats found on disk, by lower bits of lo */
    uint64_t cache_mask;

    struct index_run *run[INDEX_RUNS];
    uint32_t runs;
    struct index_job writer, merger;

    uint64_t bucket, expires; /* of keys observed now */
    uint64_t last_expires;    /* of keys at the last commit; while opening */
    uint64_t width;           /* of a bucket, in ms; 0: keys are kept forever */
    uint64_t now;             /* start of the current bucket; keys that expire before are dropped */

    struct index_log log, full; /* that of the active table, and of the frozen one */
    struct {
        uint64_t id, size, generation; /* of the last table with keys of it */
    } kept[INDEX_LOGS];
    uint32_t logs;
    bool replaying;

    bool unsettled; /* some runs may need merging */
    bool stale;     /* the manifest does not name all files that it must */
    bool in_log;    /* the last commit, and nothing was observed since */
    uint64_t next_id, garbage_bytes, uncommitted;
    uint8_t *note;
    size_t note_size;
    struct index_figures figures;

    struct candidate *candidate;
    uint32_t candidates;
    struct index_page page;
    struct digest unique[INDEX_CHUNK], added[INDEX_CHUNK];
    uint8_t verdict[INDEX_CHUNK];
    uint16_t origin[INDEX_CHUNK], wanted[INDEX_CHUNK], seat[4 * INDEX_CHUNK];
};

/* ---- index.c ---- */
bool index_fail(struct index *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool index_fail_read(struct index *x, const struct index_run *r, int error);
bool index_fail_log(struct index *x);      /* the log cannot be written */
bool index_start_lookups(struct index *x); /* memory for them */
bool index_make_room(struct index *x, uint64_t keys);
bool index_is_expired(const struct index *x, uint64_t expires);
void index_retire(struct index *x, uint32_t at, bool forgotten);
bool index_freeze(struct index *x);
bool index_enter_bucket(struct index *x, uint64_t bucket, uint64_t expires);

/* ---- compact.c ---- */

/* Write a full table as a run. */
bool index_start_flush(struct index *x, const struct index_table *full, bool filtered);

/* Take over the runs that the threads have written, and start the next merge. */
bool index_take_over(struct index *x);

/* Wait for the thread, and take over its run. */
bool index_finish_flush(struct index *x);
bool index_finish_merge(struct index *x);

/* Stop a thread as soon as possible. */
void index_cancel(struct index_job *j);

/* ---- commit.c ---- */

/* Start a log for the active table. */
bool index_next_log(struct index *x);

#endif
