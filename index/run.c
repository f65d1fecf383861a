/* run.c - see run.h. */
#include "index/run.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <weir/hash.h>

#define WRITE_PAGES 64 /* per write(): 256 KiB */

static void *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

static bool map_run(struct index_run *r, size_t pages, bool filtered)
{
    r->mapped = pages;
    r->fence = map(pages * sizeof *r->fence);
    r->filter = filtered ? map(pages * sizeof *r->filter) : NULL;
    return r->fence && (r->filter || !filtered);
}

struct index_run *index_run_new(uint64_t id, uint64_t keys, bool filtered)
{
    struct index_run *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->id = id;
    r->fd = -1;
    r->last = UINT64_MAX;
    if (!map_run(r, (size_t)(keys / PAGE_KEYS + 1), filtered)) {
        index_run_free(r);
        return NULL;
    }
    return r;
}

void index_run_drop_filters(struct index_run *r)
{
    if (r->filter)
        munmap(r->filter, r->mapped * sizeof *r->filter);
    r->filter = NULL;
}

void index_run_release(struct index_run *r)
{
    uint32_t page = 0;

    if (!r->filter || !index_run_page(r, r->first, &page))
        return;
    size_t bytes = (page * sizeof *r->filter) & ~(size_t)(sysconf(_SC_PAGESIZE) - 1);
    if (bytes)
        (void)madvise(r->filter, bytes, MADV_DONTNEED);
}

void index_run_free(struct index_run *r)
{
    if (!r)
        return;
    index_run_drop_filters(r);
    if (r->fence)
        munmap(r->fence, r->mapped * sizeof *r->fence);
    if (r->fd >= 0)
        close(r->fd);
    free(r);
}

void index_run_name(char name[32], uint64_t id)
{
    snprintf(name, 32, "run-%010" PRIu64, id);
}

uint64_t index_run_bytes(const struct index_run *r)
{
    return (uint64_t)r->pages * (PAGE_BYTES + sizeof *r->fence);
}

size_t index_run_memory(const struct index_run *r)
{
    return r->mapped * (sizeof *r->fence + (r->filter ? sizeof *r->filter : 0));
}

/* ---- reading ---- */

/* True if all of it was read; else errno, 0 at the end of the file. */
static bool read_all(int fd, void *to, size_t size, off_t at, int flags)
{
    uint8_t *p = to;

    while (size > 0) {
        struct iovec part = {.iov_base = p, .iov_len = size};
        ssize_t n = flags ? preadv2(fd, &part, 1, at, flags) : pread(fd, p, size, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = 0;
        if (n <= 0)
            return false;
        p += n;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* Fences from or to a file, in blocks: the checksum of a block starts from that of the one before.
 */
static bool for_fences(struct index_run *r,
                       bool (*move)(void *context, uint64_t *block, size_t size, off_t at),
                       void *context, bool write)
{
    uint64_t block[512];

    r->fence_sum = 0;
    for (uint32_t i = 0; i < r->pages; i += 512) {
        uint32_t n = r->pages - i < 512 ? r->pages - i : 512;
        off_t at = (off_t)r->pages * PAGE_BYTES + (off_t)i * 8;

        for (uint32_t j = 0; write && j < n; j++)
            block[j] = htole64(r->fence[i + j]);
        if (!move(context, block, n * sizeof *block, at))
            return false;
        for (uint32_t j = 0; !write && j < n; j++)
            r->fence[i + j] = le64toh(block[j]);
        r->fence_sum = weir_hash_bytes(WEIR_HASH_XXH3, r->fence_sum, block, n * sizeof *block).lo;
    }
    return true;
}

static bool read_block(void *context, uint64_t *block, size_t size, off_t at)
{
    const struct index_run *r = context;

    return read_all(r->fd, block, size, at, 0);
}

const char *index_run_open(struct index_run *r, int dir, bool filtered)
{
    uint64_t expected = r->fence_sum;
    char name[32];
    struct stat st;

    index_run_name(name, r->id);
    r->last = UINT64_MAX;
    r->fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &st) != 0)
        return strerror(errno);
    if ((uint64_t)st.st_size != index_run_bytes(r))
        return "damaged: it has another size";
    if (!map_run(r, r->pages, filtered))
        return "out of memory";
    if (!for_fences(r, read_block, r, false))
        return errno ? strerror(errno) : "damaged: it is too short";
    if (r->fence_sum != expected)
        return "damaged: the checksum of its fences is wrong";
    for (uint32_t i = 1; i < r->pages; i++)
        if (r->fence[i] < r->fence[i - 1])
            return "damaged: its fences are out of order";
    r->visible = r->pages;
    (void)posix_fadvise(r->fd, 0, 0, POSIX_FADV_RANDOM);
    return NULL;
}

bool index_run_read(struct index_run *r, uint32_t number, struct index_page *page, int flags)
{
    if (!read_all(r->fd, page, PAGE_BYTES, (off_t)number * PAGE_BYTES, flags))
        return false;
    if (!index_page_check(page, r->id, number)) {
        errno = EBADMSG;
        return false;
    }
    if (r->filter && !r->filter[number].ready)
        index_filter_build(&r->filter[number], page->key, page->keys, r->fence[number],
                           index_run_next(r, number));
    return true;
}

/* ---- writing ---- */

struct index_writer {
    struct index_run *run;
    int dir, error;
    _Atomic uint32_t *done;
    uint32_t keys;    /* in the page under way */
    uint32_t pages;   /* complete, in the buffer */
    uint32_t written; /* pages */
    struct index_page buffer[WRITE_PAGES];
};

struct index_writer *index_writer_open(struct index_run *r, int dir, _Atomic uint32_t *done)
{
    struct index_writer *w = calloc(1, sizeof *w);
    char name[32];

    if (!w)
        return NULL;
    *w = (struct index_writer){.run = r, .dir = dir, .done = done};
    index_run_name(name, r->id);
    r->fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (r->fd < 0) {
        free(w);
        return NULL;
    }
    (void)posix_fadvise(r->fd, 0, 0, POSIX_FADV_RANDOM);
    return w;
}

static bool write_all(struct index_writer *w, const void *data, size_t size, off_t at)
{
    const uint8_t *p = data;

    while (size > 0) {
        ssize_t n = pwrite(w->run->fd, p, size, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            w->error = n < 0 ? errno : ENOSPC;
            return false;
        }
        p += n;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* Starts to write what write() left in the page cache, so that the sync at the end is short. */
static bool flush(struct index_writer *w)
{
    off_t at = (off_t)w->written * PAGE_BYTES;

    if (!write_all(w, w->buffer, w->pages * sizeof *w->buffer, at))
        return false;
    (void)sync_file_range(w->run->fd, at, w->pages * PAGE_BYTES, SYNC_FILE_RANGE_WRITE);
    w->written += w->pages;
    w->pages = 0;
    return true;
}

/* next: hi of the next page's first key. */
static bool close_page(struct index_writer *w, uint64_t next)
{
    struct index_page *page = &w->buffer[w->pages];
    struct index_run *r = w->run;

    if (r->filter)
        index_filter_build(&r->filter[r->pages], page->key, w->keys, r->fence[r->pages], next);
    index_page_seal(page, r->id, r->pages, w->keys);
    r->pages++;
    w->keys = 0;
    return ++w->pages < WRITE_PAGES || flush(w);
}

/* The fence after the last readable page must exist too: it ends that page. */
static void publish(struct index_writer *w)
{
    if (w->done && w->pages == 0)
        atomic_store_explicit(w->done, w->written, memory_order_release);
}

bool index_writer_add(struct index_writer *w, struct digest key)
{
    struct index_run *r = w->run;

    if (w->keys == PAGE_KEYS && !close_page(w, key.hi))
        return false;
    if (w->keys == 0) {
        r->fence[r->pages] = key.hi;
        publish(w);
    }
    w->buffer[w->pages].key[w->keys++] = key;
    r->keys++;
    return true;
}

static bool write_block(void *context, uint64_t *block, size_t size, off_t at)
{
    return write_all(context, block, size, at);
}

static bool complete(struct index_writer *w)
{
    struct index_run *r = w->run;

    if ((w->keys && !close_page(w, UINT64_MAX)) || !flush(w))
        return false;
    if (!for_fences(r, write_block, w, true))
        return false;
    if (fdatasync(r->fd) != 0) {
        w->error = errno;
        return false;
    }
    return true;
}

bool index_writer_close(struct index_writer *w, bool ok)
{
    char name[32];
    int error;

    ok = ok && complete(w);
    error = w->error;
    if (!ok) {
        index_run_name(name, w->run->id);
        (void)unlinkat(w->dir, name, 0);
    }
    free(w);
    errno = error;
    return ok;
}
