/* chain_transfer.h - the commands SCANDUMP and LOADCHUNK of BF.* and CF.*. */
#ifndef MODULE_CHAIN_TRANSFER_H
#define MODULE_CHAIN_TRANSFER_H

#include "chain/chain.h"

int chain_scandump(struct rm_ctx *ctx, struct rm_string **argv, int argc,
                   const struct family *family);
int chain_loadchunk(struct rm_ctx *ctx, struct rm_string **argv, int argc,
                    const struct family *family);

#endif
