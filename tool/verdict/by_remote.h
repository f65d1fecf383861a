/* by_remote.h - verdicts of a filter that lives in servers: see remote/remote.h. */
#ifndef WEIR_VERDICT_BY_REMOTE_H
#define WEIR_VERDICT_BY_REMOTE_H

#include "remote/remote.h"
#include "verdict/verdict.h"

struct remoting {
    struct remote *remote;
    const struct remote_filter *filter;
    bool ask;      /* keys are asked for, not shown */
    bool weighted; /* records have an importance */

    struct trace_hash hash;
    struct remote_batch **under_way; /* by ticket, as many as slots */
    uint64_t slots, tickets;
    uint64_t given;  /* batches that were sent */
    uint64_t failed; /* the first of them that got no answers; UINT64_MAX: none */

    struct remote_settled settled; /* verdicts of the first records, from a run before */
    size_t taken;                  /* so many of them, */
    size_t *taken_before;          /* and before each batch that is under way */
    uint8_t *skip;                 /* records that are not sent, of a batch */

    const char *path; /* where it was saved last, */
    char *note;       /* with this note, */
    uint64_t saved;   /* after so many batches; or NULL */
};

/* The run is at its end, and what was saved last is all there is. False after a message. */
bool remoting_end(struct remoting *r);

/* For a run of so many threads. False after a message. */
bool remoting_open(struct remoting *r, uint32_t threads);
void remoting_close(struct remoting *r);

struct verdict verdict_by_remote(struct remoting *r);

#endif
