/* screens.h - measure screens in front of a store on one stream: errors and lookups. The store is
 * asked for every key, so the baseline is exact. */
#ifndef WEIR_EVAL_SCREENS_H
#define WEIR_EVAL_SCREENS_H

#include "cli/table.h"
#include "eval/arrivals.h"
#include "verdict/ask_store.h"

#define SCREENS_MAX 64

/* A screen's figures. */
struct screen_row {
    char name[64], settings[WEIR_SPEC_MAX];
    uint64_t memory; /* bytes of cells */
    uint64_t n, members;
    uint64_t right, wrong; /* of those reported as members */
    double precision, recall, fpr, fnr;
    uint64_t calls; /* records that needed the store; their share */
    double share;
};

struct screens {
    const struct options *request;
    struct arrivals arrivals;
    struct asker *asker;
    weir_screen *none; /* asks for every key: the baseline */
    struct screening screening[SCREENS_MAX];
    struct screen_row row[SCREENS_MAX];
    uint32_t count;
    struct screened_batch *batch; /* in progress */
    struct tally tally;           /* seen: members */
};

/* Open those of --screen (default: all that store keys) with every memory of -m. False after a
 * message. */
bool screens_open(struct screens *s, const struct options *o);
bool screens_run(struct screens *s);
void screens_close(struct screens *s);

struct table screens_table(const struct screens *s);

/* Print on standard error, if --stats is given. */
void screens_report(const struct screens *s);

#endif
