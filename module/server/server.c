/* server.c - calls, memory and time of the server, and arguments of commands. */
#include "server/server.h"

#include <string.h>
#include <strings.h>

/* ---- calls, memory and time ---- */

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

#define LARGE ((size_t)1 << 20)

uint64_t server_bytes(void *block)
{
    return block ? rm.MallocSize(block) : 0;
}

/* Before Redis 7.4 no call returns zeroed memory without writing to it, except Calloc(), which ends
 * the server if there is no memory. So a large block is allocated for a moment to see whether it
 * can be. */
void *server_take(size_t size)
{
    void *block;

    if (rm.TryCalloc)
        return rm.TryCalloc(1, size);
    block = rm.TryAlloc(size);
    if (!block)
        return NULL;
    if (size >= LARGE) {
        rm.Free(block);
        return rm.Calloc(1, size);
    }
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

uint64_t server_limit(struct rm_ctx *ctx)
{
    return server_obeys(ctx) ? 0 : settings_largest();
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

/* ---- arguments ---- */

bool arg_is(const struct rm_string *arg, const char *word)
{
    size_t size;
    const char *text = rm.StringPtrLen(arg, &size);

    return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

struct weir_bytes arg_bytes(const struct rm_string *arg)
{
    struct weir_bytes bytes;

    bytes.data = rm.StringPtrLen(arg, &bytes.size);
    return bytes;
}

bool arg_u64(const struct rm_string *arg, uint64_t *number)
{
    struct weir_bytes text = arg_bytes(arg);
    const char *digits = text.data;

    *number = 0;
    for (size_t i = 0; i < text.size; i++)
        if (digits[i] < '0' || digits[i] > '9' || __builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(digits[i] - '0'), number))
            return false;
    return text.size > 0;
}

bool arg_text(const struct rm_string *arg, char *text, size_t size)
{
    struct weir_bytes bytes = arg_bytes(arg);

    if (bytes.size >= size || memchr(bytes.data, '\0', bytes.size))
        return false;
    memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    return true;
}

/* ---- statistics ---- */

struct server_stats server_stats;

uint64_t stats_start(void)
{
    return rm.MonotonicMicroseconds();
}

void stats_stop(uint64_t start)
{
    uint64_t took = rm.MonotonicMicroseconds() - start;

    server_stats.longest_call = took > server_stats.longest_call ? took : server_stats.longest_call;
}

/* The server puts the module's name before each section and field. */
static void info(struct rm_info *to, int for_crash_report)
{
    (void)for_crash_report;
    rm.InfoAddSection(to, "stats");
    rm.InfoAddFieldULongLong(to, "values", atomic_load(&server_stats.values));
    rm.InfoAddFieldULongLong(to, "evictions", server_stats.evictions);
    rm.InfoAddFieldULongLong(to, "merges", server_stats.merges);
    rm.InfoAddFieldULongLong(to, "background_jobs", server_stats.jobs);
    rm.InfoAddFieldULongLong(to, "longest_call_usec", server_stats.longest_call);
    rm.InfoAddSection(to, "memory");
    rm.InfoAddFieldULongLong(to, "bytes", atomic_load(&server_stats.bytes));
    rm.InfoAddFieldULongLong(to, "largest", settings_largest());
}

int stats_register(struct rm_ctx *ctx)
{
    return rm.RegisterInfoFunc(ctx, info);
}
