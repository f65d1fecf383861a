/* screens.h - screens before a store, side by side on one stream: which answers each gets
 * wrong, and how often it asks. The store is asked for every key, so that truth is exact. */
#ifndef WEIR_EVAL_SCREENS_H
#define WEIR_EVAL_SCREENS_H

#include "cli/table.h"
#include "eval/arrivals.h"
#include "verdict/by_screen.h"

#define SCREENS_MAX 64

/* What is true of the records, and what a screen said. */
struct screen_row {
    char name[32], settings[WEIR_SPEC_MAX];
    uint64_t memory; /* bytes of cells */
    uint64_t n, members;
    uint64_t right, wrong; /* of those said to be members */
    double precision, recall, fpr, fnr;
    uint64_t calls; /* records for which the store was needed, and their share of all */
    double share;
};

struct screens {
    const struct eval_request *request;
    struct arrivals arrivals;
    struct asker *asker;
    weir_screen *none; /* asks for every key: the truth */
    struct screening screening[SCREENS_MAX];
    struct screen_row row[SCREENS_MAX];
    uint32_t count;
    struct screened_batch *batch; /* the one under way */
    struct tally tally;           /* seen: members */
};

/* Those of --screen (or all that hold anything) with every memory of -m. False after a
 * message. */
bool screens_open(struct screens *s, const struct eval_request *o);
bool screens_run(struct screens *s);
void screens_close(struct screens *s);

struct table screens_table(const struct screens *s);

/* On standard error, as --stats asks. */
void screens_report(const struct screens *s);

#endif
