/* cf.h - the commands CF.*, as clients of RedisBloom know them: sets that lose items again.
 *
 * A chain (chain.h) of cuckoo filters of the library, whose buckets have four places and whose
 * moves are at most 500, whatever BUCKETSIZE and MAXITERATIONS ask for: these are remembered, and
 * told by CF.INFO, as clients expect it. */
#ifndef MODULE_CF_H
#define MODULE_CF_H

#include "chain/chain.h"
#include "value/value.h"

int cf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int cf_add(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int cf_addnx(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int cf_insert(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int cf_insertnx(struct rm_ctx *ctx, struct rm_string **argv, int argc);

/* An item as the filters of a chain hash it, and whether one of them has it. */
struct weir_key cf_hash(const struct chain *c, const struct rm_string *item);
bool cf_has(const struct chain *c, struct weir_key key);

#endif
