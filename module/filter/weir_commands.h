/* weir_commands.h - the commands WEIR.*, the values of their keys, and their items. */
#ifndef MODULE_WEIR_COMMANDS_H
#define MODULE_WEIR_COMMANDS_H

#include <stdbool.h>
#include <weir.h>

#include "filter/once.h"
#include "server/abi.h"
#include "value/value.h"

/* ---- a filter, and the replies kept for producers ---- */

struct filter_value {
    struct value is;
    weir_filter *w;
    bool timed;        /* it has span= or ttl=, so it needs the time */
    bool expires;      /* it has ttl= */
    bool fixed;        /* it accepts no keys (weir build --fixed) */
    struct once *once; /* NULL: no producer so far */
};

/* A value that owns a filter of this many bytes. NULL if out of memory; then the filter is
 * closed. */
struct filter_value *filter_value_of(weir_filter *w, uint64_t bytes);

/* ---- items of a command: bytes or hashes, with or without time, TTL and importance ---- */

struct items {
    struct rm_string **argv;
    size_t n;
    bool hashed;     /* 16 bytes each: lo and hi of struct weir_key, little-endian */
    bool timed;      /* a time in milliseconds before each */
    bool has_ttls;   /* a TTL in milliseconds before each, after its time */
    bool weighted;   /* an importance before each */
    bool may_lack;   /* having no items is valid */
    uint64_t latest; /* the highest of their times */
};

/* Parse the rest of the arguments: NULL, or what is wrong. All are checked, because a command is
 * carried out completely or not at all. */
const char *items_take(struct items *items, struct rm_string **argv, int argc);

/* Hash n items, from a number on. */
void items_keys(const struct items *items, size_t from, size_t n, const weir_filter *w,
                struct weir_key *keys);

/* Their times and TTLs, if they have any. */
void items_times(const struct items *items, size_t from, size_t n, uint64_t *times);
void items_ttls(const struct items *items, size_t from, size_t n, uint64_t *ttls);

/* A hash of all of them. */
uint64_t items_print(const struct items *items);

/* ---- commands ---- */

/* Create the filter of a missing key from a spec, and replicate it. NULL after an error reply. */
struct filter_value *filter_create(struct rm_ctx *ctx, struct rm_string *name,
                                   struct weir_bytes text);

int command_observe(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int command_merge(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int command_info(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int command_save(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int command_load(struct rm_ctx *ctx, struct rm_string **argv, int argc);

#endif
