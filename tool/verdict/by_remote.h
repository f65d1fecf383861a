/* by_remote.h - verdicts of a filter in servers: see remote/remote.h. */
#ifndef WEIR_VERDICT_BY_REMOTE_H
#define WEIR_VERDICT_BY_REMOTE_H

#include "remote/remote.h"
#include "verdict/verdict.h"

struct remoting {
    struct remote *remote;
    const struct remote_filter *filter;
    bool ask;      /* look up keys, do not insert them */
    bool weighted; /* records have an importance */

    struct trace_hash hash;
    struct remote_batch **under_way; /* by ticket modulo slots */
    uint64_t slots, tickets;
    uint64_t given;  /* batches that were sent */
    uint64_t failed; /* the first batch without replies; UINT64_MAX: none */

    struct remote_settled settled; /* verdicts of the first records, from an earlier run */
    size_t taken;                  /* of these, taken so far, */
    size_t *taken_before;          /* and before each batch in flight */
    uint8_t *skip;                 /* the records of a batch that are not sent */

    const char *path; /* of the state that was saved last, */
    char *note;       /* with this note, */
    uint64_t saved;   /* after this many batches */
};

/* The run has ended: save that nothing is in flight. False after a message. */
bool remoting_end(struct remoting *r);

/* For a run with this number of threads. False after a message. */
bool remoting_open(struct remoting *r, uint32_t threads);
void remoting_close(struct remoting *r);

struct verdict verdict_by_remote(struct remoting *r);

#endif
