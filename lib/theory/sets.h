/* theory/sets.h - sets of fingerprints: the chance that a stranger's is there. */
#ifndef WEIR_THEORY_SETS_H
#define WEIR_THEORY_SETS_H

#include "theory/stream_model.h"

/* Of a fuse filter, by the bits of its fingerprints. */
double fuse_error(uint64_t bits);

/* Of the keys of a stream, all of them there from the first arrival on; false if they are more than
 * it is for. */
bool fuse_predict(uint64_t bits, double capacity, double places, const struct stream_model *m,
                  struct prediction *p);

/* Of a cuckoo filter with buckets of four, this share of the slots in use. */
double cuckoo_error(uint64_t bits, double load);

/* Every arrival takes a slot, a repeat too; false if they are more than it is for. */
bool cuckoo_predict(uint64_t bits, double capacity, double slots, const struct stream_model *m,
                    struct prediction *p);

#endif
