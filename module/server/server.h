/* server.h - the server that has loaded the module: its calls, memory and time, arguments, settings
 * and commands. */
#ifndef MODULE_SERVER_H
#define MODULE_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <weir.h>

#include "server/abi.h"

/* ---- calls, memory and time ---- */

/* Find every call of abi.h. NULL, or the name of one that the server does not have. */
const char *server_find_calls(struct rm_ctx *ctx);

/* Zeroed memory that the server counts; NULL if there is none. */
void *server_take(size_t size);
void server_give(void *block);

/* Did the command come from a master, an AOF or an RDB? Then it was allowed once, and is
 * carried out whatever the limits are here. */
bool server_obeys(struct rm_ctx *ctx);

/* Milliseconds since 1970: the server's clock at the first call, and the time that has passed
 * since. Setting the clock of a running server changes nothing. */
uint64_t server_time(void);

/* The latest time that a command may have: a day ahead of the server's clock; any, if the server
 * obeys. */
uint64_t server_time_most(struct rm_ctx *ctx);

/* ---- arguments of a command ---- */

/* The argument is this word, in any case. */
bool arg_is(const struct rm_string *arg, const char *word);

struct weir_bytes arg_bytes(const struct rm_string *arg);

/* A whole number below 2^64, of digits alone. */
bool arg_u64(const struct rm_string *arg, uint64_t *number);

/* As text of at most size - 1 characters, none of them NUL. */
bool arg_text(const struct rm_string *arg, char *text, size_t size);

#define ITEMS_AT_ONCE 256 /* that a command hands to the library's batch calls */

/* ---- settings: what a server's owner may choose, as arguments of the module, and most of it by
 * CONFIG SET later ---- */

/* Read the arguments: NAME word, DEFAULT spec, LARGEST bytes, DIALECT redis|valkey. NULL, or a
 * spec that says what is wrong. The first thing to be called. */
const char *settings_read(struct rm_string **argv, int argc);

/* Tell the server of them: RM_OK or RM_ERR. */
int settings_register(struct rm_ctx *ctx);

const char *settings_name(void); /* of the module */
const char *settings_spec(void); /* of a filter that WEIR.OBSERVE creates */
uint64_t settings_largest(void); /* bytes that a client's filter may take, 0: any */
bool settings_valkey(void);      /* answer as valkey-bloom where that differs */

/* ---- tables of commands, and how the server is told of them ---- */

/* Which arguments are keys. */
enum command_keys {
    KEY_READ,    /* the first is read */
    KEY_CHANGE,  /* and changed, or made */
    KEYS_COUNTED /* the first is changed by those that the second counts */
};

struct module_command {
    const char *name;
    rm_command_call call;
    const char *flags; /* as the server calls them */
    int arity;         /* with the name; -n: n or more */
    enum command_keys keys;
    const char *summary, *complexity;

    /* A word each: name, #integer, %double, TOKEN=name, or !TOKEN alone; a '?' at the end for
     * what may be left out, a '+' for what may be repeated. With commas between them, names that
     * stand together. The key is not named. */
    const char *arguments;
};

/* Make the commands of a list that ends with a NULL name, all of one ACL category where
 * the server has such. False if another module has one of them: then none is made that
 * was not before it. */
bool commands_create(struct rm_ctx *ctx, const struct module_command *list, const char *category);

extern const struct module_command commands_weir[], commands_bf[], commands_cf[], commands_cms[],
    commands_topk[];

#endif
