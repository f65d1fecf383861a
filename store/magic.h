/* magic.h - detects the type of a file from its first bytes. */
#ifndef WEIR_STORE_MAGIC_H
#define WEIR_STORE_MAGIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAGIC_BYTES 16 /* of the longest magic number, except tar's */

enum file_kind {
    KIND_RECORDS, /* unknown; probably text */
    KIND_GZIP,    /* decompressed by tool/unpack */
    KIND_ZSTD,
    KIND_XZ,
    KIND_BZIP2, /* from here on rejected */
    KIND_ZIP,
    KIND_SQLITE,
    KIND_WEIR, /* a filter, sketch or state file */
    KIND_PARQUET,
    KIND_ARROW,
    KIND_AVRO,
    KIND_ORC,
    KIND_TAR,
    KIND_LZ4,
    KIND_7Z,
    KIND_OLE /* Excel and Word before 2007 */
};

/* The type of a file that begins with these bytes. Sets *open if more bytes may change the result;
 * no line of text ends before it is certain. */
enum file_kind magic_kind(const void *bytes, size_t size, bool *open);

/* The type of an open regular file from its current offset on. False and errno if it cannot be
 * read. */
bool magic_of_file(int fd, enum file_kind *kind);

/* Does tool/unpack decompress it? */
static inline bool magic_is_packed(enum file_kind kind)
{
    return kind >= KIND_GZIP && kind <= KIND_XZ;
}

/* "gzip", "tar archive", ... */
const char *magic_name(enum file_kind kind);

/* How to get records out of such a file; NULL for KIND_RECORDS. */
const char *magic_fix(enum file_kind kind);

#endif
