/* page_file.h - files of pages of keys, and what is common to all files of an index.
 *
 * A page is 4096 bytes: a checksum, its number, the number of keys, and up to 255 keys of
 * 16 bytes, little-endian. In a run the keys are in ascending order, in a log in order of
 * arrival. The checksum depends on the id of the file: a page of another file is not valid. */
#ifndef WEIR_INDEX_PAGE_FILE_H
#define WEIR_INDEX_PAGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES 4096
#define PAGE_KEYS 255
#define PAGE_HEAD 16      /* bytes before the first key */
#define PAGES_BUFFERED 64 /* per write(): 256 KiB */

/* A key: its 128-bit hash. */
struct digest {
    uint64_t hi, lo;
};

struct index_page {
    uint64_t sum;
    uint32_t number, keys;
    struct digest key[PAGE_KEYS];
};

struct file_name {
    char text[32];
};

static inline bool key_less(struct digest a, struct digest b)
{
    return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
}

static inline bool key_equal(struct digest a, struct digest b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

/* ---- files; false with errno ---- */

/* kind: "run" or "log". */
struct file_name file_name(const char *kind, uint64_t id);

/* Read or append all of a block; flags: of preadv2(). EBADMSG: the file ends before. */
bool file_read(int fd, void *to, size_t size, uint64_t at, int flags);
bool file_write(int fd, const void *data, size_t size);
void file_close(int fd); /* keeps errno */

/* Convert n numbers from the byte order of a file to that of this machine, or back. */
void file_swap(uint64_t *numbers, size_t n);

/* ---- pages; false with errno ---- */

/* Read a page of the file with this id and check it. EBADMSG: damaged, or another page. */
bool page_read(int fd, uint64_t id, uint32_t number, struct index_page *page, int flags);

struct page_file {
    int fd;
    uint64_t id;
    uint32_t pages;          /* complete ones, with those in the buffer */
    uint32_t buffered, keys; /* complete pages in the buffer; keys in the page under way */
    struct index_page *buffer;
};

/* Start a file, or continue it after some of its pages: the rest is truncated. */
bool page_file_open(struct page_file *f, int dir, struct file_name name, uint64_t id,
                    uint32_t pages);
void page_file_close(struct page_file *f);

/* Add a key. The page is complete when it is full, or by page_file_seal(). */
bool page_file_add(struct page_file *f, struct digest key);
bool page_file_seal(struct page_file *f);

/* Complete the page and write the buffer. */
bool page_file_flush(struct page_file *f);

#endif
