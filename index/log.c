/* log.c - see log.h. */
#include "index/log.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/hash.h>

#include "index/disk.h"

#define BUFFER (256 << 10)
#define LARGEST (64 << 20) /* bytes of one record */

enum kind { KIND_KEYS = 0x6b676c77, KIND_COMMIT = 0x63676c77 };

struct head {
    uint64_t sum; /* of the rest of the head, and of the body */
    uint32_t kind, n;
    uint64_t bucket, expires;
    uint64_t at; /* offset of the record: a copy elsewhere is not valid */
};

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
    index_log_close(log);
    return false;
}

bool index_log_create(struct index_log *log, int dir, uint64_t id)
{
    int fd = openat(dir, disk_name("log", id).text, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    return prepare(log, fd, id, 0);
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

static bool drain(struct index_log *log)
{
    bool ok = disk_write(log->fd, log->buffer, log->used);

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
        return disk_write(log->fd, data, size);
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

bool index_log_keys(struct index_log *log, struct digest *keys, uint32_t n, uint64_t bucket,
                    uint64_t expires)
{
    struct head h = {.kind = KIND_KEYS, .n = n, .bucket = bucket, .expires = expires};

    index_keys_swap(keys, n);
    return append_record(log, h, keys);
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
    struct stat st;

    *in = (struct index_log_reader){
        .fd = openat(dir, disk_name("log", id).text, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC)};
    if (in->fd < 0 || fstat(in->fd, &st) != 0)
        return false;
    in->size = (uint64_t)st.st_size;
    return true;
}

bool index_log_next(struct index_log_reader *in)
{
    struct head h;
    size_t size;
    void *body;

    if (!disk_read(in->fd, &h, sizeof h, in->at, 0) || le64toh(h.at) != in->at)
        return false;
    uint32_t kind = le32toh(h.kind);

    in->n = le32toh(h.n);
    size = body_size(kind, in->n);
    if ((kind != KIND_KEYS && kind != KIND_COMMIT) || size > LARGEST ||
        size > in->size - in->at - sizeof h)
        return false;
    body = realloc(in->body, size + 1);
    if (!body)
        return false;
    in->body = body;
    if (!disk_read(in->fd, body, size, in->at + sizeof h, 0) ||
        checksum(&h, body, size) != le64toh(h.sum))
        return false;
    in->commit = kind == KIND_COMMIT;
    if (!in->commit)
        index_keys_swap(body, in->n);
    in->bucket = le64toh(h.bucket);
    in->expires = le64toh(h.expires);
    in->at += sizeof h + size;
    return true;
}

void index_log_end(struct index_log_reader *in)
{
    if (in->fd >= 0)
        close(in->fd);
    free(in->body);
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
