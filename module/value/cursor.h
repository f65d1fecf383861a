/* cursor.h - where a transfer stands.
 *
 * WEIR.SAVE and WEIR.LOAD write it "OFFSET-VERSION": the bytes up to the end of this chunk, and
 * which state of the value they are of; 0 goes with the last chunk. Of a file that is sent from
 * elsewhere the offset alone will do. In an AOF, "OFFSET-VERSION-TOTAL-CHUNKS" has what
 * BF.LOADCHUNK was told. BF.SCANDUMP needs a whole number that clients in JavaScript can
 * hold: 20 bits of the version above 32 of the number of the chunk. */
#ifndef MODULE_CURSOR_H
#define MODULE_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "server/abi.h"

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
