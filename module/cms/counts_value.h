/* counts_value.h - what a key of CMS.* holds: a count-min sketch of counters of 32 bits.
 *
 * Sketches of one width and depth can be merged whenever they were made, so all have one
 * seed. Keys that are chosen to collide can be found by whoever knows this file: WEIR.* and BF.*
 * have a seed of their own. */
#ifndef MODULE_COUNTS_VALUE_H
#define MODULE_COUNTS_VALUE_H

#include <weir/sketch.h>

#include "value/value.h"

struct counts {
    struct value is;
    weir_sketch *s;
    uint64_t width, depth;
};

#define COUNTS_DEPTH_MOST 32

/* NULL with a message. */
struct counts *counts_open(uint64_t width, uint64_t depth, uint64_t most, struct weir_error *error);

#endif
