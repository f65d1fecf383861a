/* unpack.c - compressed data, valid or not: read in pieces of any size, with and without a thread,
 * it gives the same bytes and the same end. The first byte is the size of the pieces.
 *
 * One difference is accepted: libzstd 1.5.4 rejects a Zstandard frame that states more bytes than
 * it has and ends in an empty block only if it is decoded in one call. */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/signals.h"
#include "unpack/unpack.h"

#define UNPACKED_MAX ((size_t)1 << 20) /* the limit of decompressed bytes that are compared */

struct made {
    size_t size;
    ssize_t end;
    uint8_t bytes[UNPACKED_MAX];
};

static int file_of(const uint8_t *data, size_t size)
{
    int fd = memfd_create("packed", MFD_CLOEXEC);

    require(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static void unpack_all(const uint8_t *data, size_t size, size_t piece, int thread, struct made *out)
{
    int fd = file_of(data, size);
    enum file_kind kind;
    struct unpack *u;

    out->size = 0;
    out->end = 1;
    require(magic_of_file(fd, &kind));
    u = magic_is_packed(kind) ? unpack_open(fd, false, kind, NULL, 0, thread) : NULL;
    while (u && out->end > 0 && out->size < UNPACKED_MAX) {
        size_t room = UNPACKED_MAX - out->size;

        out->end = unpack_read(u, out->bytes + out->size, room < piece ? room : piece);
        if (out->end > 0)
            out->size += (size_t)out->end;
        if (out->end == UNPACK_WAIT) {
            while (signals_wait(unpack_waits_for(u), 10000) != WAIT_READY)
                ; /* the fuzzer's alarm interrupts it; its own timeout ends what hangs */
            out->end = 1;
        }
    }
    require(!u || out->end != UNPACK_FAILED || *unpack_failure(u));
    unpack_close(u);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct made whole, pieces;
    size_t piece = size ? (size_t)1 + data[0] * data[0] : 1;

    if (size < 2)
        return 0;
    unpack_all(data + 1, size - 1, UNPACKED_MAX, 0, &whole);
    unpack_all(data + 1, size - 1, piece, data[0] % 4 == 0, &pieces);
    if (pieces.end > 0 || whole.end > 0) /* not to the end */
        return 0;
    require(whole.end == pieces.end || (whole.end == UNPACK_FAILED && pieces.end == 0 &&
                                        memmem(data, size, "\x28\xb5\x2f\xfd", 4)));
    /* Damaged data may give slightly fewer bytes if the error is detected earlier. */
    require(whole.end == UNPACK_FAILED || whole.size == pieces.size);
    require(memcmp(whole.bytes, pieces.bytes,
                   whole.size < pieces.size ? whole.size : pieces.size) == 0);
    return 0;
}
