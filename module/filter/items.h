/* items.h - the items of a command: bytes or hashes, with or without time and importance. */
#ifndef MODULE_ITEMS_H
#define MODULE_ITEMS_H

#include <stdbool.h>
#include <weir.h>

#include "server/abi.h"

struct items {
    struct rm_string **argv;
    size_t n;
    bool hashed;     /* 16 bytes each: lo and hi of struct weir_key, little-endian */
    bool timed;      /* a time in milliseconds before each */
    bool weighted;   /* an importance before each */
    bool may_lack;   /* no items are valid too */
    uint64_t latest; /* the highest of their times */
};

/* Take the rest of the arguments: NULL, or what is wrong with them. All are checked, because a
 * command is carried out completely or not at all. */
const char *items_take(struct items *items, struct rm_string **argv, int argc);

/* The keys of n items, from a number on. */
void items_keys(const struct items *items, size_t from, size_t n, const weir_filter *w,
                struct weir_key *keys);

/* Their times, if they have any. */
void items_times(const struct items *items, size_t from, size_t n, uint64_t *times);

/* A hash of all of them. */
uint64_t items_print(const struct items *items);

#endif
