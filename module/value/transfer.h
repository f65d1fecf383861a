/* transfer.h - a value in chunks: what WEIR.LOAD and BF.LOADCHUNK share. */
#ifndef MODULE_TRANSFER_H
#define MODULE_TRANSFER_H

#include "value/key_access.h"
#include "value/loading.h"

/* Put the value in the place of the chunks that make it, and answer OK; or take the key away and
 * answer what is wrong with them. */
int transfer_finish(struct rm_ctx *ctx, struct rm_string *name, struct opened *o,
                    struct value_loading *l);

/* May a client hold as many bytes in one key? */
bool transfer_fits(struct rm_ctx *ctx, uint64_t bytes);

#endif
