/* bf.h - the commands BF.*, as clients of RedisBloom and valkey-bloom know them. */
#ifndef MODULE_BF_H
#define MODULE_BF_H

#include "chain/chain.h"
#include "value/value.h"

int bf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int bf_insert(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int bf_info(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int bf_debug(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int bf_card(struct rm_ctx *ctx, struct rm_string **argv, int argc);

/* Create the filter of a missing key, and replicate its parameters and seed. NULL after an error
 * reply. */
struct chain *bf_create(struct rm_ctx *ctx, struct rm_string *name, struct opened *o,
                        const struct chain_request *request);

/* The parameters of a filter that BF.ADD creates. */
struct chain_request bf_request(void);

/* Add n items and reply with an array of them, which ends at the first that cannot be added.
 * Returns the number of items processed. */
size_t bf_add_items(struct rm_ctx *ctx, struct chain *c, struct rm_string **items, size_t n);

/* Reply with an error in the dialect that is set; `text` is RedisBloom's. */
int bf_refuse(struct rm_ctx *ctx, const char *text);

#endif
