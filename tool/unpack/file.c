/* file.c - see file.h. */
#include "unpack/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/signals.h"

bool unpacked_open(struct unpacked_file *f, int fd, bool plain)
{
    enum file_kind kind = KIND_RECORDS;

    *f = (struct unpacked_file){.fd = fd};
    if (!plain && !magic_of_file(fd, &kind)) {
        snprintf(f->failure, sizeof f->failure, "cannot be read: %s", strerror(errno));
        return false;
    }
    if (!magic_is_packed(kind))
        return true;
    f->unpack = unpack_open(fd, false, kind, NULL, 0, false);
    if (!f->unpack)
        snprintf(f->failure, sizeof f->failure, "cannot be read: memory is short");
    return f->unpack;
}

void unpacked_close(struct unpacked_file *f)
{
    unpack_close(f->unpack);
    f->unpack = NULL;
}

static ssize_t read_plain(struct unpacked_file *f, void *to, size_t most)
{
    ssize_t n;

    do
        n = read(f->fd, to, most);
    while (n < 0 && errno == EINTR && !signals_caught());
    if (n < 0)
        snprintf(f->failure, sizeof f->failure, "cannot be read: %s", strerror(errno));
    return n;
}

ssize_t unpacked_read(struct unpacked_file *f, void *to, size_t most)
{
    if (signals_caught())
        return 0;
    if (!f->unpack)
        return read_plain(f, to, most);
    ssize_t n = unpack_read(f->unpack, to, most);
    if (n == UNPACK_FAILED)
        snprintf(f->failure, sizeof f->failure, "%s", unpack_failure(f->unpack));
    return n;
}
