/* fixed.h - the filter of sets that never change, where none is named, and how much of its keys
 * stays in memory while it is built. */
#ifndef WEIR_VERDICT_FIXED_H
#define WEIR_VERDICT_FIXED_H

#include <stdint.h>

#define DEFAULT_FOR_FIXED "fuse"
#define SPILL_KEPT ((uint64_t)32 << 20) /* bytes, of all shards */

#endif
