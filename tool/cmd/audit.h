/* audit.h - the audit summary of a run (--audit): its inputs, what became of their records, and the
 * errors to expect. A resumed run continues the sums, which are in the state file, and the lists,
 * which are read from the audit file. */
#ifndef WEIR_CMD_AUDIT_H
#define WEIR_CMD_AUDIT_H

#include <jansson.h>

#include "pipe/batch.h"
#include "state/state.h"
#include "verdict/verdict.h"

struct run;
struct reader;

struct audit {
    const char *path; /* NULL: only the sums are kept */
    const struct run *run;
    const struct reader *reader;
    struct state_sums sums;

    json_t *inputs, *resumed; /* arrays */
    uint32_t next_file;       /* the first that has no entry yet */
    json_t *open;             /* the entry of the file that is being read, in `inputs`; or NULL */
    struct audited {          /* that file: */
        const char *name, *path; /* for people, and to open it */
        bool regular;
        uint64_t device, inode, offset, line;
        uint64_t first, records; /* number of its first record; how many it has */
    } file;

    struct error_point point; /* the last measurement, */
    uint64_t measured_at;     /* at this record */
    uint64_t judged_new;      /* records of this run with the verdict new */
    uint64_t before;          /* records of earlier runs */
    double began;
    bool unresumed; /* no batch of the resumed input has arrived yet */
};

/* Begin, or continue after the sums of this state (or NULL). Writes the file once. False after a
 * message. */
bool audit_open(struct audit *a, const struct run *run, const struct reader *reader,
                const struct state *resumed);
void audit_close(struct audit *a);

/* The number of the next record, from 1. */
uint64_t audit_next(const struct audit *a);

/* These records were written: as output, if their verdict is in `passes`, else as rejected. */
void audit_batch(struct audit *a, const struct batch *b, uint8_t passes);

/* Write the file; `status`: running, complete, interrupted or failed. False after a message. */
bool audit_write(struct audit *a, const char *status);

#endif
