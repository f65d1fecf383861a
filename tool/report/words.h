/* words.h - words on entrants that the words and the tables of a report share. */
#ifndef WEIR_REPORT_WORDS_H
#define WEIR_REPORT_WORDS_H

#include "report/report.h"
#include "cli/units.h"

struct shown words_wrong(const struct report *r, uint32_t entrant); /* share of wrong verdicts */
struct shown words_size(const struct report *r, uint32_t memory);   /* of that index: 64 KiB */

/* "-a recent -m 64K": how to ask for it. */
void words_filter(FILE *page, const struct report *r, uint32_t entrant);

#endif
