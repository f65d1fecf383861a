/* args.h - reading the arguments of a command. */
#ifndef MODULE_ARGS_H
#define MODULE_ARGS_H

#include <stdbool.h>
#include <weir.h>

#include "server/abi.h"

/* The argument is this word, in any case. */
bool arg_is(const struct rm_string *arg, const char *word);

struct weir_bytes arg_bytes(const struct rm_string *arg);

/* A whole number below 2^64, of digits alone. */
bool arg_u64(const struct rm_string *arg, uint64_t *number);

/* As text of at most size - 1 characters, none of them NUL. */
bool arg_text(const struct rm_string *arg, char *text, size_t size);

#define ITEMS_AT_ONCE 256 /* that a command hands to the library's batch calls */

#endif
