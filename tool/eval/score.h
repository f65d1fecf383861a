/* score.h - counts of records and errors, and their rates. */
#ifndef WEIR_EVAL_SCORE_H
#define WEIR_EVAL_SCORE_H

#include <weir.h>

enum { NEW = 0, OLD = 1 }; /* by the baseline: index of the columns below */

/* Errors of new arrivals are false positives, of old ones false negatives. */
struct score {
    uint64_t n[2], wrong[2];
    uint64_t weight[2], wrong_weight[2]; /* each arrival counted as its importance */
};

void score_count(struct score *s, const struct weir_key *key, const uint8_t *truth,
                 const uint8_t *answer, size_t n);

/* The same, for each class of importance. */
#define CLASSES 12288
void score_count_classes(struct score class[CLASSES], const struct weir_key *key,
                         const uint8_t *truth, const uint8_t *answer, size_t n);

/* The lowest importance of a class. Below 1024 each value has its own; above, classes are 1/512 to
 * 1/1024 of their values wide. */
uint64_t class_low(uint32_t class);

void score_add(struct score *to, const struct score *s);
struct score score_less(const struct score *a, const struct score *b);

/* Fractions; NaN if there were no such arrivals. */
double score_rate(const struct score *s, int truly);
double score_weighted(const struct score *s, int truly);
double score_weighted_all(const struct score *s, int truly); /* of the weight of all arrivals */

#endif
