/* reply.h - replies of all command families, and the error codes of WEIR.*.
 *
 * An error reply begins with a code. Programs act on the code; the text after it is for people
 * and may change in any release. docs/module.md documents what clients should do. */
#ifndef MODULE_REPLY_H
#define MODULE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <weir.h>

#include "server/abi.h"

/* CODE(code, meaning): the meaning is the text of replies that have nothing to add. */
/* clang-format off */
#define REPLY_CODES(CODE) \
    CODE(ERR, "invalid arguments") \
    CODE(WEIRBUSY, "the key is being loaded and its last chunk has not arrived") \
    CODE(WEIRDATA, "damaged data, or not a weir file") \
    CODE(WEIREXISTS, "the key exists; delete it first") \
    CODE(WEIRGONE, "the reply to this request number was evicted; it was not applied again") \
    CODE(WEIRMEMORY, "not enough memory") \
    CODE(WEIRMISMATCH, "the filters differ in spec or seed") \
    CODE(WEIRNOKEY, "no such key") \
    CODE(WEIRRESTART, "the transfer was interrupted; restart it at the first chunk") \
    CODE(WEIRREUSED, "this request number was used with other items") \
    CODE(WEIRSPEC, "invalid filter spec") \
    CODE(WEIRTIME, "time is more than a day ahead of the server's clock; use milliseconds since 1970") \
    CODE(WEIRUNSUPPORTED, "the filter does not support this")
/* clang-format on */

#define REPLY_ENUMERATOR(code, meaning) code,
enum reply_code { REPLY_CODES(REPLY_ENUMERATOR) };

/* Reply with an error: a code and a text. All return RM_OK, to end a command with. */
int reply_error(struct rm_ctx *ctx, enum reply_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int reply_code(struct rm_ctx *ctx, enum reply_code code); /* with its meaning */

/* The code that belongs to the status of a library call, and its message. */
int reply_failure(struct rm_ctx *ctx, const struct weir_error *error);

/* "WEIRGONE last": the next request of the producer needs a number above `last`. */
int reply_gone(struct rm_ctx *ctx, uint64_t last);

int reply_wrong_type(struct rm_ctx *ctx);
int reply_ok(struct rm_ctx *ctx);

/* A RESP3 boolean, or 0 and 1 in RESP2 and in the dialect of Valkey. */
void reply_bool(struct rm_ctx *ctx, bool yes);

void reply_text(struct rm_ctx *ctx, const char *text);

/* A name and a number in a map. */
void reply_field(struct rm_ctx *ctx, const char *name, long long number);

#endif
