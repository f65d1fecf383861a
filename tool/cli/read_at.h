/* read_at.h - bytes at a place of a file, all that were asked for. */
#ifndef WEIR_CLI_READ_AT_H
#define WEIR_CLI_READ_AT_H

#include <stdint.h>
#include <sys/types.h>

/* How many bytes there were: fewer than size only where the file ends. -1 if it
 * failed; errno says why. */
ssize_t read_at(int fd, void *bytes, size_t size, uint64_t offset);

#endif
