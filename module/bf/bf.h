/* bf.h - the commands BF.*, as clients of RedisBloom and valkey-bloom know them. */
#ifndef MODULE_BF_H
#define MODULE_BF_H

#include "chain/chain.h"
#include "value/value.h"

/* What a filter is made with that is not reserved before. */
#define BF_ERROR 0.01
#define BF_CAPACITY 100
#define BF_EXPANSION 2

int bf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int bf_insert(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int bf_info(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int bf_debug(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int bf_card(struct rm_ctx *ctx, struct rm_string **argv, int argc);

/* Make the filter of a key that has none, and tell the replicas how, with its seed. NULL after an
 * error reply. */
struct chain *bf_create(struct rm_ctx *ctx, struct rm_string *name, struct opened *o,
                        const struct chain_wish *wish);

/* Add n items to a filter and answer an array of them, which ends at the first that
 * cannot be. Returns how many were. */
size_t bf_add_items(struct rm_ctx *ctx, struct chain *c, struct rm_string **items, size_t n);

/* An error reply, in the words of the dialect that is set; `text` is RedisBloom's. */
int bf_refuse(struct rm_ctx *ctx, const char *text);

extern const struct chain_wish bf_default;

#endif
