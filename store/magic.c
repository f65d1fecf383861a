/* magic.c - see magic.h. */
#include "magic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAR_BLOCK 512

static const struct magic {
    enum file_kind kind;
    uint8_t size;
    uint8_t bytes[MAGIC_BYTES];
    uint8_t loose; /* bits of the first byte that are ignored */
    bool letters;  /* text may begin with these bytes: the following bytes decide */
} magics[] = {
    {KIND_GZIP, 3, {0x1f, 0x8b, 8}, 0, false},
    {KIND_ZSTD, 4, {0x28, 0xb5, 0x2f, 0xfd}, 0, false},
    {KIND_ZSTD, 4, {0x50, 0x2a, 0x4d, 0x18}, 0x0f, false}, /* a skippable frame */
    {KIND_XZ, 6, {0xfd, '7', 'z', 'X', 'Z', 0}, 0, false},
    {KIND_BZIP2, 10, {'B', 'Z', 'h', '0', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59}, 0, false},
    {KIND_ZIP, 4, {'P', 'K', 3, 4}, 0, false},
    {KIND_SQLITE, 16, "SQLite format 3", 0, false},
    {KIND_WEIR, 4, {'W', 'E', 'I', 'R'}, 0, true}, /* a version below 32 follows */
    {KIND_PARQUET, 4, {'P', 'A', 'R', '1'}, 0, true},
    {KIND_PARQUET, 4, {'P', 'A', 'R', 'E'}, 0, true},         /* encrypted */
    {KIND_ARROW, 6, {'A', 'R', 'R', 'O', 'W', '1'}, 0, true}, /* two NULs follow */
    {KIND_AVRO, 4, {'O', 'b', 'j', 1}, 0, false},
    {KIND_ORC, 3, {'O', 'R', 'C'}, 0, true},
    {KIND_LZ4, 4, {0x04, 0x22, 0x4d, 0x18}, 0, false},
    {KIND_7Z, 6, {'7', 'z', 0xbc, 0xaf, 0x27, 0x1c}, 0, false},
    {KIND_OLE, 8, {0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1}, 0, false},
};

/* The number of first bytes that equal the magic's. */
static size_t agree(const struct magic *m, const uint8_t *bytes, size_t size)
{
    size_t i = 0;

    for (; i < size && i < m->size; i++) {
        bool level = m->kind == KIND_BZIP2 && i == 3 && bytes[3] >= '1' && bytes[3] <= '9';
        uint8_t loose = i == 0 ? m->loose : 0;

        if (!level && (bytes[i] & ~loose) != m->bytes[i])
            break;
    }
    return i;
}

/* Are the bytes after a magic of letters not text? Text may contain single NULs (-z) and ESC
 * (colored logs), but no other control characters and no two NULs in a row. */
static bool is_binary(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool pair = bytes[i] == 0 && i + 1 < size && bytes[i + 1] == 0;

        if (pair || (bytes[i] < ' ' && !strchr("\b\t\n\v\f\r\x1b", bytes[i])))
            return true;
    }
    return false;
}

/* The bytes begin with a magic of letters: is the file of that kind? Sets *open if the next bytes
 * decide and no record has ended. */
static bool is_confirmed(const struct magic *m, const uint8_t *bytes, size_t size, bool *open)
{
    size_t end = size < MAGIC_BYTES ? size : MAGIC_BYTES;

    if (is_binary(bytes + m->size, end - m->size))
        return true;
    *open |= size < MAGIC_BYTES && !memchr(bytes, '\n', size) && !memchr(bytes, 0, size);
    return false;
}

/* "ustar" at offset 257, and a correct header checksum: the sum of all bytes, with blanks for its
 * own eight. */
static bool is_tar(const uint8_t *bytes, size_t size)
{
    char digits[9] = "";
    unsigned long sum = 8ul * ' ';

    if (size < TAR_BLOCK || memcmp(bytes + 257, "ustar", 5) != 0)
        return false;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= 148 && i < 156 ? 0 : bytes[i];
    memcpy(digits, bytes + 148, 8);
    return strtoul(digits, NULL, 8) == sum;
}

enum file_kind magic_kind(const void *bytes, size_t size, bool *open)
{
    *open = false;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        const struct magic *m = &magics[i];
        size_t n = agree(m, bytes, size);

        if (n == m->size && (!m->letters || is_confirmed(m, bytes, size, open)))
            return m->kind;
        *open |= n == size && n < m->size;
    }
    return is_tar(bytes, size) ? KIND_TAR : KIND_RECORDS;
}

bool magic_of_file(int fd, enum file_kind *kind)
{
    off_t at = lseek(fd, 0, SEEK_CUR);
    char head[TAR_BLOCK];
    size_t size = 0;
    ssize_t n;
    bool open;

    at = at > 0 ? at : 0;
    do {
        n = pread(fd, head + size, sizeof head - size, at + (off_t)size);
        size += n > 0 ? (size_t)n : 0;
    } while (size < sizeof head && (n > 0 || (n < 0 && errno == EINTR)));
    *kind = magic_kind(head, size, &open);
    return n >= 0;
}

#define CONVERT "convert it to CSV or JSON lines first"

static const struct {
    const char *name, *fix;
} kinds[] = {
    [KIND_RECORDS] = {"records", NULL},
    [KIND_GZIP] = {"gzip", "decompress it first, e.g. with zcat"},
    [KIND_ZSTD] = {"zstd", "decompress it first, e.g. with zstdcat"},
    [KIND_XZ] = {"xz", "decompress it first, e.g. with xzcat"},
    [KIND_BZIP2] = {"bzip2", "decompress it first, e.g. with bzcat"},
    [KIND_ZIP] = {"zip archive", "extract its files first, e.g. with unzip -p"},
    [KIND_SQLITE] = {"SQLite database", "print its rows as lines first, e.g. with sqlite3"},
    [KIND_WEIR] = {"filter, sketch or state file", "weir info describes it"},
    [KIND_PARQUET] = {"Parquet file", CONVERT},
    [KIND_ARROW] = {"Arrow file", CONVERT},
    [KIND_AVRO] = {"Avro file", CONVERT},
    [KIND_ORC] = {"ORC file", CONVERT},
    [KIND_TAR] = {"tar archive", "extract its files first, e.g. with tar -xOf"},
    [KIND_LZ4] = {"lz4 file", "decompress it first, e.g. with lz4 -dc"},
    [KIND_7Z] = {"7-Zip archive", "extract its files first, e.g. with 7z x -so"},
    [KIND_OLE] = {"Excel or other Office file", "export it as CSV first"},
};

const char *magic_name(enum file_kind kind)
{
    return kinds[kind].name;
}

const char *magic_fix(enum file_kind kind)
{
    return kinds[kind].fix;
}
