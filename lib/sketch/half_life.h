/* half_life.h - counts that fade: half-life=.
 *
 * What was added weighs half as much a half-life later, a quarter after two.
 * Instead of lowering all counts all the time, what is added gets heavier
 * (forward decay: Cormode et al. 2009): counts are kept in units, a record of now
 * adds `weight` of them, and a count is told as its units over the weight of now.
 * The weight doubles in 256 steps, from 2^16 to 2^28; then all units are divided
 * by 2^12, in one pass over the memory every twelve half-lives.
 *
 * All is done in whole numbers: same stream, same bytes, on every machine. What
 * a record counts is 2^-a exactly, but for the steps (0.3 %) and the units (one
 * part in 65536). Age a is told in records, or in the caller's time. */
#ifndef WEIR_SKETCH_HALF_LIFE_H
#define WEIR_SKETCH_HALF_LIFE_H

#include "sketch/sketch.h"

#define FADE_WORDS 4 /* saved in the head */

static inline bool fades(const weir_sketch *s)
{
    return s->config.half_life.length > 0;
}

/* As just opened. */
void fade_begin(weir_sketch *s);

/* How many of the next n records weigh the same; they are taken as come. */
size_t fade_records(weir_sketch *s, size_t n);

/* The time is now. */
void fade_advance(weir_sketch *s, uint64_t now);

/* The times are those of the next n records: how many of these weigh the same; the time
 * is that of the last one then. */
size_t fade_times(weir_sketch *s, const uint64_t *times, size_t n);

/* Units times 2^(steps / 256), rounded down or up; stops at the most. */
uint64_t fade_scale(uint64_t units, int64_t steps, bool up);

/* All that has been counted. */
void fade_all(weir_sketch *s, int64_t steps);

/* By how many steps the units of one sketch are to be scaled to be added to
 * another, which is as old or older in its own time. */
int64_t fade_between(const weir_sketch *from, const weir_sketch *into);

/* From units to what is told. */
uint64_t fade_tell(const weir_sketch *s, uint64_t units);
struct weir_estimate fade_tell_estimate(const weir_sketch *s, struct weir_estimate units);

void fade_put(const weir_sketch *s, struct part_head *h);
bool fade_get(weir_sketch *s, const uint64_t word[FADE_WORDS]); /* false: it cannot be */

#endif
