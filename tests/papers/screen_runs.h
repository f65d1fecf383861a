/* screen_runs.h - screens in the set-up of Busnel and Gillet 2019: Zipf streams of records, of
 * whose keys a random set are members; the screen's answers are compared with the set.
 *
 * Precision and recall are over distinct keys: a key counts as reported if it was at least once.
 * Rates are over records. A ratio of zero to zero is 1 (precision, recall) or 0 (rates). */
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

/* A stream and its set. */
struct draw {
    size_t universe, n;
    struct weir_bytes *names; /* name of each key; the byte before it is 1 if the key is a member */
    uint32_t *records;        /* key numbers */
    uint8_t *arena;           /* memory of the names */
};

static inline bool is_member(const struct draw *d, uint32_t key)
{
    return ((const uint8_t *)d->names[key].data)[-1];
}

void draw_close(struct draw *d);

/* Read a real stream: the keys of DIRECTORY/QUERY.tsv.xz (up to the tab) in order, and the set of
 * keys in DIRECTORY/SET.txt.xz. Returns false if they cannot be read. */
bool pair_open(struct draw *d, const char *folder, const char *query, const char *set);

struct outcome {
    double precision, recall, fpr, fnr, calls;
};

/* Run a stream through a new screen, and add the results to sums, one entry per `every` records (a
 * divisor of the number of records). A spec that begins with "literal" uses literal_pairs.h. */
void screen_run_add(const struct draw *d, const char *spec, size_t every, struct outcome *sums);

/* The means of n streams, which are the same for every spec; point i is after (i + 1) * every
 * records. */
void screen_run_means(const struct screen_run *t, size_t streams, const char *spec, size_t every,
                      struct outcome *means);

#endif
