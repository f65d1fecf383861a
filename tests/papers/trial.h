/* trial.h - screens in the set-up of Busnel and Gillet 2019: streams of records
 * drawn by Zipf's law from a universe, of which a set of keys drawn evenly are
 * the members; what a screen says, beside the truth.
 *
 * Precision and recall are over different keys: one counts as said to be a
 * member if that was said of it at least once. Rates are over arrivals. What is
 * out of nothing is 1 (precision, recall) or 0 (rates). */
#ifndef WEIR_PAPERS_TRIAL_H
#define WEIR_PAPERS_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trial {
    size_t universe, set, records;
    double alpha;
};

/* One stream of it. */
struct draw {
    const struct trial *trial;
    uint64_t seed;
    double *sums;      /* of the law, made once */
    uint32_t *records; /* numbers of keys */
    bool *is_member;   /* of each key */
    size_t members;    /* how many records are */
};

struct draw draw_open(const struct trial *t);
void draw_next(struct draw *d, uint64_t seed);
void draw_close(struct draw *d);

struct outcome {
    double precision, recall, fpr, fnr, calls;
};

/* Show a stream to a new screen, and add what came of it after every so many
 * records (of which the stream has a whole number) to sums. */
void trial_add(const struct draw *d, const char *sentence, size_t every, struct outcome *sums);

/* The means of so many streams, the same ones for every sentence: point i after
 * (i + 1) * every records. */
void trial_means(const struct trial *t, size_t streams, const char *sentence, size_t every,
                 struct outcome *means);

#endif
