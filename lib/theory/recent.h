/* theory/recent.h - the filter recent: lines of slots that hold fingerprints.
 *
 * A fingerprint's first byte is one of 255, so one of w bits is one of
 * V = 255 * 2^(w-8). A line never holds two equal ones: a new key that meets n of
 * them is taken for seen with probability n / V.
 *
 * On a stream the keys of a line are Poisson: D(a) / lines of them on average
 * come within a arrivals (theory/stream_model.h). A line that has met d keys has
 * V (1 - (1 - 1/V)^d) fingerprints, at the first width at which that many have
 * room. A key is missed after a gap if at least as many other fingerprints as the
 * line has slots came in between, each by chance 1 - exp(-D(gap) / (lines V)) of
 * its own; and if none of those was its own. */
#ifndef WEIR_THEORY_RECENT_H
#define WEIR_THEORY_RECENT_H

#include "theory/stream_model.h"

/* The error of a line with n slots of w bits in use. */
double slots_error(uint32_t width, uint32_t n);

/* The most slots of w bits, up to `room`, that keep under an error. */
uint32_t slots_most(double error, uint32_t width, uint32_t room);

/* Lines with so few keys on average that one of `keys` keys later than it pushes a key
 * out of its line no more often than once in a thousand. */
double slots_lines(double keys, uint32_t slots);

#define SLOTS_WIDTHS 16

/* Lines that start at the first width and end at the last. */
struct slots {
    double lines;
    double window; /* of arrivals that are kept; INFINITY: all that have room */
    uint32_t widths;
    uint32_t width[SLOTS_WIDTHS], room[SLOTS_WIDTHS]; /* bits of a slot, slots */
};

void slots_predict(const struct slots *f, const struct stream_model *m, struct prediction *p);

#endif
