/* pg.h - shared declarations of the PostgreSQL extension: values of the type weirfilter, keys, and
 * memory.
 *
 * The library allocates from memory contexts, so an error of the server frees its handles too. No
 * function of the server that can raise an error is called while the library is running. */
#ifndef PG_H
#define PG_H

/* Only functions that SQL calls are exported: a server loads extensions into one name space. */
#define PGDLLEXPORT __attribute__((visibility("default")))

#include <postgres.h>
#include <fmgr.h>
#include <utils/memutils.h>
#include <weir/saved.h>
#include <weir/sketch.h>

/* Declare a function that SQL calls. */
#define PG_CALLED_BY_SQL(function)                                                                 \
    PGDLLEXPORT Datum function(PG_FUNCTION_ARGS);                                                  \
    PG_FUNCTION_INFO_V1(function)

/* End the call with an error: "FUNCTION: why". */
void pg_fail(const char *function, const struct weir_error *error) pg_attribute_noreturn();

/* End the call with an error of the caller's text. */
void pg_refuse(const char *function, const char *why) pg_attribute_noreturn();

/* Options that allocate from a memory context, at most what one value can contain. */
struct weir_options pg_options(MemoryContext context);

/* Get an argument as a key: text as UTF-8, bytea as it is, bigint as its decimal text. */
struct pg_key {
    struct weir_bytes bytes;
    char digits[24];
};

void pg_key_text(FunctionCallInfo call, int i, struct pg_key *key);
void pg_key_bytes(FunctionCallInfo call, int i, struct pg_key *key);
void pg_key_integer(FunctionCallInfo call, int i, struct pg_key *key);

/* A weirfilter, opened: views of the shards of a filter, or a sketch. */
struct pg_value {
    MemoryContext context;  /* all its memory */
    struct weir_bytes file; /* an aligned copy */
    size_t head, tail;      /* bytes outside the cells of a single part; else 0 */
    weir_filter **shard;
    uint32_t shards;
    weir_sketch *sketch; /* or NULL */
};

/* Copy and open the bytes of a weirfilter. Raises an error if they are not valid. The cells are
 * verified if `verify`; a value that is stored was verified when it was made. */
struct pg_value *pg_value_open(MemoryContext parent, const char *function, struct weir_bytes file,
                               bool verify);
void pg_value_close(struct pg_value *value);

/* Raise an error if the value is a sketch, or if its keys were not used as given. */
void pg_value_require_filter(const char *function, const struct pg_value *value);
void pg_value_require_sketch(const char *function, const struct pg_value *value);
void pg_value_require_plain_keys(const char *function, const struct pg_value *value);

/* The bytes of an argument that is a varlena, detoasted. */
struct weir_bytes pg_bytes(Datum varlena);

/* A new varlena for a saved handle of `size` bytes. */
bytea *pg_new_bytes(const char *function, size_t size);

#endif
