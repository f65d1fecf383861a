/* log.c - see log.h. */
#include "index/log.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/hash.h>

#define BUFFER (256 << 10)
#define LARGEST (64 << 20) /* bytes of one record */

enum kind { KIND_KEYS = 0x6b676c77, KIND_COMMIT = 0x63676c77 };

struct head {
    uint64_t sum; /* of the rest of the head, and of the body */
    uint32_t kind, n;
    uint64_t bucket, expires;
    uint64_t at; /* offset of the record: a copy elsewhere is not valid */
};

void index_log_name(char name[32], uint64_t id)
{
    snprintf(name, 32, "log-%010" PRIu64, id);
}

static uint64_t checksum(const struct head *h, const void *body, size_t size)
{
    uint64_t seed = weir_hash_bytes(WEIR_HASH_XXH3, 0, body, size).lo;

    return weir_hash_bytes(WEIR_HASH_XXH3, seed, &h->kind, sizeof *h - sizeof h->sum).lo;
}

static size_t body_size(uint32_t kind, uint32_t n)
{
    return kind == KIND_KEYS ? n * sizeof(struct digest) : n;
}

/* ---- writing ---- */

static bool prepare(struct index_log *log, int fd, uint64_t id, uint64_t size)
{
    *log = (struct index_log){.id = id, .fd = fd, .size = size, .buffer = malloc(BUFFER)};
    if (fd >= 0 && log->buffer)
        return true;
    if (fd >= 0)
        errno = ENOMEM;
    index_log_close(log);
    return false;
}

bool index_log_create(struct index_log *log, int dir, uint64_t id)
{
    char name[32];

    index_log_name(name, id);
    return prepare(log, openat(dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), id, 0);
}

void index_log_close(struct index_log *log)
{
    int error = errno;

    if (log->fd >= 0)
        close(log->fd);
    free(log->buffer);
    log->fd = -1;
    log->buffer = NULL;
    errno = error;
}

static bool write_all(int fd, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static bool drain(struct index_log *log)
{
    bool ok = write_all(log->fd, log->buffer, log->used);

    log->used = 0;
    return ok;
}

static bool append(struct index_log *log, const void *data, size_t size)
{
    log->size += size;
    log->synced = false;
    if (log->used + size > BUFFER && !drain(log))
        return false;
    if (size > BUFFER)
        return write_all(log->fd, data, size);
    memcpy(log->buffer + log->used, data, size);
    log->used += size;
    return true;
}

static bool append_record(struct index_log *log, struct head h, const void *body)
{
    size_t size = body_size(h.kind, h.n);

    h = (struct head){.kind = htole32(h.kind),
                      .n = htole32(h.n),
                      .bucket = htole64(h.bucket),
                      .expires = htole64(h.expires),
                      .at = htole64(log->size)};
    h.sum = htole64(checksum(&h, body, size));
    return append(log, &h, sizeof h) && append(log, body, size);
}

bool index_log_keys(struct index_log *log, const struct digest *keys, uint32_t n, uint64_t bucket,
                    uint64_t expires)
{
    struct digest swapped[256];
    struct head h = {.kind = KIND_KEYS, .bucket = bucket, .expires = expires};

    for (uint32_t i = 0; i < n; i += h.n) {
        const struct digest *part = keys + i;

        h.n = n - i;
        if (__BYTE_ORDER != __LITTLE_ENDIAN) {
            h.n = h.n < 256 ? h.n : 256;
            memcpy(swapped, part, h.n * sizeof *part);
            index_keys_swap(swapped, h.n);
            part = swapped;
        }
        if (!append_record(log, h, part))
            return false;
    }
    return true;
}

bool index_log_commit(struct index_log *log, const void *note, size_t size)
{
    return append_record(log, (struct head){.kind = KIND_COMMIT, .n = (uint32_t)size}, note) &&
           index_log_sync(log);
}

bool index_log_sync(struct index_log *log)
{
    if (!log->synced && (!drain(log) || fdatasync(log->fd) != 0))
        return false;
    log->synced = true;
    return true;
}

/* ---- replay ---- */

bool index_log_open(struct index_log_reader *in, int dir, uint64_t id, bool write)
{
    char name[32];
    struct stat st;

    index_log_name(name, id);
    *in =
        (struct index_log_reader){.fd = openat(dir, name, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC)};
    if (in->fd < 0 || fstat(in->fd, &st) != 0)
        return false;
    in->size = (uint64_t)st.st_size;
    return true;
}

static bool read_at(int fd, void *to, size_t size, uint64_t at)
{
    uint8_t *p = to;

    while (size > 0) {
        ssize_t n = pread(fd, p, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

bool index_log_next(struct index_log_reader *in)
{
    struct head h;
    size_t size;
    void *body;

    if (!read_at(in->fd, &h, sizeof h, in->at) || le64toh(h.at) != in->at)
        return false;
    uint32_t kind = le32toh(h.kind);

    in->n = le32toh(h.n);
    size = body_size(kind, in->n);
    if ((kind != KIND_KEYS && kind != KIND_COMMIT) || size > LARGEST ||
        size > in->size - in->at - sizeof h)
        return false;
    in->commit = kind == KIND_COMMIT;
    body = realloc(in->commit ? (void *)in->note : in->keys, size + 1);
    if (!body)
        return false;
    if (in->commit)
        in->note = body;
    else
        in->keys = body;
    if (!read_at(in->fd, body, size, in->at + sizeof h) ||
        checksum(&h, body, size) != le64toh(h.sum))
        return false;
    if (!in->commit)
        index_keys_swap(in->keys, in->n);
    in->bucket = le64toh(h.bucket);
    in->expires = le64toh(h.expires);
    in->at += sizeof h + size;
    return true;
}

void index_log_end(struct index_log_reader *in)
{
    if (in->fd >= 0)
        close(in->fd);
    free(in->keys);
    free(in->note);
    *in = (struct index_log_reader){.fd = -1};
}

bool index_log_continue(struct index_log *log, struct index_log_reader *in, uint64_t id,
                        uint64_t size)
{
    int fd = in->fd;

    in->fd = -1;
    if (ftruncate(fd, (off_t)size) == 0 && lseek(fd, (off_t)size, SEEK_SET) >= 0)
        return prepare(log, fd, id, size);
    close(fd);
    return false;
}
