/* image.h - the bytes of a value: where they come from, where they go. */
#ifndef MODULE_IMAGE_H
#define MODULE_IMAGE_H

#include <stdbool.h>
#include <weir.h>

#include "value/value.h"

/* An image that arrives in pieces. */
struct image_in {
    /* Give the next piece in data and size; false at the end, and if it cannot (failed). */
    bool (*next)(struct image_in *in);
    void *context;
    const uint8_t *data;
    size_t size;
    bool failed;
    uint64_t most; /* bytes that a filter in it may take, 0: any */
    uint8_t head[64];
    size_t head_left; /* bytes of head that were looked at and not yet taken */
};

/* Fill size bytes: a weir_source whose context is the image. */
bool image_get(void *in, void *data, size_t size);

/* The kind of the part that comes next, which is not taken yet; 0 at the end, UINT32_MAX if
 * it is no part. */
uint32_t image_kind(struct image_in *in);

/* Of how many shards is the part that image_kind() was told of? */
uint32_t image_shards(const struct image_in *in);

/* Take a whole part: server memory, to be given back by the caller; NULL with a message.
 * *part looks into it. */
void *image_part(struct image_in *in, struct weir_part *part, struct weir_error *error);

/* Set the error of an image: damaged (WEIR_BAD_DATA), or too large (WEIR_NO_MEMORY). */
void image_refuse(struct weir_error *error, const char *text);
void image_no_memory(struct weir_error *error);

/* A value from all of an image: NULL with a message. */
struct value *image_read(const struct family *family, struct image_in *in,
                         struct weir_error *error);

/* ---- RDB and AOF ---- */

void image_save(const struct value *v, struct rm_io *io);
struct value *image_load(const struct family *family, struct rm_io *io);
void image_rewrite(const struct value *v, struct rm_io *io, struct rm_string *key);
void image_digest(const struct value *v, struct rm_digest *digest);

/* ---- chunks ---- */

/* The bytes from offset on, at most size; fewer at the end. Server memory in *data, NULL if
 * there is none. */
size_t image_chunk(const struct value *v, uint64_t offset, size_t size, uint8_t **data);

/* For a family's write(): does the sink only pass over the next size bytes? Then they are counted,
 * and need not be made. */
bool image_passes(weir_sink sink, void *context, uint64_t size);

/* All bytes there are. */
uint64_t image_size(const struct value *v);

#define CHUNK_DEFAULT (16 << 20)
#define PIECE (1 << 20) /* an RDB compresses a string with a second buffer of its size */

/* ---- the body of a part that is ours alone: numbers of 8 bytes, and bytes ---- */

/* Grows in server memory; begins as {0}. */
struct bytes_out {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

void put_bytes(struct bytes_out *out, const void *data, size_t size);
void put_number(struct bytes_out *out, uint64_t number);

/* Write it as a part and give its memory back. False if the sink refused, or memory was short. */
bool put_part(struct bytes_out *out, uint32_t kind, weir_sink sink, void *context);

/* Take from the front; false if there is not as much. to may be NULL. */
bool get_bytes(struct weir_bytes *in, void *to, size_t size);
bool get_number(struct weir_bytes *in, uint64_t *number);

#endif
