/* index.h - an exact set of keys on disk, in bounded memory.
 *
 * The set holds 128-bit hashes of keys, in a directory that the index owns. It answers
 * whole batches: which of these keys are new? New keys are added. docs/exact.md explains
 * the files, the commit protocol and recovery.
 *
 * A caller uses exact_open(), then exact_observe() again and again, from time to time
 * exact_commit(), and at the end exact_close().
 *
 * A crash takes the index back to the last commit. One process writes, others may read the
 * last commit. Threads: one at a time; the index runs two threads of its own. */
#ifndef WEIR_INDEX_INDEX_H
#define WEIR_INDEX_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir.h>

#define INDEX_MEMORY_MIN (16 << 20) /* with less, filters do not fit: each lookup reads a page */
#define INDEX_KEEP_MIN 60000        /* ms */
#define INDEX_MESSAGE 512

struct index;

struct index_options {
    size_t memory; /* bytes of memory without the page cache */
    uint64_t keep; /* ms until a key is forgotten; 0: forever; an existing index has its own: see
                      exact_figures() */
    uint64_t disk; /* bytes of all files; the oldest keys are dropped to stay below; 0: no limit */
    uint32_t hash; /* of a new index, for the caller: enum weir_hash_kind and seed */
    uint64_t seed;
    bool read_only; /* the last commit, without a lock; exact_observe() and exact_commit() fail */
};

/* Open a directory; create it unless read_only. Reading the log takes time
 * proportional to the keys since the last run was written. Returns NULL
 * after writing one message into why. */
struct index *exact_open(const char *dir, const struct index_options *options,
                         char why[INDEX_MESSAGE]);

/* Wait for a commit that is under way, stop the threads and release the lock. Keys that were not
 * committed are lost. */
void exact_close(struct index *x);

/* Look up n keys in order and add those that are new. times: of each key in ms, ascending; NULL:
 * all at now. A time below an earlier one is replaced by that. verdicts[i]: WEIR_NEW or WEIR_SEEN.
 * Returns false if a file cannot be read or written; the index must then be closed. */
bool exact_observe(struct index *x, const struct weir_key *keys, const uint64_t *times,
                   uint64_t now, size_t n, uint8_t *verdicts);

/* The same without adding: a key that occurs twice in a batch is new both times. */
bool exact_ask(struct index *x, const struct weir_key *keys, size_t n, uint8_t *verdicts);

/* Start to make everything observed so far durable, together with a note of the caller, who has
 * synced its own output before. A thread does it: exact_settle() waits until it is done. Returns
 * false as exact_observe() does, also if the commit before this one failed. */
bool exact_commit(struct index *x, const void *note, size_t size);

/* Wait for the last commit. Returns false as exact_observe() does, if it failed. */
bool exact_settle(struct index *x);

/* Is a commit worthwhile, because files wait for deletion or many keys are not committed? Any
 * thread may call it. */
bool exact_wants_commit(const struct index *x);

/* The note of the last commit; size 0 if there was none. Valid until the next commit. */
const void *exact_note(const struct index *x, size_t *size);

/* The message of a failed call. */
const char *exact_failure(const struct index *x);

struct index_figures {
    uint64_t keys;       /* remembered now */
    uint64_t dropped;    /* forgotten by age or to stay within disk, since it was opened */
    uint64_t disk_drops; /* buckets dropped to stay within disk, since it was opened */
    uint64_t bytes;      /* of all files */
    uint64_t written;    /* bytes written since it was opened */
    uint64_t reads;      /* of pages or parts of pages */
    uint64_t unfiltered; /* keys in runs whose filters do not fit into memory */
    uint64_t keep, disk, seed;
    uint32_t hash, runs;
};
struct index_figures exact_figures(const struct index *x);

#endif
