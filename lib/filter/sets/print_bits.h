/* print_bits.h - memory, capacity, fpr and bits of sets of fingerprints, any of them given. */
#ifndef WEIR_FILTER_SETS_PRINT_BITS_H
#define WEIR_FILTER_SETS_PRINT_BITS_H

#include "filter/config.h"

/* What a kind of set says of itself. */
struct print_sizes {
    uint64_t (*memory)(uint64_t capacity, uint64_t bits); /* bits that so many keys take */
    double (*error)(uint64_t bits);                       /* when it is full */
};

/* Complete the configuration: capacity and fpr give bits and memory; memory is a limit, with
 * capacity it gives the bits, with fpr or bits the capacity. */
bool print_bits_plan(struct config *c, const struct print_sizes *sizes, struct weir_error *error);

#endif
