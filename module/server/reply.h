/* reply.h - answers that more than one family gives. */
#ifndef MODULE_REPLY_H
#define MODULE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <weir.h>

#include "server/abi.h"

int reply_ok(struct rm_ctx *ctx);
int reply_wrong_type(struct rm_ctx *ctx);

/* "ERR " and a spec. */
int reply_error(struct rm_ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A boolean as RESP3 has it and the dialect wants it, or 0 and 1. */
void reply_bool(struct rm_ctx *ctx, bool yes);

void reply_text(struct rm_ctx *ctx, const char *text);

/* A name and a number, of a map. */
void reply_field(struct rm_ctx *ctx, const char *name, long long number);

#endif
