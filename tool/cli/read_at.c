/* read_at.c - see read_at.h. One pread() may bring less than there is, on a network
 * file system or because of a signal; that is neither an end nor a failure. */
#include "cli/read_at.h"

#include <errno.h>
#include <unistd.h>

ssize_t read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    size_t got = 0;

    while (got < size) {
        ssize_t n = pread(fd, (char *)bytes + got, size - got, (off_t)(offset + got));

        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -1;
        got += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)got;
}
