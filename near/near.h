/* near.h - near-duplicate texts of an endless stream, in bounded memory.
 *
 * Two texts are near-duplicates if the Jaccard similarity of their shingles reaches a threshold.
 * A shingle is a run of `shingle` consecutive words. Each text becomes a sketch of fixed size.
 * The newest sketches of texts that were new are kept in a ring; the oldest is evicted.
 * docs/near.md explains the method and its errors.
 *
 *     struct near *n = near_open(&(struct near_options){.threshold = 0.8, .memory = 64 << 20});
 *     struct near_sketch s;
 *     near_sketch(n, text, size, &s);
 *     bool duplicate = near_observe(n, &s, number, &match);
 *
 * Threads: near_sketch() any number at once; the other calls one at a time. */
#ifndef WEIR_NEAR_NEAR_H
#define WEIR_NEAR_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir.h>

#define NEAR_BINS 256
#define NEAR_BANDS 12
#define NEAR_SHINGLE 5 /* default */
#define NEAR_SHINGLE_MAX 16
#define NEAR_THRESHOLD_MIN 0.5 /* below, nearly every text becomes a candidate */
#define NEAR_THRESHOLD_MAX 0.99
#define NEAR_MEMORY_MIN (64 << 10)
#define NEAR_MEMORY_MAX (UINT64_C(128) << 30)

struct near;

struct near_options {
    double threshold;
    uint32_t shingle; /* words; 0: NEAR_SHINGLE */
    uint64_t memory;  /* bytes */
    uint64_t seed;
};

struct near_sketch {
    uint64_t bits[NEAR_BINS / 32]; /* two bits per bin */
    uint64_t band[NEAR_BANDS];     /* hashes of groups of bins */
};

struct near_match {
    uint64_t record; /* number of the most similar text; 0: none was similar in any band */
    double jaccard;  /* estimate */
    uint32_t bands;  /* that agree */
};

/* Returns NULL if an option is out of range or memory runs out. */
struct near *near_open(const struct near_options *options);
void near_close(struct near *n);

/* Cost: time in proportion to the text, 130 KiB of stack. */
void near_sketch(const struct near *n, const void *text, size_t size, struct near_sketch *out);

/* Is a remembered text similar? If so, that one stays remembered; otherwise this one is
 * remembered. number: of the record, from 1; the match reports it. match may be NULL. */
bool near_observe(struct near *n, const struct near_sketch *s, uint64_t number,
                  struct near_match *match);

/* Set the number of records read, including those without a text; see near_figures(). */
void near_count(struct near *n, uint64_t records);

/* Estimate the Jaccard similarity of two texts; its standard error for a true value. */
double near_jaccard(const struct near_sketch *a, const struct near_sketch *b);
double near_error(double jaccard);

struct near_figures {
    struct near_options options;
    uint64_t texts;    /* remembered now */
    uint64_t capacity; /* texts that fit into memory */
    uint64_t evicted;
    uint64_t records; /* see near_count() */
    uint64_t dropped; /* near-duplicates */
    uint64_t unsure;  /* of them: within one standard error of the threshold */
};
struct near_figures near_figures(const struct near *n);

/* Write everything as parts of the file format. Errors: those of the sink. */
enum weir_status near_save(const struct near *n, weir_sink sink, void *into);

/* Load what near_save() wrote. Returns NULL if data is damaged, from a machine of another byte
 * order, or memory runs out. */
struct near *near_load(const uint8_t *data, size_t size);

#endif
