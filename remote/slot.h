/* slot.h - where a key belongs in a cluster. */
#ifndef WEIR_REMOTE_SLOT_H
#define WEIR_REMOTE_SLOT_H

#include <stddef.h>
#include <stdint.h>

#define SLOTS 16384

/* The slot of a key: of what stands between its first { and the next }, if that is not
 * empty, else of all of it. */
uint32_t slot_of(const char *key, size_t size);

#endif
