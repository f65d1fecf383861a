/* key_access.c - see key_access.h. */
#include "key_access.h"

#include "reply.h"

struct opened key_open(struct rm_ctx *ctx, struct rm_string *name, int mode,
                       const struct family *family)
{
    struct opened o = {.key = rm.OpenKey(ctx, name, mode)};

    o.value = value_at(o.key, family, &o.wrong);
    if (o.wrong)
        o.loading = rm.ModuleTypeGetType(o.key) == type_of(&family_loading);
    return o;
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
        reply_error(ctx, "the key is being loaded, and its last chunk has not come");
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
