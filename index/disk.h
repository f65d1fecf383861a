/* disk.h - files of an index: their names, and reading and writing all of a block. */
#ifndef WEIR_INDEX_DISK_H
#define WEIR_INDEX_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_name {
    char text[32];
};

/* kind: "run" or "log". */
struct file_name disk_name(const char *kind, uint64_t id);

/* Read size bytes; flags: of preadv2(). False with errno, which is EBADMSG at the end of the
 * file. */
bool disk_read(int fd, void *to, size_t size, uint64_t at, int flags);

/* Append. False with errno. */
bool disk_write(int fd, const void *data, size_t size);

/* Convert n numbers from the byte order of a file to that of this machine, or back. */
void disk_swap(uint64_t *numbers, size_t n);

/* close(), which keeps errno. */
void disk_close(int fd);

#endif
