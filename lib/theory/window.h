/* theory/window.h - the two filters that keep a window of the latest keys.
 *
 * two-buffer (Yoon 2010): two Bloom filters of m cells side by side, each
 * taking a window of keys; a new key must miss both.
 *
 * apbf (Shtul, Baquero, Almeida 2020): k + l slices of m bits; a key is set in
 * the k youngest, and is seen if any k neighbours have it. After each
 * generation of g keys all slices age by one place. A slice is half full after
 * k generations if m = k g / ln 2; l generations are seen for certain. The
 * published pairs (k, l) keep the error at the start of a generation; a ceiling
 * must hold at its end, which costs one generation: (7, 5) becomes (7, 4). */
#ifndef WEIR_THEORY_WINDOW_H
#define WEIR_THEORY_WINDOW_H

#include "theory/stream_model.h"

#define WINDOW_SLICES 128 /* the most that k + l can be */

double two_buffer_error(double cells, double window, uint64_t k);
/* The same with the fill of each buffer. */
double two_buffer_error_at(const double fill[2], uint64_t k);
/* Keys that one buffer may take so that both together keep under the error. */
double two_buffer_window(double cells, double error, uint64_t k);
uint64_t two_buffer_best_k(double error);
/* Distinct keys shown until a buffer has taken its window: those that it takes for
 * seen it does not take. */
double two_buffer_shown(double cells, double window, uint64_t k);

/* The error with the fill of each slice, youngest first. */
double apbf_error_at(const double *fill, uint64_t k, uint64_t l);
/* The same at the end of a generation of g keys in slices of this many bits. */
double apbf_error(double slice_bits, double generation, uint64_t k, uint64_t l);
/* The same with slices that are half full by then. */
double apbf_error_half_full(uint64_t k, uint64_t l);
/* The most generations that k functions keep under the error with slices half
 * full, and the fewest functions that l generations need; 0 if none. */
uint64_t apbf_most_slices(double error, uint64_t k, uint64_t limit);
uint64_t apbf_least_k(double error, uint64_t l, uint64_t limit);
/* The k and l for an error: the fewest bits per key of the window within a
 * twentieth, at the lowest k that gives it. 0 if none reaches the error. */
uint64_t apbf_choose(double error, uint64_t k_limit, uint64_t l_limit, uint64_t *l);
/* Keys per generation at which slices of this many bits are half full. */
double apbf_generation(double slice_bits, uint64_t k);

struct two_buffer {
    double cells, window;
    uint64_t k;
};

struct apbf {
    double bits; /* of a slice */
    double generation;
    uint64_t k, slices;
};

void two_buffer_predict(const struct two_buffer *f, const struct stream_model *m,
                        struct prediction *p);
void apbf_predict(const struct apbf *f, const struct stream_model *m, struct prediction *p);

#endif
