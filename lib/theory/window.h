/* theory/window.h - the filters two-buffer and apbf, which hold a window of the latest keys.
 *
 * two-buffer (yoon2010): two Bloom filters of m cells. Each receives one window of keys. A key is
 * new if neither contains it.
 *
 * apbf (shtul2020): k + l slices of m bits. A key is inserted into the k youngest slices, and is
 * seen if any k adjacent slices contain it. After each generation of g keys all slices age by one
 * place. A slice is half full after k generations if m = k g / ln 2. Keys of the latest l
 * generations are always seen. The published pairs (k, l) keep a maximum error at the start of a
 * generation. Here it must hold at the end too, which costs one generation: (7, 5) becomes (7, 4).
 */
#ifndef WEIR_THEORY_WINDOW_H
#define WEIR_THEORY_WINDOW_H

#include "theory/stream_model.h"

#define WINDOW_SLICES 128 /* maximum of k + l */

/* The error with both buffers full, and for the fill of each buffer. */
double two_buffer_error(double cells, double window, uint64_t k);
double two_buffer_error_at(const double fill[2], uint64_t k);
/* Keys per buffer at which both together reach an error, and the k that allows the most. */
double two_buffer_window(double cells, double error, uint64_t k);
uint64_t two_buffer_best_k(double error);
/* Distinct keys that arrive until a buffer is full. False positives are not inserted. */
double two_buffer_period(double cells, double window, uint64_t k);

/* The error for the fill of each slice, youngest first; at the end of a generation; and at the end
 * of a generation that leaves slices half full. */
double apbf_error_at(const double *fill, uint64_t k, uint64_t l);
double apbf_error(double slice_bits, double generation, uint64_t k, uint64_t l);
double apbf_error_half_full(uint64_t k, uint64_t l);
/* With slices half full: the most generations l that k functions keep within an error, and the
 * fewest functions for l generations. 0: none. */
uint64_t apbf_max_slices(double error, uint64_t k, uint64_t limit);
uint64_t apbf_min_k(double error, uint64_t l, uint64_t limit);
/* Choose k and l for an error: the lowest k whose bits per key are within 5 % of the minimum. 0:
 * none. */
uint64_t apbf_choose(double error, uint64_t k_limit, uint64_t l_limit, uint64_t *l);
/* Keys per generation at which slices of this size are half full. */
double apbf_generation(double slice_bits, uint64_t k);

struct two_buffer {
    double cells, window;
    uint64_t k;
};

struct apbf {
    double bits; /* per slice */
    double generation;
    uint64_t k, slices;
};

void two_buffer_predict(const struct two_buffer *f, const struct stream_model *m,
                        struct prediction *p);
void apbf_predict(const struct apbf *f, const struct stream_model *m, struct prediction *p);

#endif
