/* importance.h - how much an arrival matters -> a class from 1 to M.
 *
 *   none        all alike: of the top class
 *   range       linear over a declared lo-hi; what lies outside is cut off
 *   log         by its logarithm
 *   percentile  by rank among the recent arrivals
 *   capped      linear from 0 to the recent 90th percentile, all above in M
 *
 * Percentile and capped look at a running sample: a sorted list of values, in which
 * from time to time a random one gives way to the newest. It is part of the
 * saved state. */
#ifndef WEIR_SENTENCE_IMPORTANCE_H
#define WEIR_SENTENCE_IMPORTANCE_H

#include "base/text.h"

enum importance_mode {
    IMPORTANCE_NONE,
    IMPORTANCE_LOG,
    IMPORTANCE_PERCENTILE,
    IMPORTANCE_CAPPED,
    IMPORTANCE_RANGE
};

struct importance {
    enum importance_mode mode;
    uint32_t lo, hi; /* of the declared range */
};

#define SAMPLE_SIZE 256 /* a percentile is known to within 3 points (one sigma) */
#define SAMPLE_EVERY 16 /* arrivals per replacement, once the sample is full */

struct sample {
    uint32_t n;
    uint32_t value[SAMPLE_SIZE]; /* ascending */
};

bool importance_read(struct span text, struct importance *out);
void importance_write(struct text *t, const struct importance *imp);
bool importance_samples(const struct importance *imp);

/* The class of a value, 1..top. An empty sample puts everything in the middle
 * class (percentile) or the top one (capped). */
uint32_t importance_class(const struct importance *imp, const struct sample *s, uint32_t value,
                          uint32_t top);

/* Let the sample see one more arrival. */
void sample_take(struct sample *s, uint32_t value, uint64_t arrival, uint64_t seed);
bool sample_valid(const struct sample *s);

#endif
