/* magic.c - see magic.h. */
#include "unpack/magic.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/read_at.h"

#define TAR_BLOCK 512

static const struct magic {
    enum file_kind kind;
    uint8_t size;
    uint8_t bytes[MAGIC_BYTES];
    uint8_t loose; /* bits of the first byte that may be any */
    bool letters;  /* a text may begin like this: what follows decides */
} magics[] = {
    {KIND_GZIP, 3, {0x1f, 0x8b, 8}, 0, false},
    {KIND_ZSTD, 4, {0x28, 0xb5, 0x2f, 0xfd}, 0, false},
    {KIND_ZSTD, 4, {0x50, 0x2a, 0x4d, 0x18}, 0x0f, false}, /* a frame to be skipped */
    {KIND_XZ, 6, {0xfd, '7', 'z', 'X', 'Z', 0}, 0, false},
    {KIND_BZIP2, 10, {'B', 'Z', 'h', '0', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59}, 0, false},
    {KIND_ZIP, 4, {'P', 'K', 3, 4}, 0, false},
    {KIND_SQLITE, 16, "SQLite format 3", 0, false},
    {KIND_WEIR, 4, {'W', 'E', 'I', 'R'}, 0, true}, /* of any version: control characters follow */
    {KIND_PARQUET, 4, {'P', 'A', 'R', '1'}, 0, true},
    {KIND_PARQUET, 4, {'P', 'A', 'R', 'E'}, 0, true},         /* encrypted */
    {KIND_ARROW, 6, {'A', 'R', 'R', 'O', 'W', '1'}, 0, true}, /* two NULs follow */
    {KIND_AVRO, 4, {'O', 'b', 'j', 1}, 0, false},
    {KIND_ORC, 3, {'O', 'R', 'C'}, 0, true},
    {KIND_LZ4, 4, {0x04, 0x22, 0x4d, 0x18}, 0, false},
    {KIND_7Z, 6, {'7', 'z', 0xbc, 0xaf, 0x27, 0x1c}, 0, false},
    {KIND_OLE, 8, {0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1}, 0, false},
};

/* How many of the first bytes are those of the magic. */
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

/* Do the bytes after a magic of letters belong to no text? One NUL may end a record (-z), and
 * ESC colours logs; no other control character, and no two NULs, occur in text. */
static bool is_binary(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool pair = bytes[i] == 0 && i + 1 < size && bytes[i + 1] == 0;

        if (pair || (bytes[i] < ' ' && !strchr("\b\t\n\v\f\r\x1b", bytes[i])))
            return true;
    }
    return false;
}

/* A letters magic at hand: is it that kind? *open: its next bytes may decide, and no record
 * has ended. */
static bool is_confirmed(const struct magic *m, const uint8_t *bytes, size_t size, bool *open)
{
    size_t end = size < MAGIC_BYTES ? size : MAGIC_BYTES;

    if (is_binary(bytes + m->size, end - m->size))
        return true;
    *open |= size < MAGIC_BYTES && !memchr(bytes, '\n', size) && !memchr(bytes, 0, size);
    return false;
}

/* "ustar" after the name and numbers of the first file, and the checksum of its header: the sum
 * of all bytes, its own eight taken as blanks. */
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
    ssize_t n = read_at(fd, head, sizeof head, at > 0 ? (uint64_t)at : 0);
    bool open;

    *kind = n > 0 ? magic_kind(head, (size_t)n, &open) : KIND_RECORDS;
    return n >= 0;
}

#define CONVERT "convert it to CSV or JSON lines first"

static const struct {
    const char *name, *fix;
} kinds[] = {
    [KIND_RECORDS] = {"records", NULL},
    [KIND_GZIP] = {"gzip", NULL},
    [KIND_ZSTD] = {"zstd", NULL},
    [KIND_XZ] = {"xz", NULL},
    [KIND_BZIP2] = {"bzip2", NULL},
    [KIND_ZIP] = {"zip", NULL},
    [KIND_SQLITE] = {"SQLite", NULL},
    [KIND_WEIR] = {"weir file", NULL},
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
