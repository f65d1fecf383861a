/* abi.h - the part of the module interface of Redis and Valkey that is used here.
 *
 * The server passes a context to RedisModule_OnLoad(). Its first word is a function that finds all
 * others by name, so nothing is linked. server.c looks up each name of the list below and stores it
 * in `rm`. Calls newer than Redis 7.0 may be missing and are tested before use.
 *
 * Numbers and layouts are those of the servers' documented interface (version 1). */
#ifndef MODULE_ABI_H
#define MODULE_ABI_H

#include <stddef.h>
#include <stdint.h>

struct rm_ctx;
struct rm_string;
struct rm_key;
struct rm_type;
struct rm_io;
struct rm_digest;
struct rm_command;
struct rm_defrag;
struct rm_key_options;
struct rm_blocked;
struct rm_info;

enum { RM_OK = 0, RM_ERR = 1 };
enum { RM_API_VERSION = 1 };

/* Modes of OpenKey, kinds of keys. */
enum { RM_READ = 1 << 0, RM_WRITE = 1 << 1 };
enum { RM_KEY_EMPTY = 0 };

/* Of GetContextFlags. */
enum {
    RM_CTX_LUA = 1 << 0,
    RM_CTX_MULTI = 1 << 1,
    RM_CTX_REPLICA = 1 << 3,
    RM_CTX_REPLICATED = 1 << 12,
    RM_CTX_LOADING = 1 << 13,
    RM_CTX_CHILD = 1 << 20,
    RM_CTX_DENY_BLOCKING = 1 << 21,
    RM_CTX_RESP3 = 1 << 22,
    RM_CTX_ASYNC_LOADING = 1 << 23
};

/* Classes of keyspace events: 'd', of modules. */
enum { RM_NOTIFY_MODULE = 1 << 13 };

/* Of SetModuleOptions. */
enum {
    RM_OPTION_HANDLE_IO_ERRORS = 1 << 0,
    RM_OPTION_ASYNC_LOAD = 1 << 2,
    RM_OPTION_SLOT_MIGRATION = 1 << 5 /* Valkey 9 */
};

/* Of settings. */
enum { RM_CONFIG_DEFAULT = 0, RM_CONFIG_MEMORY = 1 << 7 };

#define RM_ARRAY_OPEN (-1) /* the length of an array follows */

#define RM_WRONG_TYPE "WRONGTYPE Operation against a key holding the wrong kind of value"

/* ---- a type of values ---- */

struct rm_type_methods {
    uint64_t version; /* 4: as of Redis 7.0 */
    void *(*rdb_load)(struct rm_io *io, int encoding);
    void (*rdb_save)(struct rm_io *io, void *value);
    void (*aof_rewrite)(struct rm_io *io, struct rm_string *key, void *value);
    size_t (*mem_usage)(const void *value);
    void (*digest)(struct rm_digest *digest, void *value);
    void (*free)(void *value);
    int (*aux_load)(struct rm_io *io, int encoding, int when);
    void (*aux_save)(struct rm_io *io, int when);
    int aux_save_triggers;
    size_t (*free_effort)(struct rm_string *key, const void *value);
    void (*unlink)(struct rm_string *key, const void *value);
    void *(*copy)(struct rm_string *from, struct rm_string *to, const void *value);
    int (*defrag)(struct rm_defrag *ctx, struct rm_string *key, void **value);
    size_t (*mem_usage2)(struct rm_key_options *ctx, const void *value, size_t samples);
    size_t (*free_effort2)(struct rm_key_options *ctx, const void *value);
    void (*unlink2)(struct rm_key_options *ctx, const void *value);
    void *(*copy2)(struct rm_key_options *ctx, const void *value);
};

/* ---- the description of a command, for COMMAND DOCS ---- */

enum rm_arg_type {
    RM_ARG_STRING,
    RM_ARG_INTEGER,
    RM_ARG_DOUBLE,
    RM_ARG_KEY,
    RM_ARG_PATTERN,
    RM_ARG_TIME,
    RM_ARG_TOKEN,
    RM_ARG_ONE_OF,
    RM_ARG_BLOCK
};

enum { RM_ARG_OPTIONAL = 1 << 0, RM_ARG_MULTIPLE = 1 << 1 };

struct rm_arg {
    const char *name;
    enum rm_arg_type type;
    int key_spec;
    const char *token, *summary, *since;
    int flags;
    const char *deprecated_since;
    struct rm_arg *inner;
    const char *display;
};

struct rm_history {
    const char *since, *changes;
};

enum rm_begin_search { RM_BEGIN_NONE, RM_BEGIN_UNKNOWN, RM_BEGIN_INDEX, RM_BEGIN_KEYWORD };
enum rm_find_keys { RM_FIND_NONE, RM_FIND_UNKNOWN, RM_FIND_RANGE, RM_FIND_NUMBER };

enum {
    RM_KEY_RO = 1 << 0,
    RM_KEY_RW = 1 << 1,
    RM_KEY_OW = 1 << 2,
    RM_KEY_ACCESS = 1 << 4,
    RM_KEY_UPDATE = 1 << 5,
    RM_KEY_INSERT = 1 << 6
};

struct rm_key_spec {
    const char *notes;
    uint64_t flags;
    enum rm_begin_search begin;
    union {
        struct {
            int position;
        } index;
        struct {
            const char *word;
            int from;
        } keyword;
    } from;
    enum rm_find_keys find;
    union {
        struct {
            int last, step, limit;
        } range;
        struct {
            int number, first, step;
        } counted;
    } keys;
};

struct rm_info_version {
    int version; /* 1 */
    size_t history_size, key_spec_size, arg_size;
};

struct rm_command_info {
    const struct rm_info_version *version;
    const char *summary, *complexity, *since;
    struct rm_history *history;
    const char *tips;
    int arity;
    struct rm_key_spec *key_specs;
    struct rm_arg *args;
};

/* ---- the calls ---- */

typedef int rm_command_function(struct rm_ctx *ctx, struct rm_string **argv, int argc);
typedef rm_command_function *rm_command_call;
typedef void (*rm_info_call)(struct rm_info *info, int for_crash_report);
typedef void (*rm_free_call)(struct rm_ctx *ctx, void *data);
typedef void (*rm_once_call)(void *data);
typedef int (*rm_apply_call)(struct rm_ctx *ctx, void *data, struct rm_string **error);
typedef struct rm_string *(*rm_get_string_call)(const char *name, void *data);
typedef int (*rm_set_string_call)(const char *name, struct rm_string *value, void *data,
                                  struct rm_string **error);
typedef long long (*rm_get_number_call)(const char *name, void *data);
typedef int (*rm_set_number_call)(const char *name, long long value, void *data,
                                  struct rm_string **error);
typedef int (*rm_get_enum_call)(const char *name, void *data);
typedef int (*rm_set_enum_call)(const char *name, int value, void *data, struct rm_string **error);

/* CALL(result, name, arguments) for calls of Redis 7.0, NEWER() for calls that may be missing. */
/* clang-format off */
#define RM_CALLS(CALL, NEWER) \
    CALL(int, SetModuleAttribs, (struct rm_ctx *, const char *name, int version, int api)) \
    CALL(int, IsModuleNameBusy, (const char *name)) \
    CALL(void, SetModuleOptions, (struct rm_ctx *, int options)) \
    CALL(void, Log, (struct rm_ctx *, const char *level, const char *format, ...)) \
    CALL(void *, Alloc, (size_t)) \
    CALL(void *, TryAlloc, (size_t)) \
    CALL(void *, Calloc, (size_t, size_t)) \
    CALL(void, Free, (void *)) \
    CALL(size_t, MallocSize, (void *)) \
    CALL(long long, Milliseconds, (void)) \
    CALL(uint64_t, MonotonicMicroseconds, (void)) \
    CALL(int, GetContextFlags, (struct rm_ctx *)) \
    CALL(struct rm_ctx *, GetContextFromIO, (struct rm_io *)) \
    CALL(int, CreateCommand, (struct rm_ctx *, const char *name, rm_command_call, const char *flags, \
                              int first, int last, int step)) \
    CALL(struct rm_command *, GetCommand, (struct rm_ctx *, const char *name)) \
    CALL(int, SetCommandInfo, (struct rm_command *, const struct rm_command_info *)) \
    CALL(int, RegisterStringConfig, (struct rm_ctx *, const char *name, const char *value, \
                              unsigned flags, rm_get_string_call, rm_set_string_call, \
                              rm_apply_call, void *data)) \
    CALL(int, RegisterNumericConfig, (struct rm_ctx *, const char *name, long long value, \
                              unsigned flags, long long min, long long max, rm_get_number_call, \
                              rm_set_number_call, rm_apply_call, void *data)) \
    CALL(int, RegisterEnumConfig, (struct rm_ctx *, const char *name, int value, unsigned flags, \
                              const char **names, const int *values, int n, rm_get_enum_call, \
                              rm_set_enum_call, rm_apply_call, void *data)) \
    CALL(int, LoadConfigs, (struct rm_ctx *)) \
    CALL(struct rm_string *, CreateString, (struct rm_ctx *, const char *, size_t)) \
    CALL(void, FreeString, (struct rm_ctx *, struct rm_string *)) \
    CALL(const char *, StringPtrLen, (const struct rm_string *, size_t *)) \
    CALL(int, StringToLongLong, (const struct rm_string *, long long *)) \
    CALL(int, StringToDouble, (const struct rm_string *, double *)) \
    CALL(int, IsKeysPositionRequest, (struct rm_ctx *)) \
    CALL(void, KeyAtPosWithFlags, (struct rm_ctx *, int position, int flags)) \
    CALL(int, WrongArity, (struct rm_ctx *)) \
    CALL(int, ReplyWithError, (struct rm_ctx *, const char *)) \
    CALL(int, ReplyWithLongLong, (struct rm_ctx *, long long)) \
    CALL(int, ReplyWithDouble, (struct rm_ctx *, double)) \
    CALL(int, ReplyWithBool, (struct rm_ctx *, int)) \
    CALL(int, ReplyWithNull, (struct rm_ctx *)) \
    CALL(int, ReplyWithSimpleString, (struct rm_ctx *, const char *)) \
    CALL(int, ReplyWithStringBuffer, (struct rm_ctx *, const char *, size_t)) \
    CALL(int, ReplyWithArray, (struct rm_ctx *, long)) \
    CALL(int, ReplyWithMap, (struct rm_ctx *, long)) \
    CALL(void, ReplySetArrayLength, (struct rm_ctx *, long)) \
    CALL(struct rm_key *, OpenKey, (struct rm_ctx *, struct rm_string *, int mode)) \
    CALL(void, CloseKey, (struct rm_key *)) \
    CALL(int, KeyType, (struct rm_key *)) \
    CALL(struct rm_type *, ModuleTypeGetType, (struct rm_key *)) \
    CALL(void *, ModuleTypeGetValue, (struct rm_key *)) \
    CALL(int, ModuleTypeSetValue, (struct rm_key *, struct rm_type *, void *)) \
    CALL(int, ModuleTypeReplaceValue, (struct rm_key *, struct rm_type *, void *, void **former)) \
    CALL(int, DeleteKey, (struct rm_key *)) \
    CALL(struct rm_blocked *, BlockClient, (struct rm_ctx *, rm_command_call reply, \
                              rm_command_call timeout, rm_free_call, long long milliseconds)) \
    CALL(int, UnblockClient, (struct rm_blocked *, void *)) \
    CALL(void *, GetBlockedClientPrivateData, (struct rm_ctx *)) \
    CALL(int, EventLoopAddOneShot, (rm_once_call, void *data)) \
    CALL(int, RegisterInfoFunc, (struct rm_ctx *, rm_info_call)) \
    CALL(int, InfoAddSection, (struct rm_info *, const char *name)) \
    CALL(int, InfoAddFieldULongLong, (struct rm_info *, const char *name, unsigned long long)) \
    CALL(int, Replicate, (struct rm_ctx *, const char *command, const char *format, ...)) \
    CALL(int, ReplicateVerbatim, (struct rm_ctx *)) \
    CALL(int, NotifyKeyspaceEvent, (struct rm_ctx *, int class, const char *, struct rm_string *)) \
    CALL(struct rm_type *, CreateDataType, (struct rm_ctx *, const char *name, int encoding, \
                                            struct rm_type_methods *)) \
    CALL(void, SaveStringBuffer, (struct rm_io *, const char *, size_t)) \
    CALL(char *, LoadStringBuffer, (struct rm_io *, size_t *)) \
    CALL(void, SaveUnsigned, (struct rm_io *, uint64_t)) \
    CALL(uint64_t, LoadUnsigned, (struct rm_io *)) \
    CALL(void, SaveDouble, (struct rm_io *, double)) \
    CALL(double, LoadDouble, (struct rm_io *)) \
    CALL(int, IsIOError, (struct rm_io *)) \
    CALL(void, LogIOError, (struct rm_io *, const char *level, const char *format, ...)) \
    CALL(void, EmitAOF, (struct rm_io *, const char *command, const char *format, ...)) \
    CALL(void, DigestAddStringBuffer, (struct rm_digest *, const char *, size_t)) \
    CALL(void, DigestEndSequence, (struct rm_digest *)) \
    CALL(void *, DefragAlloc, (struct rm_defrag *, void *)) \
    CALL(int, DefragShouldStop, (struct rm_defrag *)) \
    CALL(int, DefragCursorSet, (struct rm_defrag *, unsigned long)) \
    CALL(int, DefragCursorGet, (struct rm_defrag *, unsigned long *)) \
    NEWER(void *, TryCalloc, (size_t, size_t)) \
    NEWER(int, GetModuleOptionsAll, (void)) \
    NEWER(int, SetCommandACLCategories, (struct rm_command *, const char *)) \
    NEWER(int, AddACLCategory, (struct rm_ctx *, const char *))
/* clang-format on */

#define RM_MEMBER(result, name, arguments) result(*name) arguments;

/* The calls of this server; newer ones may be NULL. */
extern struct rm_calls {
    RM_CALLS(RM_MEMBER, RM_MEMBER)
} rm;

#endif
