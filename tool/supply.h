/* supply.h - where the arrivals of an evaluation come from, and what is true of
 * them: files, a synthetic stream, or either kept in memory and shuffled.
 *
 * After reading and preparing, the keys of a batch are in supply_keys(), the
 * truth (1: was there before) in answer. */
#ifndef WEIR_SUPPLY_H
#define WEIR_SUPPLY_H

#include "pick.h"
#include "read.h"
#include "shards.h"
#include "stream.h"
#include "truth.h"

struct supply {
    const struct options *options;
    const struct shards *hasher;
    struct reader reader;
    struct picker picker;
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
bool supply_open(struct supply *s, const struct options *o);
void supply_close(struct supply *s);

/* Before the first batch: who hashes. False after a sentence. */
bool supply_start(struct supply *s, const struct shards *hasher);

/* As the crew wants them. Reading is in order and finds the truth. */
enum read_result supply_read(struct supply *s, struct batch *b);
void supply_prepare(struct supply *s, struct batch *b);

const struct weir_key *supply_keys(const struct batch *b);
uint32_t supply_count(const struct batch *b);

/* The synthetic stream that is shown: of a sample, with as many keys. */
struct weir_stream supply_stream(const struct supply *s);

/* Arrivals, and their bytes, for the bar; 0 if not known. */
uint64_t supply_arrivals(const struct supply *s);
uint64_t supply_total(const struct supply *s);

/* Keep what a batch brought; after the last, shuffle before each order. What is
 * kept and the truth share the limit. */
bool supply_keep(struct supply *s, const struct batch *b, char failure[512]);
void supply_kept(struct supply *s);
void supply_shuffle(struct supply *s);
void supply_rewind(struct supply *s);

#endif
