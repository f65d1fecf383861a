/* stand_in_inside.h - declarations for the files of the stand-in server; see stand_in.h. */
#ifndef SUPPORT_STAND_IN_INSIDE_H
#define SUPPORT_STAND_IN_INSIDE_H

#include <stdarg.h>

#include "server/abi.h"
#include "support/stand_in.h"

#define KEYS 32
#define TYPES 16
#define COMMANDS 96

struct rm_string {
    size_t size;
    char *data; /* terminated by NUL */
};

struct rm_type {
    const char *name;
    int encoding;
    struct rm_type_methods methods;
};

struct stored_key {
    struct rm_string *name;
    struct rm_type *type;
    void *value;
};

struct rm_key {
    struct stored_key *at; /* NULL: no value */
    struct rm_string *name;
    bool writable;
};

struct rm_command {
    const char *name;
    rm_command_call call;
    int arity;
};

struct rm_ctx {
    int (*get_api)(const char *name, void *call); /* the first one */
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
    struct words *commands; /* an AOF */
    size_t commands_n;
};

struct rm_digest {
    uint64_t sum;
};

struct rm_defrag {
    int moved;
    unsigned long cursor;
};

#define DEPTH 8

struct stand_reply {
    char text[1 << 16];
    size_t n;
    long left[DEPTH]; /* elements still missing from each array; -1 - n: an open array with n so far
                       */
    int depth;
    int whole; /* complete replies */
};

/* The whole state. */
struct stand {
    struct rm_ctx context;
    struct stored_key databases[STAND_IN_DATABASES][KEYS];
    int database; /* of the running command */
    struct rm_type types[TYPES];
    size_t types_n;
    struct rm_command commands[COMMANDS];
    size_t commands_n;
    int opened; /* keys that were not closed */
    struct words running;
    struct words propagated[8];
    size_t propagated_n;
    size_t held, allocations, fail_from;
    struct stand_reply reply;
};

extern struct stand stand;

/* The calls of abi.h that a file implements; ends with an entry without a name. */
struct stand_in_call {
    const char *name;
    void (*call)(void);
};

#define STAND_IN_CALL(name, call)                                                                  \
    {                                                                                              \
        "RedisModule_" #name, (void (*)(void))(call)                                               \
    }

extern const struct stand_in_call stand_in_memory_calls[], stand_in_replies_calls[],
    stand_in_keys_calls[], stand_in_io_calls[], stand_in_module_calls[];

void *stand_take(size_t size);
void stand_give(void *block);
struct rm_string *stand_string(const void *data, size_t size);
void stand_add_word(struct words *w, struct rm_string *s);
void stand_free_words(struct words *w);
struct stored_key *stand_find_key(int in, const struct rm_string *name);
void stand_remove_key(struct stored_key *k);
void stand_put_value(int in, struct rm_string *name, struct rm_type *type, void *value);
void stand_format_words(struct words *w, const char *command, const char *format,
                        va_list arguments);
struct rm_command *stand_get_command(struct rm_ctx *ctx, const char *name);
int stand_wrong_arity(struct rm_ctx *ctx);
int stand_replicate_verbatim(struct rm_ctx *ctx);
void stand_free_string(struct rm_ctx *ctx, struct rm_string *s);
size_t stand_size_of(void *block);
void stand_save_string(struct rm_io *io, const char *data, size_t size);

#endif
