/* state.h - the note of a state file: how keys are made, and how far the input was read.
 *
 * A note is text, one name=value per line. Filters or a screen follow it in the file (files.h). A
 * run with --at has its filter in servers; there, the commands in flight follow it. */
#ifndef WEIR_STATE_STATE_H
#define WEIR_STATE_STATE_H

#include <weir/saved.h>
#include <limits.h>
#include <sys/stat.h>

#include "cli/filter_request.h"
#include "cli/option_groups.h"
#include "pipe/position.h"
#include "cli/inputs.h"

#define NOTE_MAX 8192

#define HASH_TEXT 40 /* bytes of a hash as text */

/* Identifies the input: see pipe/position.h. */
struct input_mark {
    uint64_t device, inode;
    uint32_t head_size, tail_size; /* bytes that were hashed */
    char head[HASH_TEXT], tail[HASH_TEXT];
};

/* A file that a run writes records to. */
struct state_output {
    bool used;               /* there is one; always true of the output */
    bool cut;                /* it is a regular file, which can be cut to */
    uint64_t length;         /* this length */
    char written[HASH_TEXT]; /* hash of its last bytes; empty: unknown */
};

#define STATE_OUTCOMES 6

/* Sums over all runs that the state continues. records = passed + all of rejected. */
struct state_sums {
    uint64_t runs, records, passed;
    uint64_t rejected[STATE_OUTCOMES]; /* by enum record_outcome (pipe/batch.h) */
    bool audited;                      /* there is an audit file: */
    uint64_t inputs, next_file;        /* its first inputs, up to this file of the command */
    uint64_t evicted_from;             /* the record at which the filter evicted keys; 0: none */
    double false_positives, most_false_positives; /* expected, and with the rate after them */
};

struct state {
    char config[WEIR_SPEC_MAX];          /* of all shards together: see shards_open() */
    char records[1024];                  /* from records_describe() */
    char keys[WEIR_KEY_DESCRIPTION_MAX]; /* from records_describe_keys() */
    struct position position;            /* of the first record not in the filters */
    struct input_mark mark;              /* of its file */
    uint64_t clock;                      /* the newest event time; 0: none */
    struct state_output output, rejects;
    struct state_sums sums;
    char input[4096]; /* name of the file of `position` */
};

void state_write(const struct state *s, char note[NOTE_MAX]);
bool state_read(const char *note, struct state *s); /* false: not a state's note */

void state_hash(struct trace_hash hash, const char *bytes, size_t size, char text[HASH_TEXT]);

/* Hash the last bytes before `length` of a file. The text is empty if the file is shorter, cannot
 * be opened or is a pipe. Returns false and errno if reading failed. */
bool state_hash_end(struct trace_hash hash, const char *path, uint64_t length,
                    char text[HASH_TEXT]);

/* Record where reading stopped, and in which file. */
void state_set_input(struct state *s, struct trace_hash hash, const char *name,
                     const struct position *p);

/* Is there no file at this path, or one of weir? Returns false after a message. */
bool state_looks_right(const char *path);

/* Set *same to whether this file begins with the output that the state was saved with. Returns
 * false after a message if it cannot be read. */
bool state_same_output(const char *output, struct trace_hash hash, const struct state_output *s,
                       bool *same);

/* Does the state at this path have these records and keys? Returns false after a message. */
bool state_same_records(const char *path, const char *records, const struct state *s);

/* Commands sent to servers that have no answer yet, serialized by remote/remote.h. */
struct in_flight {
    const uint8_t *data;
    size_t size;
    bool running; /* saved during the run; if still set on loading, the run was killed */
};

/* Replace a state file of a run with --at. Returns false after a message. */
bool state_save_remote(const char *path, const char *note, const struct in_flight *f);

/* Load one; the caller frees f->data. Returns false after a message. */
bool state_load_remote(const char *path, struct state *s, struct in_flight *f);

/* Read a file into memory; the caller frees it. Returns NULL after a message. */
uint8_t *read_whole_file(const char *path, size_t *size);

/* ---- the input file of an earlier run, also after it was rotated: resume.c ---- */

struct resumed {
    char older[PATH_MAX]; /* the file that was read, if its name belongs to another file now; or
                             empty */
    struct position position;
};

struct resume_rules {
    bool plain;                /* do not decompress files */
    bool quiet;                /* print no note about a rotation */
    const struct stat *output; /* the output, which is not an input; or NULL */
};

/* Find the file to continue in:
 *   continued  the named file is the one that was being read
 *   rotated    that file has another name in the same directory; read it to its end, then the named
 *              file from its start
 * False after a message otherwise: the file is missing, truncated or ambiguous. */
bool resume_find(struct resumed *r, const char *path, const struct state *s, struct trace_hash hash,
                 const struct inputs *inputs, struct resume_rules rules);

#endif
