/* key_page.c - see key_page.h. */
#include "index/key_page.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/hash.h>

#include "index/disk.h"

void index_keys_swap(struct digest *keys, uint32_t n)
{
    if (__BYTE_ORDER == __LITTLE_ENDIAN)
        return;
    for (uint32_t i = 0; i < n; i++)
        keys[i] = (struct digest){.hi = le64toh(keys[i].hi), .lo = le64toh(keys[i].lo)};
}

static uint64_t checksum(const struct index_page *page, uint64_t file)
{
    return weir_hash_bytes(WEIR_HASH_XXH3, file, &page->number, PAGE_BYTES - sizeof page->sum).lo;
}

/* ---- reading ---- */

bool index_page_read(int fd, uint64_t file, uint32_t number, struct index_page *page, int flags)
{
    if (!disk_read(fd, page, PAGE_BYTES, (uint64_t)number * PAGE_BYTES, flags))
        return false;
    errno = EBADMSG;
    if (le64toh(page->sum) != checksum(page, file) || le32toh(page->number) != number)
        return false;
    page->number = number;
    page->keys = le32toh(page->keys);
    if (page->keys == 0 || page->keys > PAGE_KEYS)
        return false;
    index_keys_swap(page->key, page->keys);
    return true;
}

bool index_page_has(const struct index_page *page, struct digest key)
{
    uint32_t from = 0, to = page->keys;

    while (from < to) {
        uint32_t middle = (from + to) / 2;

        if (key_less(page->key[middle], key))
            from = middle + 1;
        else
            to = middle;
    }
    return from < page->keys && key_equal(page->key[from], key);
}

/* ---- writing ---- */

bool index_pages_open(struct index_pages *f, int dir, const char *name, uint64_t id, uint32_t pages)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | (pages ? 0 : O_TRUNC);
    off_t end = (off_t)pages * PAGE_BYTES;

    *f = (struct index_pages){.id = id, .pages = pages, .fd = openat(dir, name, flags, 0666)};
    f->buffer = calloc(PAGES_BUFFERED, sizeof *f->buffer);
    if (f->fd >= 0 && f->buffer && ftruncate(f->fd, end) == 0 && lseek(f->fd, end, SEEK_SET) == end)
        return true;
    index_pages_close(f);
    return false;
}

void index_pages_close(struct index_pages *f)
{
    disk_close(f->fd);
    free(f->buffer);
    f->fd = -1;
    f->buffer = NULL;
}

bool index_pages_flush(struct index_pages *f)
{
    uint32_t n = f->buffered;

    f->buffered = 0;
    return disk_write(f->fd, f->buffer, n * sizeof *f->buffer);
}

bool index_pages_seal(struct index_pages *f)
{
    struct index_page *page = index_pages_last(f);

    if (f->keys == 0)
        return true;
    memset(page->key + f->keys, 0, (PAGE_KEYS - f->keys) * sizeof *page->key);
    index_keys_swap(page->key, f->keys);
    page->number = htole32(f->pages);
    page->keys = htole32(f->keys);
    page->sum = htole64(checksum(page, f->id));
    f->pages++;
    f->keys = 0;
    return ++f->buffered < PAGES_BUFFERED || index_pages_flush(f);
}

/* ---- filters ---- */

/* 0 to 65535, ascending in hi: keys of equal hi have one position. */
static inline uint32_t position(uint64_t hi, uint64_t first, uint64_t next)
{
    double at = (double)(hi - first) * (65536.0 / ((double)(next - first) + 1.0));

    return at < 65535.0 ? (uint32_t)at : 65535;
}

void index_filter_build(struct index_page_filter *f, const struct digest *keys, uint32_t n,
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

struct index_range index_filter_find(const struct index_page_filter *f, uint64_t hi, uint64_t first,
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
        return (struct index_range){0, PAGE_KEYS};
    uint32_t from = before + begin - in_group;
    uint32_t to = from + (uint32_t)__builtin_ctzll(zeros) - begin;

    while (from < to && f->low[from] != (uint8_t)at)
        from++;
    while (from < to && f->low[to - 1] != (uint8_t)at)
        to--;
    return (struct index_range){from, to};
}
