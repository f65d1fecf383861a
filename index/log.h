/* log.h - the keys observed since the last run was written, for recovery.
 *
 * A log is a file of records: a head of 40 bytes, then keys or the note of a commit. Records after
 * the last commit are ignored. The keys of a table are in one log or, after a restart, in several.
 * Logs are deleted when a run contains their keys. */
#ifndef WEIR_INDEX_LOG_H
#define WEIR_INDEX_LOG_H

#include "index/page.h"

struct index_log {
    uint64_t id;
    uint64_t size; /* bytes, with those in the buffer */
    int fd;
    bool synced;
    size_t used;
    uint8_t *buffer;
};

/* A new log; false with errno. */
bool index_log_create(struct index_log *log, int dir, uint64_t id);
void index_log_close(struct index_log *log);

/* Append keys of one bucket, which are overwritten, or a commit with its note. False with errno;
 * nothing can be appended after that. */
bool index_log_keys(struct index_log *log, struct digest *keys, uint32_t n, uint64_t bucket,
                    uint64_t expires);
bool index_log_commit(struct index_log *log, const void *note, size_t size);
bool index_log_sync(struct index_log *log);

/* ---- replay ---- */

struct index_log_reader {
    int fd;
    uint64_t at, size; /* where the next record begins; bytes of the file */
    uint64_t bucket, expires;
    bool commit;
    uint32_t n; /* keys, or bytes of the note */
    void *body; /* the keys: struct digest; or the note */
};

/* Open a log for reading; for writing as well if write. False with errno. */
bool index_log_open(struct index_log_reader *in, int dir, uint64_t id, bool write);

/* The next valid record; false at the end, or where the first damaged one begins. */
bool index_log_next(struct index_log_reader *in);

void index_log_end(struct index_log_reader *in);

/* Continue a log at this size: the rest is truncated. Takes over the file. */
bool index_log_continue(struct index_log *log, struct index_log_reader *in, uint64_t id,
                        uint64_t size);

#endif
