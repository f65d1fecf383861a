/* cf.h - the commands CF.* of RedisBloom: sets from which items can be removed.
 *
 * A chain (chain.h) of cuckoo filters of the library. These have buckets of four slots and at most
 * 500 moves. BUCKETSIZE and MAXITERATIONS are stored and reported by CF.INFO, but not used. */
#ifndef MODULE_CF_H
#define MODULE_CF_H

#include "chain/chain.h"
#include "value/value.h"

int cf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int cf_add(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int cf_addnx(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int cf_insert(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int cf_insertnx(struct rm_ctx *ctx, struct rm_string **argv, int argc);

/* Hash an item for a chain; look it up. */
struct weir_key cf_hash(const struct chain *c, const struct rm_string *item);
bool cf_has(const struct chain *c, struct weir_key key);

#endif
