/* image.h - reading and writing the image of a value: see value.h. */
#ifndef MODULE_IMAGE_H
#define MODULE_IMAGE_H

#include <stdbool.h>
#include <weir.h>

#include "value/value.h"

/* An image that is read in pieces. */
struct image_in {
    /* Set data and size to the next piece. False at the end, and after an error (failed). */
    bool (*next)(struct image_in *in);
    void *context;
    const uint8_t *data;
    size_t size;
    bool failed;
    uint64_t most; /* maximum bytes of a filter in it, 0: no limit */
    uint8_t head[64];
    size_t head_left; /* bytes of head that were not read yet */
};

/* Read size bytes: a weir_source whose context is the image. */
bool image_get(void *in, void *data, size_t size);

/* The kind of the next part, without reading the part. 0 at the end, UINT32_MAX if it is no part.
 */
uint32_t image_kind(struct image_in *in);

/* Number of shards of that part's filter. */
uint32_t image_shards(const struct image_in *in);

/* Read a whole part into server memory, owned by the caller; NULL with a message. *part refers to
 * it. */
void *image_part(struct image_in *in, struct weir_part *part, struct weir_error *error);

/* The same for a part of this kind; *body is its body. */
void *image_head(struct image_in *in, uint32_t kind, struct weir_bytes *body,
                 struct weir_error *error);

/* Set the error of an image: damaged (WEIR_BAD_DATA), or too large (WEIR_NO_MEMORY). */
void image_refuse(struct weir_error *error, const char *text);
void image_no_memory(struct weir_error *error);

/* Read a value from a whole image: NULL with a message. */
struct value *image_read(const struct family *family, struct image_in *in,
                         struct weir_error *error);

/* ---- RDB and AOF ---- */

/* Maximum bytes of a value that is read from an RDB; 0: no limit. */
uint64_t image_limit(struct rm_io *io);

void image_save(const struct value *v, struct rm_io *io);
struct value *image_load(const struct family *family, struct rm_io *io);
void image_rewrite(const struct value *v, struct rm_io *io, struct rm_string *key);
void image_digest(const struct value *v, struct rm_digest *digest);

/* ---- chunks ---- */

struct image_chunk {
    uint64_t offset;
    size_t size;   /* maximum */
    uint8_t *data; /* in server memory, owned by the caller; NULL if out of memory */
    size_t filled; /* less than size at the end */
};

/* Fill the chunk of an image. False, and nothing is filled, if `quick` and that would read a whole
 * large filter, because its checksums are in the chunk. */
bool image_fill(const struct value *v, struct image_chunk *chunk, bool quick);

/* For a family's write(): true if the sink skips the next size bytes, so that they need not be
 * computed. */
bool image_passes(weir_sink sink, void *context, uint64_t size);

/* The same for a part with a body of this size. */
bool image_passes_part(weir_sink sink, void *context, uint64_t size);

/* Size of the image. */
uint64_t image_size(const struct value *v);

#define IMAGE_ENCODING 1        /* in an RDB */
#define CHUNK_DEFAULT (4 << 20) /* 16 MiB took 40 ms on a busy machine */
#define PIECE (1 << 20)         /* an RDB compresses a string with a second buffer of its size */

/* ---- little-endian numbers of some bytes ---- */

static inline uint64_t load_number(const uint8_t *at, size_t bytes)
{
    uint64_t number = 0;

    while (bytes-- > 0)
        number = number << 8 | at[bytes];
    return number;
}

static inline void store_number(uint8_t *at, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(number >> 8 * i);
}

static inline uint32_t load32(const uint8_t *at)
{
    return (uint32_t)load_number(at, 4);
}

static inline void store32(uint8_t *at, uint32_t number)
{
    store_number(at, number, 4);
}

/* ---- bodies of the module's own parts: numbers of 8 bytes, and bytes ---- */

/* A buffer that grows; initially {0}. */
struct bytes_out {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

void put_bytes(struct bytes_out *out, const void *data, size_t size);
void put_number(struct bytes_out *out, uint64_t number);
void put_double(struct bytes_out *out, double number);

/* Write the buffer as a part and free it. False if the sink failed or memory was short. */
bool put_part(struct bytes_out *out, uint32_t kind, weir_sink sink, void *context);

/* Read from the front; false if there are fewer bytes. `to` may be NULL. */
bool get_bytes(struct weir_bytes *in, void *to, size_t size);
bool get_number(struct weir_bytes *in, uint64_t *number);
bool get_double(struct weir_bytes *in, double *number);

#endif
