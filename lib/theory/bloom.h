/* theory/bloom.h - Bloom's filter: m cells, n keys, k hash functions.
 *
 * After n keys a cell is empty with probability e^(-kn/m); a new key finds all
 * of its k cells taken with probability (1 - e^(-kn/m))^k. */
#ifndef WEIR_THEORY_BLOOM_H
#define WEIR_THEORY_BLOOM_H

#include "theory/stream_model.h"

double bloom_error(double cells, double keys, uint64_t k);

/* The error of a filter whose cells are taken to this share. */
double bloom_error_at(double fill, uint64_t k);

/* The k that is best for this many cells and keys: (m/n) ln 2, at least 1. */
uint64_t bloom_best_k(double cells, double keys);

/* The same as Busnel and Gillet 2019 round it: down. */
uint64_t bloom_k_below(uint64_t cells, uint64_t keys);

/* The k that needs the fewest cells per key for this error. */
uint64_t bloom_best_k_for(double error);

/* Keys per cell at which k functions reach this error. */
double bloom_load(double error, uint64_t k);

void bloom_predict(double cells, uint64_t k, const struct stream_model *m, struct prediction *p);

#endif
