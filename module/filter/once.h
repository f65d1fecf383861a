/* once.h - answers that were given, so that a retry gets the same and changes nothing.
 *
 * A producer numbers its commands. The answers to its 16 highest numbers are remembered, of
 * at most 1024 producers; they are saved and replicated with the key. A number below
 * those is refused: it may have been applied, and its answer is gone. When a producer too
 * many comes, the one that was silent longest is dropped, and from then on a producer that
 * is not known must begin above every number that a dropped one had used; and one that comes
 * again never goes below those. So no number is ever applied twice. */
#ifndef MODULE_ONCE_H
#define MODULE_ONCE_H

#include "value/image.h"

#define ONCE_ITEMS 8192 /* of one command: a KiB of answers */
#define ONCE_NAME 256   /* bytes of a producer's name */

struct once;

enum once_state {
    ONCE_FRESH, /* to be applied */
    ONCE_KNOWN, /* was applied: here is the answer */
    ONCE_OTHER, /* was applied with other items */
    ONCE_GONE   /* too low: not above the limit that once_look() tells */
};

/* A command, as its producer names it. */
struct once_command {
    struct weir_bytes producer;
    uint64_t number; /* below UINT64_MAX */
    uint64_t print;  /* hash of its items */
    uint32_t n;      /* items */
};

/* What is known of it. *answers, a bit for each item, or *limit are set where they have a meaning.
 */
enum once_state once_look(const struct once *o, const struct once_command *c,
                          const uint8_t **answers, uint64_t *limit);

/* Make room for the answers of a fresh command: bits to be filled in; NULL if memory is
 * short, then nothing has changed. *o is made if it is NULL. */
uint8_t *once_begin(struct once **o, const struct once_command *c);

struct once *once_copy(const struct once *from); /* NULL: no memory */
void once_free(struct once *o);
size_t once_memory(const struct once *o);
size_t once_producers(const struct once *o);

bool once_write(const struct once *o, weir_sink sink, void *context);
struct once *once_read(struct weir_bytes body, struct weir_error *error);

#endif
