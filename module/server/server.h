/* server.h - the server that loaded the module: its calls, memory and clock, arguments of commands,
 * settings, tables of commands. */
#ifndef MODULE_SERVER_H
#define MODULE_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <weir.h>

#include "server/abi.h"

/* ---- calls, memory and time ---- */

/* Find all calls of abi.h. NULL, or the name of one that the server lacks. */
const char *server_find_calls(struct rm_ctx *ctx);

/* Zeroed memory that counts in used_memory; NULL if there is none. Large blocks are not written to,
 * so that their pages exist from their first use on. */
void *server_take(size_t size);
void server_give(void *block); /* NULL is allowed */

/* A copy of some bytes, possibly none; NULL if there is no memory. */
void *server_copy(const void *from, size_t size);

/* Bytes of a block as the allocator counts them; 0 for NULL. */
uint64_t server_bytes(void *block);

/* Is the command from a master or an AOF? It was allowed there, so no limits apply here. */
bool server_obeys(struct rm_ctx *ctx);

/* Maximum bytes of a value that a command creates: LARGEST, or 0 for no limit. */
uint64_t server_limit(struct rm_ctx *ctx);

/* Milliseconds since 1970: the server's clock at the first call, plus the time elapsed since.
 * Setting the clock of a running server changes nothing. */
uint64_t server_time(void);

/* The latest time that a command may have: a day ahead of the server's clock. No limit if
 * server_obeys(). */
uint64_t server_time_most(struct rm_ctx *ctx);

/* ---- arguments of a command ---- */

/* Is the argument this word? Ignores case. */
bool arg_is(const struct rm_string *arg, const char *word);

struct weir_bytes arg_bytes(const struct rm_string *arg);

/* A number below 2^64, digits only. */
bool arg_u64(const struct rm_string *arg, uint64_t *number);

/* Copy as text; false if it has size or more characters, or a NUL. */
bool arg_text(const struct rm_string *arg, char *text, size_t size);

#define ITEMS_AT_ONCE 256 /* items per batch call of the library */

/* ---- settings: arguments of the module, and CONFIG parameters ---- */

struct settings {
    char name[64];            /* of the module */
    char spec[WEIR_SPEC_MAX]; /* of a filter that WEIR.OBSERVE creates */
    long long largest;        /* bytes that a client's value may have, 0: no limit */
    int dialect;

    /* Filters that BF.* and CF.* create, as RedisBloom names and limits them. */
    double bf_error;
    long long bf_capacity, bf_expansion;
    long long cf_capacity, cf_bucket_size, cf_moves, cf_expansion, cf_max_filters;
};

const struct settings *settings_now(void);

/* Read the arguments of the module. NULL, or what is wrong. To be called first. */
const char *settings_read(struct rm_string **argv, int argc);

/* Register the CONFIG parameters: RM_OK or RM_ERR. */
int settings_register(struct rm_ctx *ctx);

uint64_t settings_largest(void);
bool settings_valkey(void); /* reply as valkey-bloom if that differs */

/* ---- statistics, for INFO ---- */

extern struct server_stats {
    atomic_uint_fast64_t values, bytes; /* as they were after their last change */
    uint64_t evictions;                 /* items that TOPK.* expelled */
    uint64_t merges;
    uint64_t jobs;         /* commands that ran in a thread */
    uint64_t longest_call; /* microseconds that the server was busy with one large command */
} server_stats;

/* Around work that can take long: stats_stop(stats_start()). */
uint64_t stats_start(void);
void stats_stop(uint64_t start);

/* Register the sections of INFO. */
int stats_register(struct rm_ctx *ctx);

/* ---- tables of commands ---- */

/* Which arguments are keys. */
enum command_keys {
    KEY_READ,    /* the first is read */
    KEY_CHANGE,  /* the first is changed or created */
    KEYS_COUNTED /* the first is changed; the second is the number of keys that are read */
};

struct module_command {
    const char *name;
    rm_command_call call;
    const char *flags; /* in the server's words */
    int arity;         /* with the name; -n: n or more; the server rejects other calls */
    enum command_keys keys;
    const char *summary, *complexity;

    /* The arguments after the key, a word each: name, #integer, %double, TOKEN=name, or !TOKEN. A
     * '?' at the end makes it optional, a '+' repeatable. Names with commas between them stand
     * together. */
    const char *arguments;
};

/* Define a command that calls a function, with the parameters ctx, argv, argc and others. */
#define COMMAND(name, function, ...)                                                               \
    int name(struct rm_ctx *ctx, struct rm_string **argv, int argc)                                \
    {                                                                                              \
        return function(ctx, argv, argc, __VA_ARGS__);                                             \
    }

#define LOCAL_COMMAND(...) static COMMAND(__VA_ARGS__)

/* Register the commands of a list that ends with a NULL name, in an ACL category if the server
 * supports that. False if another module has registered one of them, or one cannot be described. */
bool commands_create(struct rm_ctx *ctx, const struct module_command *list, const char *category);

extern const struct module_command commands_weir[], commands_bf[], commands_cf[], commands_cms[],
    commands_topk[];

#endif
