/* server.c - calls, memory and time of the server, and arguments and descriptions of commands. */
#include "server/server.h"

#include <string.h>
#include <strings.h>
#include <ctype.h>
#include <stdio.h>
#include <weir.h>

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

void *server_copy(const void *from, size_t size)
{
    void *block = rm.TryAlloc(size > 0 ? size : 1);

    if (block && size > 0)
        memcpy(block, from, size);
    return block;
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

/* ---- tables of commands ---- */

#define ARGS_MAX 16
#define PARTS_MAX 3 /* of an argument that is several words */
#define TEXT_MAX 512

static const struct rm_info_version info_version = {
    1, sizeof(struct rm_history), sizeof(struct rm_key_spec), sizeof(struct rm_arg)};

/* One key at this position; or, if `counted`, as many keys after it as it says. */
static struct rm_key_spec key_spec(uint64_t flags, int position, bool counted)
{
    struct rm_key_spec spec = {.flags = flags,
                               .begin = RM_BEGIN_INDEX,
                               .from.index.position = position,
                               .find = counted ? RM_FIND_NUMBER : RM_FIND_RANGE};

    if (counted)
        spec.keys.counted.first = spec.keys.counted.step = 1;
    else
        spec.keys.range.step = 1;
    return spec;
}

struct command_doc {
    struct rm_arg args[ARGS_MAX + 1], parts[ARGS_MAX + 1][PARTS_MAX + 1];
    char text[TEXT_MAX];
};

static void describe_type(struct rm_arg *arg)
{
    if (*arg->name == '#' || *arg->name == '%')
        arg->type = *arg->name++ == '#' ? RM_ARG_INTEGER : RM_ARG_DOUBLE;
}

/* Names with commas between them form a block that is named after the first. */
static void describe_parts(char *words, struct rm_arg *arg, struct rm_arg *parts)
{
    char *rest = words;

    for (int i = 0; rest && i < PARTS_MAX; i++) {
        parts[i] = (struct rm_arg){.name = strsep(&rest, ","), .key_spec = -1};
        describe_type(&parts[i]);
        parts[i + 1] = (struct rm_arg){0};
    }
    arg->type = RM_ARG_BLOCK;
    arg->name = parts[0].name;
    arg->inner = parts;
}

/* Describe one word of a command's arguments. Modifies the word. */
static void describe(char *word, struct rm_arg *arg, struct rm_arg *parts)
{
    size_t size = strlen(word);

    *arg = (struct rm_arg){.name = word, .type = RM_ARG_STRING, .key_spec = -1};
    for (; size > 0 && strchr("?+", word[size - 1]); word[--size] = '\0')
        arg->flags |= word[size - 1] == '?' ? RM_ARG_OPTIONAL : RM_ARG_MULTIPLE;
    if (word[0] == '!') {
        arg->type = RM_ARG_TOKEN;
        arg->name = arg->token = word + 1;
        return;
    }
    char *name = strchr(word, '=');
    if (name) {
        *name++ = '\0';
        arg->token = word;
        arg->name = name;
    }
    if (strchr(arg->name, ','))
        describe_parts(name ? name : word, arg, parts);
    else
        describe_type(arg);
}

static void describe_all(const struct module_command *c, struct command_doc *d)
{
    struct rm_arg *args = d->args;
    int n = 1;

    args[0] = (struct rm_arg){.name = "key", .type = RM_ARG_KEY, .key_spec = 0};
    if (c->arity == -1)
        args[0].flags = RM_ARG_OPTIONAL;
    snprintf(d->text, TEXT_MAX, "%s", c->arguments);
    for (char *word = strtok(d->text, " "); word && n < ARGS_MAX; word = strtok(NULL, " "), n++)
        describe(word, &args[n], d->parts[n]);
    if (c->keys == KEYS_COUNTED) { /* after their number */
        args[2].type = RM_ARG_KEY;
        args[2].key_spec = 1;
    }
    args[n] = (struct rm_arg){0};
}

static int inform(struct rm_command *command, const struct module_command *c)
{
    const uint64_t reads = RM_KEY_RO | RM_KEY_ACCESS;
    const uint64_t changes = RM_KEY_RW | RM_KEY_ACCESS | RM_KEY_UPDATE;
    struct rm_key_spec specs[3] = {key_spec(c->keys == KEY_READ ? reads : changes, 1, false)};
    struct command_doc d;
    struct rm_command_info info = {
        .version = &info_version,
        .summary = c->summary,
        .complexity = c->complexity,
        .since = WEIR_VERSION,
        .arity = c->arity,
        .key_specs = specs,
        .args = d.args,
    };

    if (c->keys == KEYS_COUNTED)
        specs[1] = key_spec(reads, 2, true);
    describe_all(c, &d);
    return rm.SetCommandInfo(command, &info);
}

bool commands_create(struct rm_ctx *ctx, const struct module_command *list, const char *category)
{
    bool own = rm.AddACLCategory && rm.AddACLCategory(ctx, category) == RM_OK;

    for (const struct module_command *c = list; c->name; c++) {
        struct rm_command *command;
        char categories[64];

        if (rm.CreateCommand(ctx, c->name, c->call, c->flags, 1, 1, 1) != RM_OK)
            return false;
        command = rm.GetCommand(ctx, c->name);
        if (!command || inform(command, c) != RM_OK) {
            rm.Log(ctx, "warning", "cannot describe the command %s", c->name);
            return false;
        }
        snprintf(categories, sizeof categories, "%s %s %s", c->keys == KEY_READ ? "read" : "write",
                 strstr(c->flags, "fast") ? "fast" : "slow", own ? category : "");
        if (rm.SetCommandACLCategories)
            rm.SetCommandACLCategories(command, categories);
    }
    return true;
}
