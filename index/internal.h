/* internal.h - the parts of an index, for its .c files. */
#ifndef WEIR_INDEX_INTERNAL_H
#define WEIR_INDEX_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "index/index.h"
#include "index/manifest.h"
#include "index/memtable.h"
#include "index/sorted_run.h"

#define INDEX_CHUNK 4096 /* keys at once */
#define INDEX_BUCKETS                                                                              \
    33 /* of keep / 32 each: a key lives at least keep from anywhere in the first */
#define INDEX_INPUTS 64

/* ---- jobs: work of a thread, for which the caller does not wait ---- */

struct index_job {
    pthread_t thread;
    bool running;
    atomic_bool done, cancel; /* cancel: stop writing a run */
    int dir;
    int error; /* errno, if it failed: cannot VERB FILE */
    const char *verb;
    struct file_name file;
};

/* Write a run: a table, or a merge of other runs, which are only read meanwhile. */
struct run_job {
    struct index_job job;
    struct index_run *out;        /* part of the index when it is complete */
    const struct memtable *table; /* to write; or NULL: merge these */
    struct index_run *input[INDEX_INPUTS];
    uint32_t inputs;
};

/* Fill a table with zeros before it is used, and thus make the kernel provide its memory: 64 keys
 * touch all of it, which takes up to 60 ms. */
struct clear_job {
    struct index_job job;
    struct memtable *table; /* NULL: nothing to do */
};

/* Sync the logs, replace the manifest, and delete what it does not name any more. The job has all
 * that it needs: what is observed after exact_commit() is not part of the commit. */
struct commit_job {
    struct index_job job;
    bool queued; /* waits for the one before it */
    int log[2];  /* to sync, or -1 */
    struct index_manifest manifest;
    struct file_name *garbage;
    uint32_t garbage_files;
};

struct index {
    struct index_options options;
    char *path;
    int dir, lock;
    char failure[INDEX_MESSAGE];

    struct memtable table[2];
    struct memtable *active;
    const struct memtable *frozen; /* being written, or NULL */
    struct page_file log, full;    /* of the active table, and of the frozen one; fd -1: none */
    struct digest *cache;          /* of repeats found on disk, by lower bits of lo */
    uint64_t cache_mask;

    struct index_run *run[INDEX_RUNS + 1]; /* the output of a merge, before its inputs go */
    uint32_t runs;
    struct run_job writer, merger;
    struct clear_job cleaner;
    struct commit_job committer, next;
    bool unsettled; /* some runs may need merging */

    uint64_t bucket, expires; /* of keys observed now */
    uint64_t width;           /* of a bucket, in ms; 0: keys are kept forever */
    uint64_t now;             /* start of the current bucket; keys that expire before are dropped */

    bool recovering; /* keys are in a log already */
    uint64_t next_id, uncommitted;
    struct file_name *garbage; /* files to delete after the next commit */
    uint32_t garbage_files;
    uint64_t garbage_bytes;
    atomic_bool wants_commit; /* after the last keys that were observed */
    uint8_t *note;
    size_t note_size;
    struct index_figures figures;

    struct candidate candidate[INDEX_CHUNK];
    uint32_t candidates;
    struct digest key[INDEX_CHUNK];
    uint16_t wanted[INDEX_CHUNK];
};

/* ---- index.c ---- */

bool index_fail(struct index *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "cannot VERB FILE", or that it is damaged: EBADMSG. */
bool index_fail_file(struct index *x, const char *verb, struct file_name file, int error);

/* ---- compact.c ---- */

bool index_job_start(struct index *x, struct index_job *job, void *(*work)(void *job));
void index_job_wait(struct index_job *job);

bool index_is_expired(const struct index *x, uint64_t expires);

/* Do the filters of a run of this many keys fit into memory, after dropping those of larger runs?
 */
bool index_make_room(struct index *x, uint64_t keys);

/* Delete a file of a size after the next commit. */
bool index_discard(struct index *x, struct file_name file, uint64_t bytes);

/* Freeze the active table, start writing it, and continue with the other one. */
bool index_freeze(struct index *x);
bool index_finish_flush(struct index *x); /* wait until it is written */

/* Keys observed from here on belong to a later bucket, which expires later, unless it is the
 * current one. */
bool index_enter_bucket(struct index *x, uint64_t bucket, uint64_t expires);

/* Take over the runs that the threads have written, and start the next merge. */
bool index_take_over(struct index *x);

/* Stop writing a run, and delete it. */
void index_cancel(struct run_job *j);

/* ---- commit.c ---- */

/* Start a log for the active table. */
bool index_next_log(struct index *x);

/* Set wants_commit. */
void index_check_commit(struct index *x);

/* If the commit under way is done, start the next one. */
bool index_continue_commit(struct index *x);

#endif
