/* pg.h - shared declarations of the PostgreSQL extension.
 *
 * The library allocates from memory contexts, so an error of the server frees its handles too.
 * Nothing that can raise an error is called while the library is running. */
#ifndef PG_H
#define PG_H

/* Only functions that SQL calls are exported: a server loads extensions into one name space. */
#define PGDLLEXPORT __attribute__((visibility("default")))

#include <postgres.h>
#include <fmgr.h>
#include <weir/saved.h>
#include <weir/sketch.h>

/* Declare a function that SQL calls. */
#define PG_CALLED_BY_SQL(function)                                                                 \
    PGDLLEXPORT Datum function(PG_FUNCTION_ARGS);                                                  \
    PG_FUNCTION_INFO_V1(function)

/* Define three of them, for the types of keys. Each returns what call(fcinfo, type) returns. */
enum pg_key_type { PG_TEXT_KEY, PG_BYTEA_KEY, PG_BIGINT_KEY };

#define PG_FOR_EACH_KEY_TYPE(function, call)                                                       \
    PG_KEY_TYPE(function##_text, call, PG_TEXT_KEY)                                                \
    PG_KEY_TYPE(function##_bytea, call, PG_BYTEA_KEY)                                              \
    PG_KEY_TYPE(function##_bigint, call, PG_BIGINT_KEY)
#define PG_KEY_TYPE(function, call, type)                                                          \
    PG_CALLED_BY_SQL(function);                                                                    \
    Datum function(PG_FUNCTION_ARGS)                                                               \
    {                                                                                              \
        return call(fcinfo, type);                                                                 \
    }

/* Get a key: text as UTF-8, bytea as it is, bigint as its decimal text, which is put in digits. */
#define PG_DIGITS 24
struct weir_bytes pg_key(Datum value, enum pg_key_type type, char digits[PG_DIGITS]);

/* End the call with an error, "FUNCTION: why", of the caller or of the library. */
void pg_refuse(const char *function, const char *why) pg_attribute_noreturn();
void pg_fail(const char *function, const struct weir_error *error) pg_attribute_noreturn();

/* Options that allocate from a memory context, at most what one value can contain. */
struct weir_options pg_options(MemoryContext context);

/* The bytes of a varlena, detoasted; and a new one for `size` bytes. */
struct weir_bytes pg_bytes(Datum varlena);
bytea *pg_new_bytes(const char *function, size_t size);

/* A weirfilter, opened: views of the shards of a filter, or a sketch. */
struct pg_value {
    MemoryContext context;  /* all its memory; deleting it closes the value */
    struct weir_bytes file; /* an aligned copy */
    size_t at;              /* offset of the filter or sketch, after any notes */
    size_t head, tail;      /* bytes before and after the cells of a single part; else 0 */
    weir_filter **shard;
    uint32_t shards;
    weir_sketch *sketch; /* or NULL */
};

/* Copy and open the bytes of a weirfilter. Raises an error if they are invalid. Cells are verified
 * if `verify`: a value that is stored was verified when it was made. */
struct pg_value *pg_open(MemoryContext parent, const char *function, struct weir_bytes file,
                         bool verify);

/* Raise an error unless the value is a filter or, if is_sketch, a sketch; its keys must have been
 * used as given. */
void pg_require(const char *function, const struct pg_value *value, bool is_sketch);

#endif
