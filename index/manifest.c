/* manifest.c - see manifest.h. */
#include "index/manifest.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/hash.h>

#include "index/disk.h"
#include "index/page.h"

#define NAME "manifest"
#define TEMPORARY "manifest.new"
#define MAGIC 0x31786e6972696577ull /* "weirinx1"; 1 is the version of the format */
#define LARGEST (64 << 20)

/* Copy the parts to a file, or from it. Returns where the note is. */
static uint8_t *move(struct index_manifest *m, uint8_t *file, bool read)
{
    const struct {
        void *at;
        size_t size;
    } part[] = {{&m->head, sizeof m->head},
                {m->run, m->head.runs * sizeof *m->run},
                {m->log, m->head.logs * sizeof *m->log}};

    for (int i = 0; i < 3; i++) {
        memcpy(read ? part[i].at : file, read ? file : part[i].at, part[i].size);
        disk_swap(read ? part[i].at : (void *)file, part[i].size / sizeof(uint64_t));
        file += part[i].size;
    }
    return file;
}

static size_t size_of(const struct index_manifest *m)
{
    return sizeof m->head + m->head.runs * sizeof *m->run + m->head.logs * sizeof *m->log +
           m->head.note_size;
}

static uint64_t checksum(const uint8_t *file, size_t size)
{
    return htole64(weir_hash_bytes(WEIR_HASH_XXH3, 0, file, size).lo);
}

/* ---- writing ---- */

static bool replace(int dir, const void *file, size_t size)
{
    int fd = openat(dir, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), error;
    bool ok = fd >= 0 && disk_write(fd, file, size) && fsync(fd) == 0;

    error = errno;
    if (fd >= 0 && close(fd) == 0)
        errno = error;
    else
        ok = false;
    return ok && renameat(dir, TEMPORARY, dir, NAME) == 0 && fsync(dir) == 0;
}

const char *index_manifest_write(struct index_manifest *m, int dir)
{
    size_t size = size_of(m);
    uint8_t *file = malloc(size + sizeof(uint64_t));
    const char *why = NULL;

    if (!file)
        return "out of memory";
    m->head.magic = MAGIC;
    memcpy(move(m, file, false), m->note ? (void *)m->note : "", m->head.note_size);
    memcpy(file + size, &(uint64_t){checksum(file, size)}, sizeof(uint64_t));
    if (!replace(dir, file, size + sizeof(uint64_t)))
        why = strerror(errno);
    free(file);
    return why;
}

/* ---- reading ---- */

/* The caller frees it; NULL with errno. */
static uint8_t *read_file(int dir, size_t *size)
{
    int fd = openat(dir, NAME, O_RDONLY | O_CLOEXEC), error;
    struct stat st;
    uint8_t *file = NULL;

    if (fd < 0)
        return NULL;
    errno = EFBIG;
    if (fstat(fd, &st) == 0 && st.st_size < LARGEST)
        file = malloc((size_t)st.st_size + 1);
    *size = (size_t)st.st_size;
    if (file && !disk_read(fd, file, *size, 0, 0)) {
        free(file);
        file = NULL;
    }
    error = errno;
    close(fd);
    errno = error;
    return file;
}

static bool is_valid(const struct index_manifest *m)
{
    for (uint32_t i = 0; i < m->head.runs; i++)
        if (m->run[i].keys == 0 || m->run[i].keys > (uint64_t)UINT32_MAX * PAGE_KEYS)
            return false;
    return true;
}

static const char *parse(struct index_manifest *m, uint8_t *file, size_t size)
{
    uint64_t magic = 0, sum;

    if (size >= sizeof m->head + sizeof sum) {
        memcpy(&m->head, file, sizeof m->head);
        disk_swap(&m->head.magic, sizeof m->head / sizeof magic);
        magic = m->head.magic;
    }
    if (magic << 8 != MAGIC << 8)
        return "not the manifest of an exact index";
    if (magic != MAGIC)
        return "written by another version of weir";
    size -= sizeof sum;
    memcpy(&sum, file + size, sizeof sum);
    if (sum != checksum(file, size) || m->head.runs > INDEX_RUNS || m->head.logs > INDEX_LOGS ||
        m->head.note_size > size || size != size_of(m))
        return "damaged";
    m->note = malloc(m->head.note_size + 1);
    if (!m->note)
        return "out of memory";
    memcpy(m->note, move(m, file, true), m->head.note_size);
    return is_valid(m) ? NULL : "damaged";
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
