/* key_access.c - see key_access.h. */
#include "value/key_access.h"

#include "server/reply.h"

struct opened key_open(struct rm_ctx *ctx, struct rm_string *name, int mode,
                       const struct family *family)
{
    struct opened o = {.key = rm.OpenKey(ctx, name, mode)};

    o.value = value_at(o.key, family, &o.wrong);
    if (o.wrong)
        o.loading = rm.ModuleTypeGetType(o.key) == type_of(&family_loading);
    return o;
}

bool keys_were_asked(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    long long n = 0;

    if (!rm.IsKeysPositionRequest(ctx))
        return false;
    rm.KeyAtPosWithFlags(ctx, 1, RM_KEY_RW | RM_KEY_ACCESS | RM_KEY_UPDATE);
    if (argc > 2 && rm.StringToLongLong(argv[2], &n) == RM_OK && n <= argc - 3)
        for (int i = 0; i < n; i++)
            rm.KeyAtPosWithFlags(ctx, 3 + i, RM_KEY_RO | RM_KEY_ACCESS);
    return true;
}

int key_close(struct opened *o)
{
    if (o->key)
        rm.CloseKey(o->key);
    return RM_OK;
}

int key_refuse(struct rm_ctx *ctx, struct opened *o)
{
    if (o->loading)
        reply_code(ctx, WEIRBUSY);
    else
        reply_wrong_type(ctx);
    return key_close(o);
}

void key_told(struct rm_ctx *ctx, struct rm_string *name, struct value *v, const char *event)
{
    value_changed(v);
    rm.NotifyKeyspaceEvent(ctx, RM_NOTIFY_MODULE, event, name);
}

void key_changed(struct rm_ctx *ctx, struct rm_string *name, struct value *v, const char *event)
{
    rm.ReplicateVerbatim(ctx);
    key_told(ctx, name, v, event);
}
