/* server.c - see server.h. */
#include "server/server.h"

#include <string.h>

struct rm_calls rm;

typedef int (*find_call)(const char *name, void *call);

static const struct {
    const char *name;
    size_t at;
    bool newer;
} calls[] = {
#define OLD(result, name, arguments) {"RedisModule_" #name, offsetof(struct rm_calls, name), false},
#define NEW(result, name, arguments) {"RedisModule_" #name, offsetof(struct rm_calls, name), true},
    RM_CALLS(OLD, NEW)};

const char *server_find_calls(struct rm_ctx *ctx)
{
    find_call find;

    memcpy(&find, ctx, sizeof find); /* the first word of a context */
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *call = NULL;

        if (find(calls[i].name, &call) != RM_OK)
            call = NULL;
        if (!call && !calls[i].newer)
            return calls[i].name;
        memcpy((char *)&rm + calls[i].at, &call, sizeof call);
    }
    return NULL;
}

void *server_take(size_t size)
{
    void *block;

    if (rm.TryCalloc)
        return rm.TryCalloc(1, size);
    block = rm.TryAlloc(size);
    if (block)
        memset(block, 0, size);
    return block;
}

void server_give(void *block)
{
    if (block)
        rm.Free(block);
}

bool server_obeys(struct rm_ctx *ctx)
{
    return rm.GetContextFlags(ctx) & (RM_CTX_REPLICATED | RM_CTX_LOADING | RM_CTX_ASYNC_LOADING);
}

uint64_t server_time(void)
{
    static uint64_t started; /* the monotonic clock, by the server's */
    uint64_t since = rm.MonotonicMicroseconds() / 1000;

    if (!started)
        started = (uint64_t)rm.Milliseconds() - since;
    return started + since;
}

uint64_t server_time_most(struct rm_ctx *ctx)
{
    const uint64_t day = UINT64_C(24) * 3600 * 1000;

    return server_obeys(ctx) ? UINT64_MAX : (uint64_t)rm.Milliseconds() + day;
}
