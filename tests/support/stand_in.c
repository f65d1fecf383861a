/* stand_in.c - see stand_in.h. */
#include "support/stand_in.h"

#include <assert.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/abi.h"

#define KEYS 32
#define TYPES 16
#define COMMANDS 96
#define DEPTH 8

int RedisModule_OnLoad(struct rm_ctx *ctx, struct rm_string **argv, int argc);

struct rm_string {
    size_t size;
    char *data; /* with an end */
};

struct rm_type {
    const char *name;
    struct rm_type_methods methods;
};

struct stored_key {
    struct rm_string *name;
    struct rm_type *type;
    void *value;
};

struct rm_key {
    struct stored_key *at; /* NULL: there is none */
    struct rm_string *name;
    bool writable;
};

struct rm_command {
    const char *name;
    rm_command_call call;
    int arity;
};

struct rm_ctx {
    int (*get_api)(const char *name, void *call); /* first */
};

/* A list of strings: a command, or the strings of an RDB. */
struct words {
    struct rm_string **list;
    size_t n;
};

struct rm_io {
    struct words strings;
    size_t read;
    bool failed;
    struct words *commands; /* of an AOF */
    size_t commands_n;
};

struct rm_digest {
    uint64_t sum;
};

struct rm_defrag {
    int moved;
};

static struct rm_ctx context;
static struct stored_key databases[STAND_IN_DATABASES][KEYS];
static int database; /* that the running command sees */
static struct rm_type types[TYPES];
static size_t types_n;
static struct rm_command commands[COMMANDS];
static size_t commands_n;
static int opened; /* keys that were not closed */
static struct words running;
static struct words propagated[8];
static size_t propagated_n;

/* ---- memory: a head before each block has its size ---- */

#define HEAD 64

static size_t held, allocations, fail_from;

static void *take(size_t size)
{
    char *block = size < (size_t)1 << 40 ? malloc(size + HEAD) : NULL;

    if (!block)
        return NULL;
    memcpy(block, &size, sizeof size);
    memset(block + HEAD, 0xa5, size < 4096 ? size : 4096);
    held += size;
    return block + HEAD;
}

static void *try_alloc(size_t size)
{
    allocations++;
    return fail_from > 0 && allocations >= fail_from ? NULL : take(size);
}

static size_t size_of(void *block)
{
    size_t size;

    memcpy(&size, (char *)block - HEAD, sizeof size);
    return size;
}

static void give(void *block)
{
    if (!block)
        return;
    held -= size_of(block);
    free((char *)block - HEAD);
}

void stand_in_fail(size_t n)
{
    fail_from = n;
    allocations = 0;
}

size_t stand_in_allocations(void)
{
    return allocations;
}

size_t stand_in_held(void)
{
    return held;
}

/* ---- strings ---- */

static struct rm_string *string(const void *data, size_t size)
{
    struct rm_string *s = malloc(sizeof *s);

    assert(s);
    s->size = size;
    s->data = malloc(size + 1);
    assert(s->data);
    if (size > 0)
        memcpy(s->data, data, size);
    s->data[size] = '\0';
    return s;
}

static void free_string(struct rm_ctx *ctx, struct rm_string *s)
{
    (void)ctx;
    free(s->data);
    free(s);
}

static struct rm_string *create_string(struct rm_ctx *ctx, const char *data, size_t size)
{
    (void)ctx;
    return string(data, size);
}

static const char *string_bytes(const struct rm_string *s, size_t *size)
{
    if (size)
        *size = s->size;
    return s->data;
}

/* As the server does: digits, without a sign that does nothing or zeros before them. */
static int to_number(const struct rm_string *s, long long *number)
{
    char *end, text[32];

    if (s->size == 0 || s->size > 20)
        return RM_ERR;
    *number = strtoll(s->data, &end, 10);
    snprintf(text, sizeof text, "%lld", *number);
    return strlen(text) == s->size && strcmp(text, s->data) == 0 ? RM_OK : RM_ERR;
}

static int to_double(const struct rm_string *s, double *number)
{
    char *end;

    if (s->size == 0 || s->size > 100 || strchr(" \t\n\v\f\r", *s->data))
        return RM_ERR;
    *number = strtod(s->data, &end);
    return end == s->data + s->size && *number == *number ? RM_OK : RM_ERR;
}

static void add_word(struct words *w, struct rm_string *s)
{
    w->list = realloc(w->list, (w->n + 1) * sizeof *w->list);
    assert(w->list);
    w->list[w->n++] = s;
}

static void free_words(struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        free_string(NULL, w->list[i]);
    free(w->list);
    *w = (struct words){0};
}

/* ---- replies ---- */

static struct {
    char text[1 << 16];
    size_t n;
    long left[DEPTH]; /* elements that an array is waiting for; -1 - n: open, with n so far */
    int depth;
    int whole; /* replies that are complete */
} reply;

static void write_reply(const char *format, ...)
{
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(reply.text + reply.n, sizeof reply.text - reply.n, format, arguments);
    va_end(arguments);
    reply.n += (size_t)n < sizeof reply.text - reply.n ? (size_t)n : 0;
}

static void element(void)
{
    while (reply.depth > 0) {
        long *left = &reply.left[reply.depth - 1];

        if (*left < 0) {
            --*left;
            return;
        }
        if (--*left > 0)
            return;
        write_reply("]");
        reply.depth--;
    }
    reply.whole++;
}

static int reply_array(struct rm_ctx *ctx, long n)
{
    (void)ctx;
    assert(reply.depth < DEPTH && n >= -1);
    write_reply(" [");
    reply.left[reply.depth++] = n;
    if (n == 0) {
        write_reply("]");
        reply.depth--;
        element();
    }
    return RM_OK;
}

static int reply_map(struct rm_ctx *ctx, long n)
{
    return reply_array(ctx, 2 * n);
}

static void set_array_length(struct rm_ctx *ctx, long n)
{
    (void)ctx;
    assert(reply.depth > 0 && reply.left[reply.depth - 1] == -1 - n);
    write_reply("]");
    reply.depth--;
    element();
}

static int reply_number(struct rm_ctx *ctx, long long number)
{
    (void)ctx;
    write_reply(" %lld", number);
    element();
    return RM_OK;
}

static int reply_bool(struct rm_ctx *ctx, int yes)
{
    return reply_number(ctx, yes);
}

static int reply_double(struct rm_ctx *ctx, double number)
{
    (void)ctx;
    write_reply(" %g", number);
    element();
    return RM_OK;
}

static int reply_nil(struct rm_ctx *ctx)
{
    (void)ctx;
    write_reply(" nil");
    element();
    return RM_OK;
}

static int reply_simple(struct rm_ctx *ctx, const char *text)
{
    (void)ctx;
    assert(!strpbrk(text, "\r\n"));
    write_reply(" %s", text);
    element();
    return RM_OK;
}

static int reply_error(struct rm_ctx *ctx, const char *text)
{
    (void)ctx;
    assert(!strpbrk(text, "\r\n"));
    write_reply(" -%s", text);
    element();
    return RM_OK;
}

static struct {
    char data[1 << 14];
    size_t size;
} answered;

struct weir_bytes stand_in_last(void)
{
    return (struct weir_bytes){answered.data, answered.size};
}

static int reply_bytes(struct rm_ctx *ctx, const char *data, size_t size)
{
    (void)ctx;
    assert(data || size == 0);
    answered.size = size < sizeof answered.data ? size : sizeof answered.data;
    if (size > 0)
        memcpy(answered.data, data, answered.size);
    write_reply(" \"%.*s\"", size < 64 ? (int)size : 64, data);
    element();
    return RM_OK;
}

static int wrong_arity(struct rm_ctx *ctx)
{
    return reply_error(ctx, "ERR wrong number of arguments");
}

/* ---- keys ---- */

static struct stored_key *find_key(int in, const struct rm_string *name)
{
    for (int i = 0; i < KEYS; i++) {
        struct stored_key *k = &databases[in][i];

        if (k->name && k->name->size == name->size &&
            memcmp(k->name->data, name->data, name->size) == 0)
            return k;
    }
    return NULL;
}

static void remove_key(struct stored_key *k)
{
    k->type->methods.free(k->value);
    free_string(NULL, k->name);
    *k = (struct stored_key){0};
}

static struct rm_key *open_key(struct rm_ctx *ctx, struct rm_string *name, int mode)
{
    struct stored_key *at = find_key(database, name);
    struct rm_key *key;

    (void)ctx;
    if (!at && !(mode & RM_WRITE))
        return NULL;
    key = malloc(sizeof *key);
    assert(key);
    *key = (struct rm_key){at, name, mode & RM_WRITE};
    opened++;
    return key;
}

static void close_key(struct rm_key *key)
{
    opened--;
    free(key);
}

static int key_type(struct rm_key *key)
{
    return key->at ? 6 : RM_KEY_EMPTY;
}

static struct rm_type *type_at(struct rm_key *key)
{
    return key->at ? key->at->type : NULL;
}

static void *value_of(struct rm_key *key)
{
    return key->at ? key->at->value : NULL;
}

static void put_value(int in, struct rm_string *name, struct rm_type *type, void *value)
{
    struct stored_key *at = find_key(in, name);

    if (at)
        remove_key(at);
    for (int i = 0; i < KEYS; i++)
        if (!databases[in][i].name) {
            databases[in][i] = (struct stored_key){string(name->data, name->size), type, value};
            return;
        }
    assert(!"room for a key");
}

static int set_value(struct rm_key *key, struct rm_type *type, void *value)
{
    assert(key->writable);
    put_value(database, key->name, type, value);
    key->at = find_key(database, key->name);
    return RM_OK;
}

static int delete_key(struct rm_key *key)
{
    assert(key->writable);
    if (key->at)
        remove_key(key->at);
    key->at = NULL;
    return RM_OK;
}

void stand_in_flush(void)
{
    for (int in = 0; in < STAND_IN_DATABASES; in++)
        for (int i = 0; i < KEYS; i++)
            if (databases[in][i].name)
                remove_key(&databases[in][i]);
}

/* ---- what is replicated ---- */

static void format_words(struct words *w, const char *command, const char *format,
                         va_list arguments)
{
    char number[32];

    add_word(w, string(command, strlen(command)));
    for (; *format; format++) {
        if (*format == 's') {
            struct rm_string *s = va_arg(arguments, struct rm_string *);

            add_word(w, string(s->data, s->size));
        } else if (*format == 'c') {
            const char *text = va_arg(arguments, const char *);

            add_word(w, string(text, strlen(text)));
        } else if (*format == 'l') {
            snprintf(number, sizeof number, "%lld", va_arg(arguments, long long));
            add_word(w, string(number, strlen(number)));
        } else if (*format == 'b') {
            const char *data = va_arg(arguments, const char *);

            add_word(w, string(data, va_arg(arguments, size_t)));
        } else {
            assert(*format == 'v');
            struct rm_string **list = va_arg(arguments, struct rm_string **);
            size_t n = va_arg(arguments, size_t);

            for (size_t i = 0; i < n; i++)
                add_word(w, string(list[i]->data, list[i]->size));
        }
    }
}

static int replicate(struct rm_ctx *ctx, const char *command, const char *format, ...)
{
    va_list arguments;

    (void)ctx;
    assert(propagated_n < 8);
    va_start(arguments, format);
    format_words(&propagated[propagated_n++], command, format, arguments);
    va_end(arguments);
    return RM_OK;
}

static int replicate_verbatim(struct rm_ctx *ctx)
{
    (void)ctx;
    assert(propagated_n < 8);
    for (size_t i = 0; i < running.n; i++)
        add_word(&propagated[propagated_n], string(running.list[i]->data, running.list[i]->size));
    propagated_n++;
    return RM_OK;
}

/* ---- RDB, AOF, digests, defragmentation ---- */

static void save_string(struct rm_io *io, const char *data, size_t size)
{
    add_word(&io->strings, string(data, size));
}

static char *load_string(struct rm_io *io, size_t *size)
{
    char *data;

    if (io->read == io->strings.n) {
        io->failed = true;
        return NULL;
    }
    *size = io->strings.list[io->read]->size;
    data = take(*size ? *size : 1);
    memcpy(data, io->strings.list[io->read++]->data, *size);
    return data;
}

static int is_io_error(struct rm_io *io)
{
    return io->failed;
}

static void emit_aof(struct rm_io *io, const char *command, const char *format, ...)
{
    va_list arguments;

    io->commands = realloc(io->commands, (io->commands_n + 1) * sizeof *io->commands);
    assert(io->commands);
    io->commands[io->commands_n] = (struct words){0};
    va_start(arguments, format);
    format_words(&io->commands[io->commands_n++], command, format, arguments);
    va_end(arguments);
}

static void digest_bytes(struct rm_digest *digest, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        digest->sum = (digest->sum ^ (uint8_t)data[i]) * UINT64_C(0x100000001b3);
}

static void digest_end(struct rm_digest *digest)
{
    digest->sum += 1;
}

static void *defrag_alloc(struct rm_defrag *ctx, void *block)
{
    void *moved;

    if (ctx->moved++ % 3 == 2) /* some stay where they are */
        return NULL;
    moved = take(size_of(block));
    memcpy(moved, block, size_of(block));
    give(block);
    return moved;
}

static int defrag_should_stop(struct rm_defrag *ctx)
{
    (void)ctx;
    return 0;
}

static int defrag_cursor_set(struct rm_defrag *ctx, unsigned long cursor)
{
    (void)ctx;
    (void)cursor;
    return RM_OK;
}

static int defrag_cursor_get(struct rm_defrag *ctx, unsigned long *cursor)
{
    (void)ctx;
    *cursor = 0;
    return RM_OK;
}

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

static long long milliseconds(void)
{
    static long long now = 1700000000000;

    return now += 7;
}

static int context_flags(struct rm_ctx *ctx)
{
    (void)ctx;
    return database == STAND_IN_REPLICA  ? RM_CTX_REPLICATED
           : database == STAND_IN_LOADED ? RM_CTX_LOADING
                                         : 0;
}

static struct rm_ctx *context_of_io(struct rm_io *io)
{
    (void)io;
    return &context;
}

static int create_command(struct rm_ctx *ctx, const char *name, rm_command_call call,
                          const char *flags, int first, int last, int step)
{
    (void)ctx;
    (void)flags;
    assert(commands_n < COMMANDS && first == 1 && last == 1 && step == 1);
    commands[commands_n++] = (struct rm_command){name, call, -1};
    return RM_OK;
}

static struct rm_command *get_command(struct rm_ctx *ctx, const char *name)
{
    (void)ctx;
    for (size_t i = 0; i < commands_n; i++)
        if (strcasecmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int set_info(struct rm_command *command, const struct rm_command_info *info)
{
    assert(info->version->version == 1 && info->summary && info->arity != 0);
    command->arity = info->arity;
    return RM_OK;
}

static int register_string(struct rm_ctx *ctx, const char *name, const char *value, unsigned flags,
                           rm_get_string_call get, rm_set_string_call set, rm_apply_call apply,
                           void *data)
{
    struct rm_string *s = string(value, strlen(value)), *error = NULL;

    (void)ctx;
    (void)flags;
    (void)apply;
    assert(set(name, s, data, &error) == RM_OK);
    assert(strcmp(get(name, data)->data, value) == 0);
    free_string(NULL, s);
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
    assert(types_n < TYPES && strlen(name) == 9 && encoding >= 0 && methods->version == 4);
    types[types_n] = (struct rm_type){name, *methods};
    return &types[types_n++];
}

static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {
#define IS(name, call)                                                                             \
    {                                                                                              \
        "RedisModule_" #name, (void (*)(void))(call)                                               \
    }
    IS(SetModuleAttribs, set_attributes),
    IS(IsModuleNameBusy, name_busy),
    IS(SetModuleOptions, set_options),
    IS(Log, say_nothing),
    IS(Alloc, take),
    IS(TryAlloc, try_alloc),
    IS(Free, give),
    IS(MallocSize, size_of),
    IS(Milliseconds, milliseconds),
    IS(GetContextFlags, context_flags),
    IS(GetContextFromIO, context_of_io),
    IS(CreateCommand, create_command),
    IS(GetCommand, get_command),
    IS(SetCommandInfo, set_info),
    IS(RegisterStringConfig, register_string),
    IS(RegisterNumericConfig, register_number),
    IS(RegisterEnumConfig, register_enum),
    IS(LoadConfigs, load_configs),
    IS(CreateString, create_string),
    IS(FreeString, free_string),
    IS(StringPtrLen, string_bytes),
    IS(StringToLongLong, to_number),
    IS(StringToDouble, to_double),
    IS(IsKeysPositionRequest, keys_are_asked),
    IS(KeyAtPosWithFlags, key_at),
    IS(WrongArity, wrong_arity),
    IS(ReplyWithError, reply_error),
    IS(ReplyWithLongLong, reply_number),
    IS(ReplyWithDouble, reply_double),
    IS(ReplyWithBool, reply_bool),
    IS(ReplyWithNull, reply_nil),
    IS(ReplyWithSimpleString, reply_simple),
    IS(ReplyWithStringBuffer, reply_bytes),
    IS(ReplyWithArray, reply_array),
    IS(ReplyWithMap, reply_map),
    IS(ReplySetArrayLength, set_array_length),
    IS(OpenKey, open_key),
    IS(CloseKey, close_key),
    IS(KeyType, key_type),
    IS(ModuleTypeGetType, type_at),
    IS(ModuleTypeGetValue, value_of),
    IS(ModuleTypeSetValue, set_value),
    IS(DeleteKey, delete_key),
    IS(Replicate, replicate),
    IS(ReplicateVerbatim, replicate_verbatim),
    IS(NotifyKeyspaceEvent, notify),
    IS(CreateDataType, create_type),
    IS(SaveStringBuffer, save_string),
    IS(LoadStringBuffer, load_string),
    IS(IsIOError, is_io_error),
    IS(LogIOError, say_nothing_of_io),
    IS(EmitAOF, emit_aof),
    IS(DigestAddStringBuffer, digest_bytes),
    IS(DigestEndSequence, digest_end),
    IS(DefragAlloc, defrag_alloc),
    IS(DefragShouldStop, defrag_should_stop),
    IS(DefragCursorSet, defrag_cursor_set),
    IS(DefragCursorGet, defrag_cursor_get),
#undef IS
};

static int get_api(const char *name, void *call)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, name) == 0) {
            memcpy(call, &calls[i].call, sizeof calls[i].call);
            return RM_OK;
        }
    return RM_ERR;
}

bool stand_in_load(const char *const *arguments, int n)
{
    struct words words = {0};
    int status;

    context.get_api = get_api;
    for (int i = 0; i < n; i++)
        add_word(&words, string(arguments[i], strlen(arguments[i])));
    status = RedisModule_OnLoad(&context, words.list, n);
    free_words(&words);
    return status == RM_OK;
}

/* ---- saying ---- */

static void remove_named(struct words *w)
{
    struct stored_key *k = w->n > 1 ? find_key(database, w->list[1]) : NULL;

    if (k)
        remove_key(k);
}

/* In the database that is set. */
static void carry_out(struct words *w)
{
    struct rm_command *c = w->n > 0 ? get_command(NULL, w->list[0]->data) : NULL;
    int n = (int)w->n;

    reply.n = 0;
    reply.text[0] = '\0';
    reply.depth = reply.whole = 0;
    running = *w;
    if (w->n > 0 && strcasecmp(w->list[0]->data, "DEL") == 0) {
        remove_named(w);
        return;
    }
    if (!c || (c->arity < 0 ? n < -c->arity : n != c->arity)) {
        wrong_arity(NULL);
        return;
    }
    assert(c->call(&context, w->list, n) == RM_OK);
    assert(opened == 0 && reply.depth == 0 && reply.whole == 1);
}

/* What was replicated, where it is to be; the replica has memory enough. */
static void pass_on(void)
{
    static char told[sizeof reply.text];
    size_t n = propagated_n, fails = fail_from, counted = allocations;
    struct words list[8];

    memcpy(told, reply.text, sizeof told);
    memcpy(list, propagated, sizeof list);
    memset(propagated, 0, sizeof propagated);
    propagated_n = 0;
    fail_from = 0;
    database = STAND_IN_REPLICA;
    for (size_t i = 0; i < n; i++) {
        carry_out(&list[i]);
        free_words(&list[i]);
        for (size_t j = 0; j < propagated_n; j++)
            free_words(&propagated[j]);
        propagated_n = 0;
    }
    database = STAND_IN_MASTER;
    fail_from = fails;
    allocations = counted;
    memcpy(reply.text, told, sizeof told);
}

const char *stand_in_say(const struct weir_bytes *said, size_t n)
{
    struct words w = {0};

    for (size_t i = 0; i < n; i++)
        add_word(&w, string(said[i].data, said[i].size));
    carry_out(&w);
    if (n > 0 && strcasecmp(w.list[0]->data, "DEL") == 0)
        replicate_verbatim(NULL);
    pass_on();
    free_words(&w);
    return reply.text[0] ? reply.text + 1 : reply.text;
}

const char *stand_in_tell(const char *first, ...)
{
    struct weir_bytes words[64];
    va_list arguments;
    size_t n = 0;

    va_start(arguments, first);
    for (const char *word = first; word && n < 64; word = va_arg(arguments, const char *))
        words[n++] = (struct weir_bytes){word, strlen(word)};
    va_end(arguments);
    return stand_in_say(words, n);
}

/* ---- looking ---- */

static uint64_t digest_of(const struct stored_key *k)
{
    struct rm_digest digest = {UINT64_C(0xcbf29ce484222325)};
    size_t fails = fail_from;

    fail_from = 0;
    k->type->methods.digest(&digest, k->value);
    fail_from = fails;
    return digest.sum;
}

static size_t count_keys(int in)
{
    size_t n = 0;

    for (int i = 0; i < KEYS; i++)
        n += databases[in][i].name != NULL;
    return n;
}

bool stand_in_alike(int a, int b)
{
    for (int i = 0; i < KEYS; i++) {
        const struct stored_key *k = &databases[a][i];
        const struct stored_key *other = k->name ? find_key(b, k->name) : NULL;

        if (k->name && (!other || other->type != k->type || digest_of(k) != digest_of(other)))
            return false;
    }
    return count_keys(a) == count_keys(b);
}

static void clear_loaded(void)
{
    for (int i = 0; i < KEYS; i++)
        if (databases[STAND_IN_LOADED][i].name)
            remove_key(&databases[STAND_IN_LOADED][i]);
}

void stand_in_reload(void)
{
    clear_loaded();
    for (int i = 0; i < KEYS; i++) {
        const struct stored_key *k = &databases[STAND_IN_MASTER][i];
        struct rm_io io = {0};
        void *value;

        if (!k->name)
            continue;
        k->type->methods.rdb_save(&io, k->value);
        database = STAND_IN_LOADED;
        value = k->type->methods.rdb_load(&io, 1);
        database = STAND_IN_MASTER;
        assert(value && io.read == io.strings.n);
        put_value(STAND_IN_LOADED, k->name, k->type, value);
        free_words(&io.strings);
    }
}

bool stand_in_restore(const char *key, size_t i, const void *data, size_t size, size_t piece)
{
    struct rm_string *name = string(key, strlen(key));
    struct rm_type *type = &types[i % types_n];
    struct rm_io io = {0};
    void *value;

    for (size_t at = 0; at < size; at += piece)
        save_string(&io, (const char *)data + at, size - at < piece ? size - at : piece);
    save_string(&io, "", 0);
    value = type->methods.rdb_load(&io, 1);
    if (value) {
        put_value(STAND_IN_MASTER, name, type, value);
        put_value(STAND_IN_REPLICA, name, type, type->methods.copy2(NULL, value));
    }
    free_words(&io.strings);
    free_string(NULL, name);
    return value != NULL;
}

void stand_in_rewrite(void)
{
    clear_loaded();
    for (int i = 0; i < KEYS; i++) {
        const struct stored_key *k = &databases[STAND_IN_MASTER][i];
        struct rm_io io = {0};

        if (!k->name)
            continue;
        k->type->methods.aof_rewrite(&io, k->name, k->value);
        database = STAND_IN_LOADED;
        for (size_t j = 0; j < io.commands_n; j++) {
            carry_out(&io.commands[j]);
            free_words(&io.commands[j]);
            for (size_t p = 0; p < propagated_n; p++)
                free_words(&propagated[p]);
            propagated_n = 0;
        }
        database = STAND_IN_MASTER;
        free(io.commands);
    }
}

void stand_in_copy(void)
{
    clear_loaded();
    for (int i = 0; i < KEYS; i++) {
        const struct stored_key *k = &databases[STAND_IN_MASTER][i];
        void *value = k->name ? k->type->methods.copy2(NULL, k->value) : NULL;

        if (!value)
            continue;
        assert(k->type->methods.mem_usage2(NULL, value, 0) > 0);
        assert(k->type->methods.free_effort2(NULL, value) > 0);
        put_value(STAND_IN_LOADED, k->name, k->type, value);
    }
}

void stand_in_defrag(void)
{
    struct rm_defrag ctx = {0};

    for (int i = 0; i < KEYS; i++) {
        struct stored_key *k = &databases[STAND_IN_MASTER][i];
        uint64_t before = k->name ? digest_of(k) : 0;

        if (!k->name)
            continue;
        assert(k->type->methods.defrag(&ctx, k->name, &k->value) == 0);
        assert(digest_of(k) == before);
    }
}
