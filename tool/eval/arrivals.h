/* arrivals.h - where the arrivals of an evaluation come from, and what is true of
 * them: files, a synthetic stream, or either kept in memory and shuffled.
 *
 * After reading and preparing, the keys of a batch are in arrivals_keys(), the
 * truth (1: was there before) in answer. */
#ifndef WEIR_EVAL_ARRIVALS_H
#define WEIR_EVAL_ARRIVALS_H

#include "eval/request.h"
#include "pipe/source.h"
#include "verdict/shards.h"
#include "eval/synthetic.h"
#include "eval/truth.h"

struct arrivals {
    const struct request *request;
    const struct shards *hasher;
    struct file_source files;
    bool weighed; /* arrivals have an importance */

    bool synthetic;
    struct stream stream;
    uint64_t left;
    uint64_t *id; /* of a batch, while it is read */

    bool keeping;      /* arrivals are being kept, nobody asks for the truth */
    uint64_t most;     /* keep at most so many, of all arrivals of some keys; 0: all */
    uint32_t halvings; /* kept are those of one key in 2^halvings, */
    bool cut;          /* or those before there were too many */
    struct weir_key *kept;
    uint64_t count, room; /* of kept */
    uint64_t at;          /* next of them */
    uint64_t rng;

    struct truth truth;
};

/* What comes, and how; false after a sentence. */
bool arrivals_open(struct arrivals *s, const struct request *o);
void arrivals_close(struct arrivals *s);

/* Before the first batch: who hashes. False after a sentence. */
bool arrivals_start(struct arrivals *s, const struct shards *hasher);

/* For the pipe. Reading is in order and finds the truth. */
struct source arrivals_source(struct arrivals *s);

const struct weir_key *arrivals_keys(const struct batch *b);
uint32_t arrivals_in_batch(const struct batch *b);

/* The synthetic stream that is shown: of a sample, with as many keys. */
struct weir_stream arrivals_stream(const struct arrivals *s);

/* Arrivals, and their bytes, for the bar; 0 if not known. */
uint64_t arrivals_count(const struct arrivals *s);
uint64_t arrivals_total(const struct arrivals *s);

/* Keep what a batch brought; after the last, shuffle before each order. What is
 * kept and the truth share the limit. */
bool arrivals_keep(struct arrivals *s, const struct batch *b, char failure[512]);
void arrivals_kept(struct arrivals *s);
void arrivals_shuffle(struct arrivals *s);
void arrivals_rewind(struct arrivals *s);

#endif
