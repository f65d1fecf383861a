/* flood.h - warn or stop if most of the last records were dropped. The cause is often boilerplate,
 * or the wrong field. */
#ifndef WEIR_VERDICT_FLOOD_H
#define WEIR_VERDICT_FLOOD_H

#include "cli/option_groups.h"
#include "pipe/batch.h"

#define FLOOD_RECORDS 100000
#define FLOOD_SLOTS 10
#define EXCERPT 64

/* What a dropped record resembles: an earlier record, or a text. */
struct representative {
    uint64_t id;            /* of equal ones; 0: unknown */
    struct weir_bytes text; /* NULL: the id is the number of a record */
};

struct flood {
    bool quiet;
    enum on_full action;
    uint32_t dropped[FLOOD_SLOTS], in_slot, slot;
    uint64_t records;
    uint64_t candidate, votes; /* the majority's representative (Boyer and Moore) */
    char excerpt[EXCERPT];     /* of its text */
    bool reported;
};

/* Count a record of the batch. Prints at most one warning per run, or fails the batch. r: of a
 * record that was dropped. */
void flood_count(struct flood *f, struct batch *b, bool dropped, struct representative r);

#endif
