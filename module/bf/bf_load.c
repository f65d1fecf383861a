/* bf_load.c - BF.LOAD of valkey-bloom: a whole filter in one argument. There it is what an AOF has;
 * here what WEIR.SAVE gave of a key of BF.*. */
#include "bf/bf.h"
#include "server/args.h"
#include "server/reply.h"
#include "server/server.h"
#include "server/settings.h"
#include "value/image.h"

static bool nothing_follows(struct image_in *in)
{
    (void)in;
    return false;
}

static struct value *read_bytes(struct rm_ctx *ctx, struct weir_bytes bytes)
{
    struct image_in in = {.next = nothing_follows,
                          .data = bytes.data,
                          .size = bytes.size,
                          .most = server_obeys(ctx) ? 0 : settings_largest()};
    struct weir_error error;

    return image_read(&family_bloom, &in, &error);
}

int bf_load(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    if (argc != 3)
        return rm.WrongArity(ctx);
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_bloom);
    struct value *v;
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (o.value) {
        rm.ReplyWithError(ctx, "BUSYKEY Target key name already exists.");
    } else if ((v = read_bytes(ctx, arg_bytes(argv[2])))) {
        value_put(o.key, v);
        key_changed(ctx, argv[1], v, "bf.load");
        reply_ok(ctx);
    } else {
        rm.ReplyWithError(ctx, "ERR bloom object decoding failed");
    }
    return key_close(&o);
}
