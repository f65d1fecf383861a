/* manifest.h - which files an index consists of.
 *
 * A file that is replaced atomically: settings, the runs, the logs in order, and the note of the
 * commit that wrote it. A file of the directory that it does not name is left over from a crash.
 * The numbers are in the file as they are here, then follow the note and a checksum. */
#ifndef WEIR_INDEX_MANIFEST_H
#define WEIR_INDEX_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#define INDEX_RUNS 256
#define INDEX_LOGS 256

struct index_manifest {
    struct {
        uint64_t magic, keep, hash, seed, next_id, bucket, expires, runs, logs, note_size;
    } head;
    struct {
        uint64_t id, keys, level, bucket, expires, fence_sum;
    } run[INDEX_RUNS];
    struct {
        uint64_t id, size; /* bytes that are committed; of the last, there may be more */
    } log[INDEX_LOGS];
    uint8_t *note;
};

/* Returns NULL, or the error; *missing: there is no manifest. The caller frees note. */
const char *index_manifest_read(struct index_manifest *m, int dir, bool *missing);

/* Replace it and sync the directory. Returns NULL, or the error. */
const char *index_manifest_write(struct index_manifest *m, int dir);

#endif
