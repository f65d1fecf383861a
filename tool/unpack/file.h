/* file.h - a regular file from its start to its end, decompressed if it is compressed: for those
 * who want its bytes and no records. */
#ifndef WEIR_UNPACK_FILE_H
#define WEIR_UNPACK_FILE_H

#include "unpack/unpack.h"

struct unpacked_file {
    int fd;
    struct unpack *unpack; /* NULL: it is read as it is */
    char failure[200];
};

/* Of an open file, which stays the caller's. plain: as it is, whatever it is. False if it cannot
 * be looked at; failure says why. */
bool unpacked_open(struct unpacked_file *f, int fd, bool plain);
void unpacked_close(struct unpacked_file *f);

/* The next bytes; 0 at the end, or after a signal; -1 if it failed: the failure is said behind
 * the name of the file. */
ssize_t unpacked_read(struct unpacked_file *f, void *to, size_t most);

#endif
