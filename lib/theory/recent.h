/* theory/recent.h - filter recent: lines of slots that hold fingerprints.
 *
 * A fingerprint of w bits has V = 255 * 2^(w-8) values, because its first byte is never 0. The
 * fingerprints of a line are distinct, so a new key that is compared with n of them is a false
 * positive with probability n / V.
 *
 * Fill. The number of keys per line is Poisson with mean D(a) / lines after a arrivals
 * (stream_model.h). A line that received d keys holds V (1 - (1 - 1/V)^d) fingerprints, at the
 * widest width whose slots hold that many.
 *
 * False negatives. A key is missed after a gap if at least as many other fingerprints as the line
 * has slots were inserted since, each of the V values with probability 1 - exp(-D(gap) / (lines
 * V)), and none of them equals the key's own. */
#ifndef WEIR_THEORY_RECENT_H
#define WEIR_THEORY_RECENT_H

#include "theory/stream_model.h"

/* The false-positive rate of a line with n slots of `width` bits in use. */
double slots_error(uint32_t width, uint32_t n);

/* The largest number of slots, up to `room`, that keeps within an error. */
uint32_t slots_max(double error, uint32_t width, uint32_t room);

/* The mean number of keys per line at which a line has no empty slot with probability 0.001. */
double slots_load(uint32_t slots);

/* The number of lines at which a key is evicted from its line by the next `keys` keys with
 * probability below 0.001. */
double slots_lines(double keys, uint32_t slots);

#define SLOTS_WIDTHS 16

/* A filter whose lines narrow from the first width to the last. */
struct slots {
    double lines;
    double window; /* in arrivals; INFINITY: none */
    uint32_t widths;
    uint32_t width[SLOTS_WIDTHS], room[SLOTS_WIDTHS]; /* bits per slot, slots per line */
};

void slots_predict(const struct slots *f, const struct stream_model *m, struct prediction *p);

#endif
