/* sorted_run.c - see sorted_run.h.
 *
 * The filter of a page answers from memory whether a key may be in the page, and where. The
 * position of a key between the first key of the page and that of the next, as a number of 16
 * bits, is almost a rank: the upper 8 bits select one of 256 buckets, and a bitmap holds for each
 * bucket as many ones as it has keys and then a zero; the lower 8 bits are stored per key:
 *
 *     before[16]   keys in front of bucket 0, 16, 32 ... 240
 *     bits[8]      512 bits: buckets as 1...10
 *     low[255]     lower 8 bits of key 0, 1, 2 ...
 *
 * 10.5 bits a key; 1 of 256 absent keys is reported as possible. There is nothing to solve, as in
 * a fuse filter, so a filter is built when its page is first read. This takes about 2 us, once per
 * 255 keys; a merge needs no memory for the filters of its output, because it is not used before
 * its inputs are freed. */
#include "index/sorted_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <weir/hash.h>

#define BLOCK 64 /* keys that are looked up at once, to prefetch filters */

struct page_filter {
    uint8_t before[16];
    uint64_t bits[8];
    uint8_t low[PAGE_KEYS];
    uint8_t ready;
};

struct range {
    uint32_t from, to;
};

/* ---- memory ---- */

static void *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

struct index_run *index_run_new(uint64_t id, uint64_t keys, bool filtered)
{
    struct index_run *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->id = id;
    r->keys = keys;
    r->fd = -1;
    r->mapped = (size_t)((keys - 1) / PAGE_KEYS + 1);
    r->fence = map(r->mapped * sizeof *r->fence);
    r->filter = filtered ? map(r->mapped * sizeof *r->filter) : NULL;
    if (r->fence && (r->filter || !filtered))
        return r;
    index_run_free(r);
    return NULL;
}

void index_run_drop_filters(struct index_run *r)
{
    if (r->filter)
        munmap(r->filter, r->mapped * sizeof *r->filter);
    r->filter = NULL;
}

void index_run_free(struct index_run *r)
{
    if (!r)
        return;
    index_run_drop_filters(r);
    if (r->fence)
        munmap(r->fence, r->mapped * sizeof *r->fence);
    file_close(r->fd);
    free(r);
}

uint64_t index_run_bytes(const struct index_run *r)
{
    return (uint64_t)r->pages * (PAGE_BYTES + sizeof *r->fence);
}

size_t index_run_memory(uint64_t keys, bool filtered)
{
    return (keys / PAGE_KEYS + 1) *
           (sizeof(uint64_t) + (filtered ? sizeof(struct page_filter) : 0));
}

/* ---- filters ---- */

/* 0 to 65535, ascending in hi: keys of equal hi have one position. */
static inline uint32_t position(uint64_t hi, uint64_t first, uint64_t next)
{
    double at = (double)(hi - first) * (65536.0 / ((double)(next - first) + 1.0));

    return at < 65535.0 ? (uint32_t)at : 65535;
}

static void build_filter(struct page_filter *f, const struct digest *keys, uint32_t n,
                         uint64_t first, uint64_t next)
{
    uint32_t group = 0;

    memset(f, 0, sizeof *f);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = position(keys[i].hi, first, next), bit = i + (at >> 8);

        f->bits[bit >> 6] |= 1ull << (bit & 63);
        f->low[i] = (uint8_t)at;
        while (group < at >> 12)
            f->before[++group] = (uint8_t)i;
    }
    while (group < 15)
        f->before[++group] = (uint8_t)n;
    f->ready = 1;
}

static inline uint64_t window(const uint64_t bits[8], uint32_t bit)
{
    uint32_t word = bit >> 6, shift = bit & 63;
    uint64_t w = bits[word] >> shift;

    return shift && word < 7 ? w | bits[word + 1] << (64 - shift) : w;
}

static struct range find_in_filter(const struct page_filter *f, uint64_t hi, uint64_t first,
                                   uint64_t next)
{
    uint32_t at = position(hi, first, next), bucket = at >> 8, in_group = bucket & 15;
    uint32_t before = f->before[bucket >> 4], begin = 0;
    uint64_t zeros = ~window(f->bits, before + (bucket - in_group));

    for (uint32_t i = 0; i < in_group && zeros; i++) {
        begin = (uint32_t)__builtin_ctzll(zeros) + 1;
        zeros &= zeros - 1;
    }
    if (!zeros) /* over 48 keys in 16 buckets: the end is not in the window */
        return (struct range){0, PAGE_KEYS};
    uint32_t from = before + begin - in_group;
    uint32_t to = from + (uint32_t)__builtin_ctzll(zeros) - begin;

    while (from < to && f->low[from] != (uint8_t)at)
        from++;
    while (from < to && f->low[to - 1] != (uint8_t)at)
        to--;
    return (struct range){from, to};
}

/* ---- looking up ---- */

/* The last page that may contain a key with this hi, or UINT32_MAX. A key with the same hi as the
 * first of that page may also be in the page before it. */
static inline uint32_t page_of(const struct index_run *r, uint64_t hi)
{
    uint32_t end = r->pages - 1, page = (uint32_t)((hi >> 32) * r->pages >> 32);

    if (hi < r->fence[0])
        return UINT32_MAX;
    while (page < end && r->fence[page + 1] <= hi)
        page++;
    while (r->fence[page] > hi)
        page--;
    return page;
}

/* hi of the first key after a page. */
static inline uint64_t next_fence(const struct index_run *r, uint32_t page)
{
    return page + 1 < r->pages ? r->fence[page + 1] : UINT64_MAX;
}

static struct range locate(const struct index_run *r, uint64_t hi, uint32_t page)
{
    if (!r->filter || !r->filter[page].ready || r->fence[page] == hi)
        return (struct range){0, PAGE_KEYS};
    return find_in_filter(&r->filter[page], hi, r->fence[page], next_fence(r, page));
}

uint32_t index_run_locate(struct index_run *r, const struct digest *keys, const uint16_t *wanted,
                          uint32_t n, struct candidate *out)
{
    uint32_t page[BLOCK], found = 0;

    for (uint32_t from = 0; from < n; from += BLOCK) {
        uint32_t block = n - from < BLOCK ? n - from : BLOCK;

        for (uint32_t i = 0; i < block; i++) {
            page[i] = page_of(r, keys[wanted[from + i]].hi);
            for (uint32_t line = 0; r->filter && page[i] != UINT32_MAX && line < 3; line++)
                __builtin_prefetch((const char *)&r->filter[page[i]] + 64 * line);
        }
        for (uint32_t i = 0; i < block; i++) {
            uint32_t key = wanted[from + i];
            struct range at = {0, 0};

            if (page[i] != UINT32_MAX)
                at = locate(r, keys[key].hi, page[i]);
            if (at.from < at.to)
                out[found++] = (struct candidate){r, key, page[i], at.from, at.to};
        }
    }
    return found;
}

/* Read a whole page and check it. The first time, its filter is built. */
static enum found look_in_page(struct index_run *r, uint32_t number, struct digest key, int flags)
{
    struct index_page page;
    uint32_t from = 0, to;

    if (!page_read(r->fd, r->id, number, &page, flags))
        return BROKEN;
    if (r->filter && !r->filter[number].ready)
        build_filter(&r->filter[number], page.key, page.keys, r->fence[number],
                     next_fence(r, number));
    for (to = page.keys; from < to;) {
        uint32_t middle = (from + to) / 2;

        if (key_less(page.key[middle], key))
            from = middle + 1;
        else
            to = middle;
    }
    return from < page.keys && key_equal(page.key[from], key) ? FOUND : ABSENT;
}

/* Read some keys of a page that was checked before. */
static enum found look_in_range(struct candidate c, struct digest key, int flags)
{
    uint64_t at = (uint64_t)c.page * PAGE_BYTES + PAGE_HEAD + c.from * sizeof key;
    struct digest keys[PAGE_KEYS];
    uint32_t n = c.to - c.from;

    if (!file_read(c.run->fd, keys, n * sizeof key, at, flags))
        return BROKEN;
    file_swap(&keys[0].hi, 2 * n);
    for (uint32_t i = 0; i < n; i++)
        if (key_equal(keys[i], key))
            return FOUND;
    return ABSENT;
}

enum found index_run_look(struct candidate c, struct digest key, bool wait)
{
    struct index_run *r = c.run;
    int flags = wait ? 0 : RWF_NOWAIT;
    bool whole = c.to - c.from == PAGE_KEYS;
    enum found is = whole ? look_in_page(r, c.page, key, flags) : look_in_range(c, key, flags);

    if (is == BROKEN && !wait && (errno == EAGAIN || errno == EOPNOTSUPP)) {
        (void)posix_fadvise(r->fd, (off_t)c.page * PAGE_BYTES, PAGE_BYTES, POSIX_FADV_WILLNEED);
        return LATER;
    }
    while (is == ABSENT && c.page > 0 && r->fence[c.page] == key.hi)
        is = look_in_page(r, --c.page, key, 0);
    return is;
}

/* ---- fences ---- */

/* Write the fences, or read them. The checksum of a block starts from that of the one before. */
static bool move_fences(struct index_run *r, bool write)
{
    uint64_t block[512];

    r->fence_sum = 0;
    for (uint32_t i = 0; i < r->pages; i += 512) {
        uint32_t n = r->pages - i < 512 ? r->pages - i : 512;
        uint64_t at = (uint64_t)r->pages * PAGE_BYTES + (uint64_t)i * sizeof *block;

        if (!write && !file_read(r->fd, r->fence + i, n * sizeof *block, at, 0))
            return false;
        memcpy(block, r->fence + i, n * sizeof *block);
        if (write)
            file_swap(block, n);
        else
            file_swap(r->fence + i, n);
        r->fence_sum = weir_hash_bytes(WEIR_HASH_XXH3, r->fence_sum, block, n * sizeof *block).lo;
        if (write && !file_write(r->fd, block, n * sizeof *block))
            return false;
    }
    return true;
}

const char *index_run_open(struct index_run *r, int dir)
{
    uint64_t expected = r->fence_sum;
    struct stat st;

    r->pages = (uint32_t)r->mapped;
    r->fd = openat(dir, file_name("run", r->id).text, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &st) != 0)
        return strerror(errno);
    if ((uint64_t)st.st_size != index_run_bytes(r))
        return "damaged: it has another size";
    if (!move_fences(r, false))
        return errno == EBADMSG ? "damaged: it is too short" : strerror(errno);
    if (r->fence_sum != expected)
        return "damaged: the checksum of its fences is wrong";
    for (uint32_t i = 1; i < r->pages; i++)
        if (r->fence[i] < r->fence[i - 1])
            return "damaged: its fences are out of order";
    (void)posix_fadvise(r->fd, 0, 0, POSIX_FADV_RANDOM);
    return NULL;
}

/* ---- writing ---- */

bool index_run_create(struct index_run *r, struct page_file *f, int dir)
{
    bool ok = page_file_open(f, dir, file_name("run", r->id), r->id, 0);

    r->keys = 0;
    r->fd = f->fd;
    if (ok)
        (void)posix_fadvise(r->fd, 0, 0, POSIX_FADV_RANDOM);
    return ok;
}

bool index_run_add(struct index_run *r, struct page_file *f, struct digest key)
{
    errno = EBADMSG; /* the inputs have more keys than their manifest states */
    if (f->keys == 0 && f->pages == r->mapped)
        return false;
    if (f->keys == 0)
        r->fence[f->pages] = key.hi;
    r->keys++;
    if (!page_file_add(f, key))
        return false;
    if (f->keys == 0 && f->buffered == 0) /* start writing back: the sync at the end is short */
        (void)sync_file_range(r->fd, (off_t)(f->pages - PAGES_BUFFERED) * PAGE_BYTES,
                              PAGES_BUFFERED * PAGE_BYTES, SYNC_FILE_RANGE_WRITE);
    return true;
}

bool index_run_end(struct index_run *r, struct page_file *f)
{
    if (!page_file_flush(f))
        return false;
    r->pages = f->pages;
    return move_fences(r, true) && fdatasync(r->fd) == 0;
}
