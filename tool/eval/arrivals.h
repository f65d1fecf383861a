/* arrivals.h - the source of an evaluation: files, a synthetic stream, or records of either kept in
 * memory (replay.h). */
#ifndef WEIR_EVAL_ARRIVALS_H
#define WEIR_EVAL_ARRIVALS_H

#include "eval/replay.h"
#include "cli/options.h"
#include "eval/synthetic.h"
#include "pipe/source.h"

struct arrivals {
    const struct options *request;
    bool weighed; /* arrivals have an importance */
    struct file_source files;

    bool synthetic; /* not files */
    struct stream stream;
    uint64_t left; /* arrivals of it */

    struct replay replay;
    bool replayed;   /* the source is `replay` */
    uint32_t passes; /* over the stream */
};

/* Open the source. False after a message. */
bool arrivals_open(struct arrivals *a, const struct options *o);
void arrivals_close(struct arrivals *a);

/* For the pipe. Replayed keys are hashed already. */
struct source arrivals_source(struct arrivals *a);
struct event_clock *arrivals_clock(struct arrivals *a); /* NULL: no event time */

/* The key numbers in a batch of a synthetic stream. */
const uint64_t *arrivals_ids(const struct batch *b);

/* The synthetic stream; of a sample, with as many keys as it has. */
struct weir_stream arrivals_stream(const struct arrivals *a);

uint64_t arrivals_count(const struct arrivals *a); /* 0 if not known */

/* Begin the progress bar, with the bytes of all passes. */
void arrivals_progress(const struct arrivals *a, struct progress *p);

#endif
