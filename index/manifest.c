/* manifest.c - see manifest.h. */
#include "index/manifest.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/hash.h>

#include "index/page_file.h"

#define NAME "manifest"
#define TEMPORARY "manifest.new"
#define MAGIC 0x32786e6972696577ull /* "weirinx2"; 2 is the version of the format */
#define LARGEST (64 << 20)

static size_t size_of_numbers(uint64_t runs)
{
    return offsetof(struct index_manifest, run) + runs * sizeof((struct index_manifest *)0)->run[0];
}

static uint64_t checksum(const uint8_t *file, size_t size)
{
    return htole64(weir_hash_bytes(WEIR_HASH_XXH3, 0, file, size).lo);
}

/* ---- writing ---- */

static bool replace(int dir, const void *file, size_t size)
{
    int fd = openat(dir, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && file_write(fd, file, size) && fsync(fd) == 0;

    file_close(fd);
    return ok && renameat(dir, TEMPORARY, dir, NAME) == 0 && fsync(dir) == 0;
}

bool index_manifest_write(struct index_manifest *m, int dir)
{
    size_t numbers = size_of_numbers(m->runs), size = numbers + m->note_size;
    uint8_t *file = malloc(size + sizeof(uint64_t));
    uint64_t sum;
    bool ok;

    if (!file)
        return false;
    if (m->note_size > 0)
        memcpy(file + numbers, m->note, m->note_size);
    m->magic = MAGIC;
    file_swap(&m->magic, numbers / sizeof(uint64_t));
    memcpy(file, m, numbers);
    sum = checksum(file, size);
    memcpy(file + size, &sum, sizeof sum);
    ok = replace(dir, file, size + sizeof sum);
    free(file);
    return ok;
}

/* ---- reading ---- */

/* The caller frees it; NULL with errno. */
static uint8_t *read_file(int dir, size_t *size)
{
    int fd = openat(dir, NAME, O_RDONLY | O_CLOEXEC);
    struct stat st;
    uint8_t *file = NULL;
    bool ok = false;

    if (fd < 0)
        return NULL;
    errno = EFBIG;
    if (fstat(fd, &st) == 0 && st.st_size < LARGEST) {
        *size = (size_t)st.st_size;
        file = malloc(*size + 1);
        ok = file && file_read(fd, file, *size, 0, 0);
    }
    file_close(fd);
    if (ok)
        return file;
    free(file);
    return NULL;
}

static bool is_valid(const struct index_manifest *m)
{
    for (uint32_t i = 0; i < m->runs; i++)
        if (m->run[i].keys == 0 || m->run[i].keys > (uint64_t)UINT32_MAX * PAGE_KEYS)
            return false;
    return m->log[0].pages < UINT32_MAX && m->log[1].pages < UINT32_MAX;
}

static const char *parse(struct index_manifest *m, const uint8_t *file, size_t size)
{
    uint64_t sum;

    memcpy(m, file, size < size_of_numbers(INDEX_RUNS) ? size : size_of_numbers(INDEX_RUNS));
    file_swap(&m->magic, size_of_numbers(INDEX_RUNS) / sizeof(uint64_t));
    if (size < size_of_numbers(0) + sizeof sum || m->magic << 8 != MAGIC << 8)
        return "not the manifest of an exact index";
    if (m->magic != MAGIC)
        return "written by another version of weir";
    size -= sizeof sum;
    memcpy(&sum, file + size, sizeof sum);
    if (sum != checksum(file, size) || m->runs > INDEX_RUNS || m->note_size > size ||
        size != size_of_numbers(m->runs) + m->note_size || !is_valid(m))
        return "damaged";
    m->note = malloc(m->note_size + 1);
    if (!m->note)
        return "out of memory";
    memcpy(m->note, file + size - m->note_size, m->note_size);
    return NULL;
}

const char *index_manifest_read(struct index_manifest *m, int dir, bool *missing)
{
    size_t size = 0;
    uint8_t *file = read_file(dir, &size);
    const char *why;

    *missing = !file && errno == ENOENT;
    if (!file)
        return strerror(errno);
    why = parse(m, file, size);
    free(file);
    return why;
}
