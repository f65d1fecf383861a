/* half_life.h - counts that fade: half-life=.
 *
 * An amount weighs half as much one half-life later, a quarter after two. Instead of lowering all
 * counts continuously, new amounts become heavier (forward decay: Cormode et al. 2009). Counts are
 * stored in units. A record adds `weight` units, and a count is reported as its units divided by
 * the current weight. The weight doubles in 256 steps, from 2^16 to 2^28. Then all units are
 * divided by 2^12, in one pass over the memory every twelve half-lives.
 *
 * Everything is computed in integers: the same stream gives the same bytes on every machine. A
 * record of age a counts 2^-a, up to the size of a step (0.3 %) and of a unit (one part in 65536).
 * The age is measured in records, or in the time that the caller sets. */
#ifndef WEIR_SKETCH_HALF_LIFE_H
#define WEIR_SKETCH_HALF_LIFE_H

#include "sketch/sketch.h"

#define FADE_WORDS 4 /* words in the head of a part */

static inline bool fades(const weir_sketch *s)
{
    return s->config.half_life.length > 0;
}

/* Reset to the state of a new sketch. */
void fade_begin(weir_sketch *s);

/* Advance by up to n records that have the same weight. Returns their number. */
size_t fade_records(weir_sketch *s, size_t n);

/* Set the current time. */
void fade_advance(weir_sketch *s, uint64_t now);

/* Advance to the times of up to n records that have the same weight. Returns their number. */
size_t fade_times(weir_sketch *s, const uint64_t *times, size_t n);

/* Units * 2^(steps / 256), rounded down or up; saturates. */
uint64_t fade_scale(uint64_t units, int64_t steps, bool up);

/* Scale all counts of a sketch. */
void fade_all(weir_sketch *s, int64_t steps);

/* The steps by which the units of one sketch are scaled so that they can be added to another.
 * `into` must have advanced at least as far in time. */
int64_t fade_between(const weir_sketch *from, const weir_sketch *into);

/* Convert units to reported counts. */
uint64_t fade_count(const weir_sketch *s, uint64_t units);
struct weir_estimate fade_estimate(const weir_sketch *s, struct weir_estimate units);

void fade_put(const weir_sketch *s, struct part_head *h);
bool fade_get(weir_sketch *s,
              const uint64_t word[FADE_WORDS]); /* returns false if the state is impossible */

#endif
