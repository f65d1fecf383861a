/* manifest.c - see manifest.h.
 *
 * The file is a list of 64-bit little-endian numbers, the note, and a checksum of both. */
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

#define NAME "manifest"
#define TEMPORARY "manifest.new"
#define MAGIC 0x31786e6972696577ull /* "weirinx1"; 1 is the version of the format */
#define HEAD 12                     /* numbers */
#define RUN 7
#define LOG 2
#define LARGEST (64 << 20)

static uint64_t checksum(const uint64_t *file, size_t size)
{
    return weir_hash_bytes(WEIR_HASH_XXH3, 0, file, size).lo;
}

static size_t size_of(uint32_t runs, uint32_t logs, size_t note)
{
    return (HEAD + runs * RUN + logs * LOG) * sizeof(uint64_t) + note;
}

/* Convert the numbers of a manifest to those of a file, or back. */
static void move(uint64_t *file, uint64_t *number, bool read)
{
    if (read)
        *number = le64toh(*file);
    else
        *file = htole64(*number);
}

static void move32(uint64_t *file, uint32_t *number, bool read)
{
    uint64_t wide = *number;

    move(file, &wide, read);
    *number = wide <= UINT32_MAX ? (uint32_t)wide : UINT32_MAX;
}

static void move_head(struct index_manifest *m, uint64_t *f, bool read)
{
    uint64_t note = m->note_size;

    move(f + 1, &m->keep, read);
    move(f + 2, &m->seed, read);
    move32(f + 3, &m->hash, read);
    move(f + 4, &m->next_id, read);
    move(f + 5, &m->bucket, read);
    move(f + 6, &m->expires, read);
    move32(f + 7, &m->runs, read);
    move32(f + 8, &m->logs, read);
    move(f + 9, &note, read);
    m->note_size = (size_t)note;
}

static void move_lists(struct index_manifest *m, uint64_t *f, bool read)
{
    for (uint32_t i = 0; i < m->runs; i++, f += RUN) {
        struct index_run *r = &m->run[i];

        move(f, &r->id, read);
        move(f + 1, &r->keys, read);
        move32(f + 2, &r->pages, read);
        move32(f + 3, &r->level, read);
        move(f + 4, &r->bucket, read);
        move(f + 5, &r->expires, read);
        move(f + 6, &r->fence_sum, read);
    }
    for (uint32_t i = 0; i < m->logs; i++, f += LOG) {
        move(f, &m->log[i].id, read);
        move(f + 1, &m->log[i].size, read);
    }
}

/* ---- writing ---- */

static int write_file(int dir, const void *data, size_t size)
{
    int fd = openat(dir, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = 0;

    if (fd < 0)
        return errno;
    for (size_t at = 0; at < size && !error;) {
        ssize_t n = write(fd, (const char *)data + at, size - at);

        if (n < 0 && errno != EINTR)
            error = errno;
        at += n > 0 ? (size_t)n : 0;
    }
    if (!error && fsync(fd) != 0)
        error = errno;
    if (close(fd) != 0 && !error)
        error = errno;
    return error;
}

const char *index_manifest_write(struct index_manifest *m, int dir)
{
    size_t size = size_of(m->runs, m->logs, m->note_size);
    uint64_t *file = calloc(1, size + sizeof *file);
    int error = ENOMEM;

    if (file) {
        uint64_t sum;

        file[0] = htole64(MAGIC);
        move_head(m, file, false);
        move_lists(m, file + HEAD, false);
        if (m->note_size)
            memcpy((char *)file + size - m->note_size, m->note, m->note_size);
        sum = htole64(checksum(file, size));
        memcpy((char *)file + size, &sum, sizeof sum);
        error = write_file(dir, file, size + sizeof sum);
    }
    if (!error && (renameat(dir, TEMPORARY, dir, NAME) != 0 || fsync(dir) != 0))
        error = errno;
    free(file);
    return error ? strerror(error) : NULL;
}

/* ---- reading ---- */

/* The caller frees it; NULL with errno. */
static uint64_t *read_file(int dir, size_t *size)
{
    int fd = openat(dir, NAME, O_RDONLY | O_CLOEXEC), error;
    struct stat st;
    uint64_t *file = NULL;

    if (fd < 0)
        return NULL;
    errno = EFBIG;
    if (fstat(fd, &st) == 0 && st.st_size < LARGEST)
        file = calloc(1, (size_t)st.st_size + HEAD * sizeof *file);
    *size = (size_t)st.st_size;
    if (file && pread(fd, file, *size, 0) != st.st_size) {
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
    for (uint32_t i = 0; i < m->runs; i++) {
        const struct index_run *r = &m->run[i];

        if (r->keys == 0 || r->pages != (r->keys - 1) / PAGE_KEYS + 1)
            return false;
    }
    return true;
}

static const char *parse(struct index_manifest *m, uint64_t *file, size_t size)
{
    uint64_t magic = le64toh(file[0]), sum;

    if (size < (HEAD + 1) * sizeof *file || magic << 8 != MAGIC << 8)
        return "not the manifest of an exact index";
    if (magic != MAGIC)
        return "written by another version of weir";
    size -= sizeof sum;
    memcpy(&sum, (char *)file + size, sizeof sum);
    move_head(m, file, true);
    if (le64toh(sum) != checksum(file, size) || m->runs > INDEX_RUNS || m->logs > INDEX_LOGS ||
        m->note_size > size || size != size_of(m->runs, m->logs, m->note_size))
        return "damaged";
    move_lists(m, file + HEAD, true);
    m->note = malloc(m->note_size + 1);
    if (!m->note)
        return "out of memory";
    memcpy(m->note, (char *)file + size - m->note_size, m->note_size);
    return is_valid(m) ? NULL : "damaged";
}

const char *index_manifest_read(struct index_manifest *m, int dir, bool *missing)
{
    size_t size = 0;
    uint64_t *file = read_file(dir, &size);
    const char *why;

    *m = (struct index_manifest){.next_id = 1};
    *missing = !file && errno == ENOENT;
    if (!file)
        return strerror(errno);
    why = parse(m, file, size);
    free(file);
    return why;
}
