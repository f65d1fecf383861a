/* disk.c - see disk.h. */
#include "index/disk.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

struct file_name disk_name(const char *kind, uint64_t id)
{
    struct file_name name;

    snprintf(name.text, sizeof name.text, "%s-%010" PRIu64, kind, id);
    return name;
}

bool disk_read(int fd, void *to, size_t size, uint64_t at, int flags)
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

bool disk_write(int fd, const void *data, size_t size)
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

void disk_swap(uint64_t *numbers, size_t n)
{
    for (size_t i = 0; __BYTE_ORDER != __LITTLE_ENDIAN && i < n; i++)
        numbers[i] = le64toh(numbers[i]);
}

void disk_close(int fd)
{
    int error = errno;

    if (fd >= 0)
        close(fd);
    errno = error;
}
