/* magic.h - what a file is, by its first bytes. */
#ifndef WEIR_UNPACK_MAGIC_H
#define WEIR_UNPACK_MAGIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAGIC_BYTES 16 /* of the longest, tar's apart */

enum file_kind {
    KIND_RECORDS, /* nothing that is known here: text, most likely */
    KIND_GZIP,    /* compressed, and read: see unpack.h */
    KIND_ZSTD,
    KIND_XZ,
    KIND_BZIP2, /* compressed, and not read */
    KIND_ZIP,
    KIND_SQLITE, /* a database */
    KIND_WEIR,   /* a filter, sketch or state file */
    KIND_PARQUET,
    KIND_ARROW,
    KIND_AVRO,
    KIND_ORC,
    KIND_TAR,
    KIND_LZ4,
    KIND_7Z,
    KIND_OLE /* Excel and Word before 2007 */
};

/* The kind of a file that begins with these bytes. Whether more of them may make it another
 * is told by *open: no line of text ends before that is known. */
enum file_kind magic_kind(const void *bytes, size_t size, bool *open);

/* The same of an open regular file, from where it stands. False if it cannot be read; errno
 * says why. */
bool magic_of_file(int fd, enum file_kind *kind);

/* Is it decompressed here? */
static inline bool magic_is_packed(enum file_kind kind)
{
    return kind >= KIND_GZIP && kind <= KIND_XZ;
}

/* "gzip", "zstd", "tar archive", ... */
const char *magic_name(enum file_kind kind);

/* How to get records out of a file of this kind; NULL if callers have words of their own. */
const char *magic_fix(enum file_kind kind);

#endif
