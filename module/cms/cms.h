/* cms.h - the commands CMS.*, as clients of RedisBloom know them. */
#ifndef MODULE_CMS_H
#define MODULE_CMS_H

#include "cms/counts_value.h"
#include "value/key_access.h"

/* The sketch of a key that was opened; NULL after an error reply, then it is closed. */
struct counts *cms_at(struct rm_ctx *ctx, struct opened *o);

int cms_merge(struct rm_ctx *ctx, struct rm_string **argv, int argc);

#endif
