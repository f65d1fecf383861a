/* manifest.h - which files an index consists of.
 *
 * A file that is replaced atomically: settings, the runs, the logs in order, and the note of the
 * commit that wrote it. A file of the directory that it does not name is left over from a crash. */
#ifndef WEIR_INDEX_MANIFEST_H
#define WEIR_INDEX_MANIFEST_H

#include "index/run.h"

#define INDEX_RUNS 256
#define INDEX_LOGS 256

struct index_manifest {
    uint64_t keep, seed, next_id, bucket, expires;
    uint32_t hash, runs, logs;
    struct index_run run[INDEX_RUNS]; /* id, keys, pages, level, bucket, expires, fence_sum */
    struct {
        uint64_t id, size; /* bytes that are committed; of the last, there may be more */
    } log[INDEX_LOGS];
    uint8_t *note;
    size_t note_size;
};

/* Returns NULL, or the error; *missing: there is no manifest. The caller frees note. */
const char *index_manifest_read(struct index_manifest *m, int dir, bool *missing);

/* Replace it and sync the directory. Returns NULL, or the error. */
const char *index_manifest_write(struct index_manifest *m, int dir);

#endif
