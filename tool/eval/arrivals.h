/* arrivals.h - the source of an evaluation: files, a synthetic stream, or what of
 * either was kept in memory (replay.h). */
#ifndef WEIR_EVAL_ARRIVALS_H
#define WEIR_EVAL_ARRIVALS_H

#include "eval/replay.h"
#include "eval/request.h"
#include "eval/synthetic.h"
#include "pipe/source.h"

struct arrivals {
    const struct eval_request *request;
    bool weighed; /* arrivals have an importance */
    struct file_source files;

    bool synthetic; /* no files: */
    struct stream stream;
    uint64_t left; /* of it */

    struct replay replay;
    bool replayed; /* they come from there */
};

/* What comes, and how; false after a message. */
bool arrivals_open(struct arrivals *a, const struct eval_request *o);
void arrivals_close(struct arrivals *a);

/* For the pipe. What is replayed has been hashed before. */
struct source arrivals_source(struct arrivals *a);
struct event_clock *arrivals_clock(struct arrivals *a); /* NULL: they have no time */

/* Of a batch of a synthetic stream: which keys they are. */
const uint64_t *arrivals_ids(const struct batch *b);

/* The synthetic stream that is shown: of a sample, with as many keys. */
struct weir_stream arrivals_stream(const struct arrivals *a);

/* Arrivals, how often they are shown, and all their bytes, for the bar; 0 if not
 * known. */
uint64_t arrivals_count(const struct arrivals *a);
uint32_t arrivals_showings(const struct arrivals *a); /* of one order */
uint64_t arrivals_total(const struct arrivals *a);

#endif
