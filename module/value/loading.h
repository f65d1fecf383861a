/* loading.h - a value that is being loaded in chunks.
 *
 * It has a type of its own, so that it is replicated, saved and deleted like any other, but is not
 * mistaken for a filter. After the last chunk it is replaced by the value, or deleted if the bytes
 * are not valid. */
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
    uint64_t version; /* of the transferred value, from the cursor */
    uint64_t total;   /* bytes of all chunks; 0: unknown */
    uint64_t chunks;
    struct loading_chunk *first, *last;
};

/* Without chunks; NULL if out of memory. */
struct value_loading *loading_begin(uint64_t version, uint64_t total);

/* Add a chunk; false if out of memory. */
bool loading_add(struct value_loading *l, const void *data, size_t size);

/* ---- for WEIR.LOAD and LOADCHUNK ---- */

/* The last chunk has arrived, in argv[3]: replace the chunks by their value and reply OK, or delete
 * the key and reply with an error. Large values are read in a thread. */
int transfer_finish(struct rm_ctx *ctx, struct rm_string **argv, struct value_loading *l);

/* Does LARGEST allow a client to load this many bytes? */
bool transfer_fits(struct rm_ctx *ctx, uint64_t bytes);

/* ---- for WEIR.SAVE and SCANDUMP ---- */

/* Fill a chunk and reply with it, in a thread if that takes long. The key is argv[1]. */
int transfer_chunk(struct rm_ctx *ctx, struct rm_string **argv, int argc, struct value *v,
                   struct image_chunk chunk,
                   void (*reply)(struct rm_ctx *ctx, const struct value *v,
                                 const struct image_chunk *chunk));

/* ---- cursors
 *
 * The cursor of WEIR.SAVE and WEIR.LOAD is "OFFSET-VERSION": the bytes up to the end of the chunk,
 * and the number of the value's state; 0 with the last chunk. For a file from elsewhere the offset
 * is enough. In an AOF it is "OFFSET-VERSION-TOTAL-CHUNKS". BF.SCANDUMP needs an integer that
 * JavaScript can represent: 20 bits of the version, then 32 bits of the chunk's number ---- */

#define CURSOR_SIZE 96

struct cursor {
    uint64_t offset, version, total, chunks;
};

void cursor_write(char text[CURSOR_SIZE], uint64_t offset, uint64_t version, uint64_t total,
                  uint64_t chunks);
bool cursor_read(const struct rm_string *text, struct cursor *c);

/* The first chunk of BF.SCANDUMP: a word and the size of the following chunks. */
#define HEAD_SIZE 16

void cursor_head(uint8_t head[HEAD_SIZE], uint64_t total);
bool cursor_is_head(const uint8_t *data, size_t size, uint64_t *total);

/* Write it to an AOF as BF.LOADCHUNK. */
void cursor_rewrite_head(struct rm_io *io, struct rm_string *key, uint64_t version, uint64_t total);

#endif
