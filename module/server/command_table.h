/* command_table.h - tables of commands, and how the server is told of them. */
#ifndef MODULE_COMMAND_TABLE_H
#define MODULE_COMMAND_TABLE_H

#include <stdbool.h>

#include "server/abi.h"

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
