/* key_page.h - a page of keys on disk, files of such pages, and the filter of a page in memory.
 *
 * A page is 4096 bytes: a checksum, its number, the number of keys, and up to 255 keys of
 * 16 bytes, little-endian. In a run the keys are in ascending order, in a log in order of arrival.
 *
 * The filter of a page of a run answers from memory whether a key may be in the page, and where.
 * The position of a key between the first key of the page and that of the next, as a number of 16
 * bits, is almost a rank: the upper 8 bits select one of 256 buckets, and a bitmap holds for each
 * bucket as many ones as it has keys and then a zero; the lower 8 bits are stored per key:
 *
 *     before[16]   keys in front of bucket 0, 16, 32 ... 240
 *     bits[8]      512 bits: buckets as 1...10
 *     low[255]     lower 8 bits of key 0, 1, 2 ...
 *
 * 10.5 bits a key; 1 of 256 absent keys is reported as possible. There is nothing to solve, as in
 * a fuse filter, so a filter is built while its page is written or after it is first read. */
#ifndef WEIR_INDEX_KEY_PAGE_H
#define WEIR_INDEX_KEY_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir.h>

#define PAGE_BYTES 4096
#define PAGE_KEYS 255
#define PAGE_HEAD 16 /* bytes before the first key */

/* A key: its 128-bit hash. */
struct digest {
    uint64_t hi, lo;
};

struct index_page {
    uint64_t sum;
    uint32_t number, keys;
    struct digest key[PAGE_KEYS];
};

struct index_page_filter {
    uint8_t before[16];
    uint64_t bits[8];
    uint8_t low[PAGE_KEYS];
    uint8_t ready;
};

static inline bool key_less(struct digest a, struct digest b)
{
    return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
}

static inline bool key_equal(struct digest a, struct digest b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

/* From the byte order of a file to that of this machine, or back. */
void index_keys_swap(struct digest *keys, uint32_t n);

/* Read a page and check it. file: the id of the file; flags: of preadv2(). False with errno, which
 * is EBADMSG if the page is damaged or another one. */
bool index_page_read(int fd, uint64_t file, uint32_t number, struct index_page *page, int flags);

bool index_page_has(const struct index_page *page, struct digest key);

/* ---- writing ---- */

#define PAGES_BUFFERED 64 /* per write(): 256 KiB */

struct index_pages {
    int fd;
    uint64_t id;
    uint32_t pages;          /* complete ones, with those in the buffer */
    uint32_t buffered, keys; /* complete pages in the buffer; keys in the page under way */
    struct index_page *buffer;
};

/* Start a file, or continue it after some of its pages: the rest is truncated. name: of the file
 * with this id. False with errno. */
bool index_pages_open(struct index_pages *f, int dir, const char *name, uint64_t id,
                      uint32_t pages);
void index_pages_close(struct index_pages *f);

/* The page under way, to which a key can be added unless it is full. */
static inline struct index_page *index_pages_last(const struct index_pages *f)
{
    return &f->buffer[f->buffered];
}

/* Complete the page under way, if it has keys. Write the buffer if it is full. False with errno. */
bool index_pages_seal(struct index_pages *f);

/* Write the buffer. False with errno. */
bool index_pages_flush(struct index_pages *f);

/* ---- filters ---- */

/* first and next: hi of the first key of this page, and of the next or UINT64_MAX. */
void index_filter_build(struct index_page_filter *f, const struct digest *keys, uint32_t n,
                        uint64_t first, uint64_t next);

/* Where a key with this hi can be: keys from to to - 1 of the page; none if from == to. */
struct index_range {
    uint32_t from, to;
};
struct index_range index_filter_find(const struct index_page_filter *f, uint64_t hi, uint64_t first,
                                     uint64_t next);

#endif
