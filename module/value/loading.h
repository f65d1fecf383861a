/* loading.h - a value that arrives in chunks, before it is complete.
 *
 * It is a value of its own type, so that it is replicated, saved, counted and deleted as
 * any other; no command takes it for a filter. The last chunk puts the real one in its
 * place, or takes it away if the bytes are not a file of weir. */
#ifndef MODULE_LOADING_H
#define MODULE_LOADING_H

#include <stdbool.h>
#include <stdint.h>

#include "server/abi.h"
#include "value/image.h"
#include "value/value.h"

struct value_loading {
    struct value is;
    uint64_t have;    /* bytes */
    uint64_t version; /* of what is transferred, as its cursor tells */
    uint64_t total;   /* bytes that will come; 0 if that was not told */
    uint64_t chunks;
    struct loading_chunk *first, **last;
};

/* One that has no bytes yet; NULL if memory is short. */
struct value_loading *loading_begin(uint64_t version, uint64_t total);

/* Add a chunk; false if memory is short. */
bool loading_add(struct value_loading *l, const void *data, size_t size);

/* The value that they make: NULL with a message. Chunks are given back as they are read, so
 * that afterwards there is nothing but to free it. */
struct value *loading_finish(struct value_loading *l, uint64_t most, struct weir_error *error);

/* ---- what WEIR.LOAD and BF.LOADCHUNK share ---- */

/* Put the value in the place of the chunks that make it, and answer OK; or take the key away and
 * answer what is wrong with them. */
int transfer_finish(struct rm_ctx *ctx, struct rm_string *name, struct opened *o,
                    struct value_loading *l);

/* May a client hold as many bytes in one key? */
bool transfer_fits(struct rm_ctx *ctx, uint64_t bytes);

/* ---- where a transfer stands.
 *
 * WEIR.SAVE and WEIR.LOAD write it "OFFSET-VERSION": the bytes up to the end of this chunk, and
 * which state of the value they are of; 0 goes with the last chunk. Of a file that is sent from
 * elsewhere the offset alone will do. In an AOF, "OFFSET-VERSION-TOTAL-CHUNKS" has what
 * BF.LOADCHUNK was told. BF.SCANDUMP needs a whole number that clients in JavaScript can
 * hold: 20 bits of the version above 32 of the number of the chunk ---- */

#define CURSOR_SIZE 96

struct cursor {
    uint64_t offset, version, total, chunks;
};

void cursor_write(char text[CURSOR_SIZE], uint64_t offset, uint64_t version, uint64_t total,
                  uint64_t chunks);
bool cursor_read(const struct rm_string *text, struct cursor *c);

/* The first chunk of BF.SCANDUMP has but a word and the bytes that will follow. */
#define HEAD_SIZE 16

void cursor_head(uint8_t head[HEAD_SIZE], uint64_t total);
bool cursor_is_head(const uint8_t *data, size_t size, uint64_t *total);

/* Into an AOF, as BF.LOADCHUNK. */
void cursor_rewrite_head(struct rm_io *io, struct rm_string *key, uint64_t version, uint64_t total);

#endif
