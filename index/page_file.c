/* page_file.c - see page_file.h. */
#include "index/page_file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <weir/hash.h>

/* ---- files ---- */

struct file_name file_name(const char *kind, uint64_t id)
{
    struct file_name name;

    snprintf(name.text, sizeof name.text, "%s-%010" PRIu64, kind, id);
    return name;
}

bool file_read(int fd, void *to, size_t size, uint64_t at, int flags)
{
    uint8_t *p = to;

    while (size > 0) {
        struct iovec part = {.iov_base = p, .iov_len = size};
        ssize_t n = flags ? preadv2(fd, &part, 1, (off_t)at, flags) : pread(fd, p, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EBADMSG;
        if (n <= 0)
            return false;
        p += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

bool file_write(int fd, const void *data, size_t size)
{
    const uint8_t *p = data;

    while (size > 0) {
        ssize_t n = write(fd, p, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n < 0 ? errno : ENOSPC;
            return false;
        }
        p += n;
        size -= (size_t)n;
    }
    return true;
}

void file_close(int fd)
{
    int error = errno;

    if (fd >= 0)
        close(fd);
    errno = error;
}

void file_swap(uint64_t *numbers, size_t n)
{
    for (size_t i = 0; __BYTE_ORDER != __LITTLE_ENDIAN && i < n; i++)
        numbers[i] = le64toh(numbers[i]);
}

/* ---- reading pages ---- */

static uint64_t checksum(const struct index_page *page, uint64_t file)
{
    return weir_hash_bytes(WEIR_HASH_XXH3, file, &page->number, PAGE_BYTES - sizeof page->sum).lo;
}

bool page_read(int fd, uint64_t id, uint32_t number, struct index_page *page, int flags)
{
    if (!file_read(fd, page, PAGE_BYTES, (uint64_t)number * PAGE_BYTES, flags))
        return false;
    errno = EBADMSG;
    if (le64toh(page->sum) != checksum(page, id) || le32toh(page->number) != number)
        return false;
    page->number = number;
    page->keys = le32toh(page->keys);
    if (page->keys == 0 || page->keys > PAGE_KEYS)
        return false;
    file_swap(&page->key[0].hi, 2 * page->keys);
    return true;
}

/* ---- writing pages ---- */

bool page_file_open(struct page_file *f, int dir, struct file_name name, uint64_t id,
                    uint32_t pages)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | (pages ? 0 : O_TRUNC);
    off_t end = (off_t)pages * PAGE_BYTES;

    *f = (struct page_file){.id = id, .pages = pages, .fd = openat(dir, name.text, flags, 0666)};
    f->buffer = calloc(PAGES_BUFFERED, sizeof *f->buffer);
    if (f->fd >= 0 && f->buffer && ftruncate(f->fd, end) == 0 && lseek(f->fd, end, SEEK_SET) == end)
        return true;
    page_file_close(f);
    return false;
}

void page_file_close(struct page_file *f)
{
    file_close(f->fd);
    free(f->buffer);
    *f = (struct page_file){.fd = -1, .id = f->id};
}

static bool write_buffer(struct page_file *f)
{
    uint32_t n = f->buffered;

    f->buffered = 0;
    return file_write(f->fd, f->buffer, n * sizeof *f->buffer);
}

bool page_file_seal(struct page_file *f)
{
    struct index_page *page = &f->buffer[f->buffered];

    if (f->keys == 0)
        return true;
    memset(page->key + f->keys, 0, (PAGE_KEYS - f->keys) * sizeof *page->key);
    file_swap(&page->key[0].hi, 2 * f->keys);
    page->number = htole32(f->pages++);
    page->keys = htole32(f->keys);
    page->sum = htole64(checksum(page, f->id));
    f->keys = 0;
    return ++f->buffered < PAGES_BUFFERED || write_buffer(f);
}

bool page_file_add(struct page_file *f, struct digest key)
{
    f->buffer[f->buffered].key[f->keys++] = key;
    return f->keys < PAGE_KEYS || page_file_seal(f);
}

bool page_file_flush(struct page_file *f)
{
    return page_file_seal(f) && write_buffer(f);
}
