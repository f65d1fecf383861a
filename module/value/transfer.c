/* transfer.c - see transfer.h. */
#include "value/transfer.h"

#include "server/reply.h"
#include "server/server.h"
#include "server/settings.h"

bool transfer_fits(struct rm_ctx *ctx, uint64_t bytes)
{
    uint64_t most = settings_largest();

    return most == 0 || server_obeys(ctx) || bytes / 2 <= most; /* with room for checksums */
}

int transfer_finish(struct rm_ctx *ctx, struct rm_string *name, struct opened *o, struct loading *l)
{
    struct weir_error error;
    struct value *v;

    image_no_memory(&error);
    v = loading_finish(l, server_obeys(ctx) ? 0 : settings_largest(), &error);

    if (!v) {
        rm.DeleteKey(o->key); /* what was there of it, if there was */
        rm.Replicate(ctx, "DEL", "s", name);
        return reply_failure(ctx, &error);
    }
    value_put(o->key, v);
    rm.ReplicateVerbatim(ctx);
    key_told(ctx, name, v, "weir.load");
    return reply_ok(ctx);
}
