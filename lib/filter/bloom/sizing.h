/* sizing.h - memory, capacity, fpr and k of Bloom's kind, any of them given. */
#ifndef WEIR_FILTER_BLOOM_SIZING_H
#define WEIR_FILTER_BLOOM_SIZING_H

#include "filter/config.h"

/* Complete the configuration for cells of this width: capacity and fpr give the
 * memory, memory and capacity the k, memory and fpr the capacity. */
bool size_by_capacity(struct config *c, uint64_t width, struct weir_error *error);

#endif
