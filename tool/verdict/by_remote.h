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
};

/* For a run of so many threads. False after a sentence. */
bool remoting_open(struct remoting *r, uint32_t threads);
void remoting_close(struct remoting *r);

struct verdict verdict_by_remote(struct remoting *r);

#endif
