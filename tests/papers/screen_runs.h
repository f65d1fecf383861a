/* screen_runs.h - screens in the set-up of Busnel and Gillet 2019: streams of records
 * drawn by Zipf's law from a universe, of which a set of keys drawn evenly are
 * the members; what a screen says, beside the truth.
 *
 * Precision and recall are over different keys: one counts as said to be a
 * member if that was said of it at least once. Rates are over arrivals. What is
 * out of nothing is 1 (precision, recall) or 0 (rates). */
#ifndef WEIR_TESTS_PAPERS_SCREEN_RUNS_H
#define WEIR_TESTS_PAPERS_SCREEN_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir.h>

struct screen_run {
    size_t universe, set, records;
    double alpha;
};

/* A stream, and the truth. */
struct draw {
    size_t universe, n;
    struct weir_bytes *names; /* of each key; the byte before one is 1 if it is a member */
    uint32_t *records;        /* numbers of keys */
    uint8_t *arena;           /* where the names lie */
};

static inline bool is_member(const struct draw *d, uint32_t key)
{
    return ((const uint8_t *)d->names[key].data)[-1];
}

void draw_close(struct draw *d);

/* A real one: the keys of FOLDER/QUERY.tsv.xz (up to the tab) in order, and the
 * set of keys in FOLDER/SET.txt.xz. False if they cannot be read. */
bool pair_open(struct draw *d, const char *folder, const char *query, const char *set);

struct outcome {
    double precision, recall, fpr, fnr, calls;
};

/* Show a stream to a new screen, and add what came of it to sums, one for every
 * so many records (of which the stream has a whole number). A spec that begins
 * with "literal" opens literal_pairs.h. */
void screen_run_add(const struct draw *d, const char *spec, size_t every, struct outcome *sums);

/* The means of so many streams, the same ones for every spec: point i after
 * (i + 1) * every records. */
void screen_run_means(const struct screen_run *t, size_t streams, const char *spec, size_t every,
                      struct outcome *means);

#endif
