/* redisbloom.h - hash functions of RedisBloom, and reading and writing its values.
 *
 * A key that was loaded from RedisBloom keeps RedisBloom's type, layout and hash functions. It is
 * read from and written to an RDB in RedisBloom's format, so that either module can load it.
 *
 * A value is described once, by a function that passes each of its fields to an archive in the
 * order of the format. The archive reads or writes, in an RDB or in an image (image.h). In an
 * image the numbers and texts form one part, and each block of cells is a part after it. */
#ifndef MODULE_REDISBLOOM_H
#define MODULE_REDISBLOOM_H

#include "value/image.h"

/* MurmurHash2 with 32 bits and MurmurHash64A, by Austin Appleby. */
uint32_t murmur32(const void *data, size_t size, uint32_t seed);
uint64_t murmur64(const void *data, size_t size, uint64_t seed);

struct archive {
    bool reading;
    bool failed;
    uint64_t most, used; /* maximum bytes of all blocks that are read, 0: no limit; bytes so far */

    struct rm_io *io; /* an RDB, or NULL for an image: */
    struct image_in *in;
    struct weir_bytes numbers; /* still to be read */
    struct bytes_out *out;     /* numbers and texts are written here, if not NULL */
    weir_sink sink;            /* blocks are written here, if not NULL */
    void *context;
};

/* The fields of a value. Each returns false once the archive has failed. */
bool archive_number(struct archive *a, uint64_t *number);
bool archive_double(struct archive *a, double *number);

/* A block of cells in server memory, owned by the caller. When reading, a block of another size
 * than `size` fails. */
bool archive_block(struct archive *a, uint8_t **data, uint64_t size);

/* A short string in server memory. */
bool archive_text(struct archive *a, char **data, uint64_t *size);

/* Values of a family with a pass(). Reading returns NULL, with a message for images and in the log
 * for an RDB. */
bool archive_write(const struct value *v, weir_sink sink, void *context);
struct value *archive_read(const struct family *family, struct image_in *in,
                           struct weir_error *error);
void archive_save(const struct value *v, struct rm_io *io);
struct value *archive_load(const struct family *family, struct rm_io *io);

#endif
