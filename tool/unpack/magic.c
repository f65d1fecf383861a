/* magic.c - see magic.h. */
#include "unpack/magic.h"

#include <string.h>
#include <unistd.h>

#include "cli/read_at.h"

static const struct magic {
    enum file_kind kind;
    uint8_t size;
    uint8_t bytes[MAGIC_BYTES];
    uint8_t loose; /* bits of the first byte that may be any */
} magics[] = {
    {KIND_GZIP, 3, {0x1f, 0x8b, 8}, 0},
    {KIND_ZSTD, 4, {0x28, 0xb5, 0x2f, 0xfd}, 0},
    {KIND_ZSTD, 4, {0x50, 0x2a, 0x4d, 0x18}, 0x0f}, /* a frame to be skipped */
    {KIND_XZ, 6, {0xfd, '7', 'z', 'X', 'Z', 0}, 0},
    {KIND_BZIP2, 10, {'B', 'Z', 'h', '0', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59}, 0},
    {KIND_ZIP, 4, {'P', 'K', 3, 4}, 0},
    {KIND_SQLITE, 16, "SQLite format 3", 0},
    {KIND_WEIR, 6, {'W', 'E', 'I', 'R', 2, 0}, 0},
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

enum file_kind magic_kind(const void *bytes, size_t size, bool *open)
{
    *open = false;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        size_t n = agree(&magics[i], bytes, size);

        if (n == magics[i].size)
            return magics[i].kind;
        *open |= n == size;
    }
    return KIND_RECORDS;
}

bool magic_of_file(int fd, enum file_kind *kind)
{
    off_t at = lseek(fd, 0, SEEK_CUR);
    char head[MAGIC_BYTES];
    ssize_t n = read_at(fd, head, sizeof head, at > 0 ? (uint64_t)at : 0);
    bool open;

    *kind = n > 0 ? magic_kind(head, (size_t)n, &open) : KIND_RECORDS;
    return n >= 0;
}

const char *magic_name(enum file_kind kind)
{
    static const char *const names[] = {"records", "gzip", "zstd",   "xz",
                                        "bzip2",   "zip",  "SQLite", "weir file"};

    return names[kind];
}
