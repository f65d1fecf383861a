/* once.h - replies that are kept for retries: a retry gets the same reply and changes nothing.
 *
 * A producer numbers its requests. The replies to its 16 highest numbers are kept, for at most 1024
 * producers; they are saved and replicated with the key. A request below those numbers is
 * rejected: it may have been applied, and its reply was evicted. When there are more producers,
 * the one that was silent longest is evicted. From then on an unknown producer must start above
 * every number of an evicted one, and an evicted one that returns never goes below those. So no
 * request is ever applied twice. */
#ifndef MODULE_ONCE_H
#define MODULE_ONCE_H

#include "value/image.h"

#define ONCE_ITEMS 8192 /* of one command: a KiB of answers */
#define ONCE_NAME 256   /* bytes of a producer's name */

struct once;

enum once_state {
    ONCE_FRESH, /* apply it */
    ONCE_KNOWN, /* was applied: return the kept reply */
    ONCE_OTHER, /* the number was applied with other items */
    ONCE_GONE   /* too low: not above the limit of once_look() */
};

/* A request. */
struct once_command {
    struct weir_bytes producer;
    uint64_t number; /* below UINT64_MAX */
    uint64_t print;  /* hash of its items */
    uint32_t n;      /* items */
};

/* Look up a request. Sets *answers (a bit per item) for ONCE_KNOWN, *limit for ONCE_GONE. */
enum once_state once_look(const struct once *o, const struct once_command *c,
                          const uint8_t **answers, uint64_t *limit);

/* Add a fresh request; returns its reply bits, for the caller to fill in. NULL if out of memory;
 * then nothing has changed. Creates *o if it is NULL. */
uint8_t *once_begin(struct once **o, const struct once_command *c);

struct once *once_copy(const struct once *from); /* NULL: no memory */
void once_free(struct once *o);
size_t once_memory(const struct once *o);
size_t once_producers(const struct once *o);

bool once_write(const struct once *o, weir_sink sink, void *context);
struct once *once_read(struct weir_bytes body, struct weir_error *error);

#endif
