/* story.h - words on rivals that the story and the tables of a report share. */
#ifndef WEIR_STORY_H
#define WEIR_STORY_H

#include "report.h"
#include "units.h"

struct shown story_wrong(const struct report *r, uint32_t rival); /* share of wrong verdicts */
struct shown story_size(const struct report *r, uint32_t memory); /* of that index: 64 KiB */

/* "-a weir -m 64K": how to ask for it. */
void story_filter(FILE *page, const struct report *r, uint32_t rival);

#endif
