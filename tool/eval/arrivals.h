/* arrivals.h - where the arrivals of an evaluation come from, and what is true of
 * them: files, a synthetic stream, or either kept in memory and shuffled.
 *
 * After reading and preparing, the keys of a batch are in arrivals_keys(), the
 * truth (1: was there before) in answer. */
#ifndef WEIR_EVAL_ARRIVALS_H
#define WEIR_EVAL_ARRIVALS_H

#include "eval/request.h"
#include "eval/kept.h"
#include "eval/request.h"
#include "eval/synthetic.h"
#include "pipe/source.h"
#include "verdict/shards.h"

struct arrivals {
    const struct request *request;
    const struct shards *hasher;
    struct file_source files;
    bool weighed; /* arrivals have an importance */

    bool synthetic;
    struct stream stream;
    uint64_t left;
    uint64_t *id; /* of a batch, while it is read */

    bool keeping; /* arrivals are being kept, nobody asks for the truth */
    struct kept kept;
    struct truth truth;
};

/* What comes, and how; false after a sentence. */
bool arrivals_open(struct arrivals *a, const struct request *o);
void arrivals_close(struct arrivals *a);

/* Before the first batch: who hashes. False after a sentence. */
bool arrivals_start(struct arrivals *a, const struct shards *hasher);

/* For the pipe. Reading is in order and finds the truth. */
struct source arrivals_source(struct arrivals *a);

const struct weir_key *arrivals_keys(const struct batch *b);
uint32_t arrivals_in_batch(const struct batch *b);

/* The synthetic stream that is shown: of a sample, with as many keys. */
struct weir_stream arrivals_stream(const struct arrivals *a);

/* Arrivals, and their bytes, for the bar; 0 if not known. */
uint64_t arrivals_count(const struct arrivals *a);
uint32_t arrivals_showings(const struct arrivals *a); /* of one order */
uint64_t arrivals_total(const struct arrivals *a);

/* Keep what a batch brought; that was all; show it (again) from the first. */
bool arrivals_keep(struct arrivals *a, struct batch *b);
void arrivals_end_keeping(struct arrivals *a);
void arrivals_rewind(struct arrivals *a, uint32_t showing);

#endif
