/* dealt.h - the keys of a batch, by shard. */
#ifndef WEIR_SHARED_DEALT_H
#define WEIR_SHARED_DEALT_H

#include "shared/shared.h"

#define DEALT_MOST 16384 /* places of keys; half as many keys at a time */

/* Lists of where the keys of each shard are, in their order. Each has the same room. */
struct dealt {
    uint32_t room;
    uint32_t count[WEIR_SHARED_SHARDS_MAX];
    uint16_t at[DEALT_MOST];
    bool located;
    uint64_t slot_refs[DEALT_MOST / 2]; /* of the keys in their order */
};

/* Deal as many keys as there is room for; returns how many. At least one, if there are any. */
size_t deal(struct dealt *d, const struct weir_key *keys, size_t n, const weir_shared *s);

/* Have the keys of a shard answered, of a batch that was dealt from its key `begin` on. The
 * first keys of the shard that is most likely next are fetched ahead; it may be the same. */
void show_dealt(const weir_shared *s, const struct dealt *d, const struct showing *batch,
                size_t begin, uint32_t shard, uint32_t next);

#endif
