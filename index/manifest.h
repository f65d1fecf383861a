/* manifest.h - what an index consists of, at a commit: settings, runs, logs, and the caller's note.
 *
 * The file is replaced atomically. It is this struct up to the last run, then the note and a
 * checksum; all numbers are little-endian. Files that it does not name are left over from a
 * crash. */
#ifndef WEIR_INDEX_MANIFEST_H
#define WEIR_INDEX_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#define INDEX_RUNS 256

struct index_manifest {
    uint64_t magic, keep, hash, seed, next_id, runs, note_size;
    struct {
        uint64_t id, pages, bucket, expires; /* pages that are committed: there may be more */
    } log[2];                                /* of the frozen table, or id 0; of the active one */
    struct {
        uint64_t id, keys, level, bucket, expires, fence_sum;
    } run[INDEX_RUNS];
    uint8_t *note; /* not in the file */
};

/* Returns NULL, or the error; *missing: there is no manifest. The caller frees note. */
const char *index_manifest_read(struct index_manifest *m, int dir, bool *missing);

/* Replace it and sync the directory. False with errno. m is not usable after that. */
bool index_manifest_write(struct index_manifest *m, int dir);

#endif
