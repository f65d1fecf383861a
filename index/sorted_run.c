/* sorted_run.c - see sorted_run.h. */
#include "index/sorted_run.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/hash.h>

#include "index/disk.h"

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

uint64_t index_run_bytes(const struct index_run *r)
{
    return (uint64_t)r->pages * (PAGE_BYTES + sizeof *r->fence);
}

size_t index_run_memory(const struct index_run *r)
{
    return r->mapped * (sizeof *r->fence + (r->filter ? sizeof *r->filter : 0));
}

/* ---- reading ---- */

/* Write the fences, or read them. The checksum of a block starts from that of the one before. */
static bool move_fences(struct index_run *r, bool write)
{
    uint64_t block[512];

    r->fence_sum = 0;
    for (uint32_t i = 0; i < r->pages; i += 512) {
        uint32_t n = r->pages - i < 512 ? r->pages - i : 512;
        uint64_t at = (uint64_t)r->pages * PAGE_BYTES + (uint64_t)i * sizeof *block;

        if (write)
            memcpy(block, r->fence + i, n * sizeof *block);
        else if (!disk_read(r->fd, block, n * sizeof *block, at, 0))
            return false;
        if (write)
            disk_swap(block, n);
        r->fence_sum = weir_hash_bytes(WEIR_HASH_XXH3, r->fence_sum, block, n * sizeof *block).lo;
        if (write && !disk_write(r->fd, block, n * sizeof *block))
            return false;
        disk_swap(block, n);
        if (!write)
            memcpy(r->fence + i, block, n * sizeof *block);
    }
    return true;
}

const char *index_run_open(struct index_run *r, int dir, bool filtered)
{
    uint64_t expected = r->fence_sum;
    struct stat st;

    r->last = UINT64_MAX;
    r->fd = openat(dir, disk_name("run", r->id).text, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &st) != 0)
        return strerror(errno);
    if ((uint64_t)st.st_size != index_run_bytes(r))
        return "damaged: it has another size";
    if (!map_run(r, r->pages, filtered))
        return "out of memory";
    if (!move_fences(r, false))
        return errno == EBADMSG ? "damaged: it is too short" : strerror(errno);
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
    if (!index_page_read(r->fd, r->id, number, page, flags))
        return false;
    if (r->filter && !r->filter[number].ready)
        index_filter_build(&r->filter[number], page->key, page->keys, r->fence[number],
                           index_run_next(r, number));
    return true;
}

/* ---- writing ---- */

bool index_writer_open(struct index_writer *w, int dir)
{
    bool ok = index_pages_open(&w->file, dir, disk_name("run", w->run->id).text, w->run->id, 0);

    w->run->fd = w->file.fd;
    if (ok)
        (void)posix_fadvise(w->run->fd, 0, 0, POSIX_FADV_RANDOM);
    return ok;
}

/* next: hi of the next page's first key. */
static bool close_page(struct index_writer *w, uint64_t next)
{
    struct index_run *r = w->run;

    if (r->filter)
        index_filter_build(&r->filter[r->pages], index_pages_last(&w->file)->key, w->file.keys,
                           r->fence[r->pages], next);
    r->pages++;
    if (!index_pages_seal(&w->file))
        return false;
    if (w->file.buffered == 0) /* start writing back, so that the sync at the end is short */
        (void)sync_file_range(r->fd, (off_t)(r->pages - PAGES_BUFFERED) * PAGE_BYTES,
                              PAGES_BUFFERED * PAGE_BYTES, SYNC_FILE_RANGE_WRITE);
    errno = ECANCELED;
    return !atomic_load_explicit(w->cancel, memory_order_relaxed);
}

bool index_writer_add(struct index_writer *w, struct digest key)
{
    struct index_run *r = w->run;

    if (w->file.keys == PAGE_KEYS && !close_page(w, key.hi))
        return false;
    if (w->file.keys == 0) {
        errno = EBADMSG; /* the inputs have more keys than their manifest states */
        if (r->pages == r->mapped)
            return false;
        r->fence[r->pages] = key.hi;
        if (w->file.buffered == 0) /* the fence after the last readable page ends that page */
            atomic_store_explicit(w->done, r->pages, memory_order_release);
    }
    index_pages_last(&w->file)->key[w->file.keys++] = key;
    r->keys++;
    return true;
}

bool index_writer_close(struct index_writer *w, bool ok)
{
    ok = ok && (w->file.keys == 0 || close_page(w, UINT64_MAX)) && index_pages_flush(&w->file) &&
         move_fences(w->run, true) && fdatasync(w->run->fd) == 0;
    w->file.fd = -1; /* the run keeps it open */
    index_pages_close(&w->file);
    return ok;
}
