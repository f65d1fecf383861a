/* stand_in_module.c - loads the module: commands, types, settings, and the table of calls; see
 * stand_in.h. */
#include "support/stand_in_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int RedisModule_OnLoad(struct rm_ctx *ctx, struct rm_string **argv, int argc);

/* ---- loading the module ---- */

static int set_attributes(struct rm_ctx *ctx, const char *name, int version, int api)
{
    (void)ctx;
    assert(*name && version > 0 && api == RM_API_VERSION);
    return RM_OK;
}

static int name_busy(const char *name)
{
    (void)name;
    return 0;
}

static void set_options(struct rm_ctx *ctx, int options)
{
    (void)ctx;
    assert(options & RM_OPTION_HANDLE_IO_ERRORS);
}

static void say_nothing(struct rm_ctx *ctx, const char *level, const char *format, ...)
{
    (void)ctx;
    (void)level;
    (void)format;
}

static void say_nothing_of_io(struct rm_io *io, const char *level, const char *format, ...)
{
    (void)io;
    (void)level;
    (void)format;
}

static long long wall_clock = 1700000000000;

static long long milliseconds(void)
{
    return wall_clock += 7;
}

void stand_in_set_clock(long long milliseconds)
{
    wall_clock += milliseconds;
}

static uint64_t monotonic_microseconds(void)
{
    static uint64_t now = 1000000;

    return now += 7000;
}

static int context_flags(struct rm_ctx *ctx)
{
    (void)ctx;
    return stand.database == STAND_IN_REPLICA  ? RM_CTX_REPLICATED
           : stand.database == STAND_IN_LOADED ? RM_CTX_LOADING
                                               : 0;
}

/* No command of a test is large enough for a thread. */
static struct rm_blocked *block_client(struct rm_ctx *ctx, rm_command_call reply,
                                       rm_command_call timeout, rm_free_call release,
                                       long long milliseconds)
{
    (void)ctx;
    (void)reply;
    (void)timeout;
    (void)release;
    (void)milliseconds;
    abort();
}

static int unblock_client(struct rm_blocked *client, void *data)
{
    (void)client;
    (void)data;
    abort();
}

static void *private_data(struct rm_ctx *ctx)
{
    (void)ctx;
    abort();
}

static int register_info(struct rm_ctx *ctx, rm_info_call call)
{
    (void)ctx;
    call(NULL, 0);
    return RM_OK;
}

static int add_section(struct rm_info *info, const char *name)
{
    (void)info;
    assert(*name);
    return RM_OK;
}

static int add_field(struct rm_info *info, const char *name, unsigned long long value)
{
    (void)info;
    (void)value;
    assert(*name);
    return RM_OK;
}

static struct rm_ctx *context_of_io(struct rm_io *io)
{
    (void)io;
    return &stand.context;
}

static int create_command(struct rm_ctx *ctx, const char *name, rm_command_call call,
                          const char *flags, int first, int last, int step)
{
    (void)ctx;
    (void)flags;
    assert(stand.commands_n < COMMANDS && first == 1 && last == 1 && step == 1);
    stand.commands[stand.commands_n++] = (struct rm_command){name, call, -1};
    return RM_OK;
}

struct rm_command *stand_get_command(struct rm_ctx *ctx, const char *name)
{
    (void)ctx;
    for (size_t i = 0; i < stand.commands_n; i++)
        if (strcasecmp(stand.commands[i].name, name) == 0)
            return &stand.commands[i];
    return NULL;
}

static int set_info(struct rm_command *command, const struct rm_command_info *info)
{
    assert(info->version->version == 1 && info->summary && info->arity != 0);
    command->arity = info->arity;
    return RM_OK;
}

/* There is no large value, hence no thread. */
static int add_one_shot(rm_once_call call, void *data)
{
    call(data);
    return RM_OK;
}

static int register_string(struct rm_ctx *ctx, const char *name, const char *value, unsigned flags,
                           rm_get_string_call get, rm_set_string_call set, rm_apply_call apply,
                           void *data)
{
    struct rm_string *s = stand_string(value, strlen(value)), *error = NULL;

    (void)ctx;
    (void)flags;
    (void)apply;
    assert(set(name, s, data, &error) == RM_OK);
    assert(strcmp(get(name, data)->data, value) == 0);
    stand_free_string(NULL, s);
    return RM_OK;
}

static int register_number(struct rm_ctx *ctx, const char *name, long long value, unsigned flags,
                           long long min, long long max, rm_get_number_call get,
                           rm_set_number_call set, rm_apply_call apply, void *data)
{
    (void)ctx;
    (void)flags;
    (void)apply;
    assert(value >= min && value <= max && set(name, value, data, NULL) == RM_OK);
    assert(get(name, data) == value);
    return RM_OK;
}

static int register_enum(struct rm_ctx *ctx, const char *name, int value, unsigned flags,
                         const char **names, const int *values, int n, rm_get_enum_call get,
                         rm_set_enum_call set, rm_apply_call apply, void *data)
{
    (void)ctx;
    (void)flags;
    (void)apply;
    assert(n > 0 && names[0] && values);
    assert(set(name, value, data, NULL) == RM_OK && get(name, data) == value);
    return RM_OK;
}

static int load_configs(struct rm_ctx *ctx)
{
    (void)ctx;
    return RM_OK;
}

static int keys_are_asked(struct rm_ctx *ctx)
{
    (void)ctx;
    return 0;
}

static void key_at(struct rm_ctx *ctx, int position, int flags)
{
    (void)ctx;
    (void)position;
    (void)flags;
}

static int notify(struct rm_ctx *ctx, int class, const char *event, struct rm_string *key)
{
    (void)ctx;
    (void)key;
    assert(class == RM_NOTIFY_MODULE && *event);
    return RM_OK;
}

static struct rm_type *create_type(struct rm_ctx *ctx, const char *name, int encoding,
                                   struct rm_type_methods *methods)
{
    (void)ctx;
    assert(stand.types_n < TYPES && strlen(name) == 9 && encoding >= 0 && methods->version == 4);
    stand.types[stand.types_n] = (struct rm_type){name, encoding, *methods};
    return &stand.types[stand.types_n++];
}

const struct stand_in_call stand_in_module_calls[] = {
    STAND_IN_CALL(SetModuleAttribs, set_attributes),
    STAND_IN_CALL(IsModuleNameBusy, name_busy),
    STAND_IN_CALL(SetModuleOptions, set_options),
    STAND_IN_CALL(Log, say_nothing),
    STAND_IN_CALL(Milliseconds, milliseconds),
    STAND_IN_CALL(MonotonicMicroseconds, monotonic_microseconds),
    STAND_IN_CALL(GetContextFlags, context_flags),
    STAND_IN_CALL(BlockClient, block_client),
    STAND_IN_CALL(RegisterInfoFunc, register_info),
    STAND_IN_CALL(InfoAddSection, add_section),
    STAND_IN_CALL(InfoAddFieldULongLong, add_field),
    STAND_IN_CALL(UnblockClient, unblock_client),
    STAND_IN_CALL(EventLoopAddOneShot, add_one_shot),
    STAND_IN_CALL(GetBlockedClientPrivateData, private_data),
    STAND_IN_CALL(GetContextFromIO, context_of_io),
    STAND_IN_CALL(CreateCommand, create_command),
    STAND_IN_CALL(GetCommand, stand_get_command),
    STAND_IN_CALL(SetCommandInfo, set_info),
    STAND_IN_CALL(RegisterStringConfig, register_string),
    STAND_IN_CALL(RegisterNumericConfig, register_number),
    STAND_IN_CALL(RegisterEnumConfig, register_enum),
    STAND_IN_CALL(LoadConfigs, load_configs),
    STAND_IN_CALL(IsKeysPositionRequest, keys_are_asked),
    STAND_IN_CALL(KeyAtPosWithFlags, key_at),
    STAND_IN_CALL(NotifyKeyspaceEvent, notify),
    STAND_IN_CALL(CreateDataType, create_type),
    STAND_IN_CALL(LogIOError, say_nothing_of_io),
    {0},
};

static int get_api(const char *name, void *call)
{
    static const struct stand_in_call *const tables[] = {
        stand_in_memory_calls, stand_in_replies_calls, stand_in_keys_calls, stand_in_io_calls,
        stand_in_module_calls};

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct stand_in_call *c = tables[i]; c->name; c++)
            if (strcmp(c->name, name) == 0) {
                memcpy(call, &c->call, sizeof c->call);
                return RM_OK;
            }
    return RM_ERR;
}

bool stand_in_load(const char *const *arguments, int n)
{
    struct words words = {0};
    int status;

    stand.context.get_api = get_api;
    for (int i = 0; i < n; i++)
        stand_add_word(&words, stand_string(arguments[i], strlen(arguments[i])));
    status = RedisModule_OnLoad(&stand.context, words.list, n);
    stand_free_words(&words);
    return status == RM_OK;
}
