/* bytes.c - see bytes.h.
 *
 * read() into a block that stays in the cache is faster than mmap(), whose page faults cost more
 * than the copy (docs/command.md has figures). Each batch owns its bytes, so several can be in
 * flight. A batch gives back the bytes that it does not use.
 *
 * Each byte is copied at most a constant number of times. Bytes that come from the rest are given
 * back by moving an index, and a batch takes at most one block of the rest. The long beginning of
 * an incomplete record is handed over by exchanging buffers. */
#include "pipe/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/inputs.h"
#include "cli/signals.h"

#define EXCHANGED (BLOCK / 2) /* from this size on, buffers are exchanged and not copied */

/* The file type is known, and these first bytes were read. */
static bool take_kind(struct byte_reader *r, const void *head, size_t size)
{
    r->known = true;
    if (!magic_is_packed(r->kind))
        return true;
    r->unpack = unpack_open(r->fd, !r->regular, r->kind, head, size, true);
    errno = ENOMEM;
    return r->unpack != NULL;
}

/* Not blocking, so that a signal ends the wait for the writer of a named pipe; no effect
 * on regular files. */
bool bytes_open(struct byte_reader *r, const char *name)
{
    struct stat st;

    r->fd = strcmp(name, "-") == 0 ? 0 : open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (r->fd < 0 || fstat(r->fd, &st) != 0)
        return false;
    r->regular = S_ISREG(st.st_mode);
    if (r->regular)
        (void)posix_fadvise(r->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    r->ended = false;
    r->kind = KIND_RECORDS;
    r->known = r->plain;
    r->headed = 0;
    r->looked = false;
    r->within = KIND_RECORDS;
    bytes_forget(r);
    return !r->regular || r->plain || (magic_of_file(r->fd, &r->kind) && take_kind(r, NULL, 0));
}

void bytes_close_file(struct byte_reader *r)
{
    unpack_close(r->unpack);
    r->unpack = NULL;
    if (r->fd > 0)
        close(r->fd);
    r->fd = -1;
}

void bytes_close(struct byte_reader *r)
{
    bytes_close_file(r);
    free(r->rest);
    r->rest = NULL;
}

void bytes_forget(struct byte_reader *r)
{
    r->begin = r->end = 0;
    r->fresh = true;
    r->trace = (struct trace){0};
}

static void exchange(struct byte_reader *r, struct batch *b)
{
    char *data = b->data;
    size_t room = b->room;

    b->data = r->rest;
    b->room = r->room;
    r->rest = data;
    r->room = room;
}

static size_t take(struct byte_reader *r, struct batch *b, size_t filled, size_t most)
{
    size_t n = bytes_left(r) < most ? bytes_left(r) : most;

    if (n)
        memcpy(b->data + filled, r->rest + r->begin, n);
    r->begin += n;
    r->moved += n;
    return n;
}

ssize_t bytes_begin(struct byte_reader *r, struct batch *b, size_t first)
{
    size_t most = first > BLOCK ? first : BLOCK, all = bytes_left(r);

    r->fresh = r->begin == 0 && all >= EXCHANGED && all == first;
    if (r->fresh) {
        exchange(r, b);
        r->end = 0;
    }
    if (!batch_grow(b, most))
        return -1;
    return (ssize_t)(r->fresh ? all : take(r, b, 0, most));
}

/* If a log is truncated and filled again, the offset is in the middle of other data. The check
 * comes after reading: at worst, data that was read before the change is rejected. */
static ssize_t refuse_changed(struct byte_reader *r, const char *data, ssize_t n)
{
    char now[TRACE_BYTES];
    size_t size = r->trace.tail_size;
    off_t at = size ? lseek(r->fd, 0, SEEK_CUR) - n : 0;
    ssize_t got = at > 0 ? read_at(r->fd, now, size, (uint64_t)at - size) : 0;

    if (got < 0)
        return BYTES_FAILED;
    if (at > 0 && (got != (ssize_t)size || memcmp(now, r->trace.tail, size) != 0))
        return BYTES_CHANGED;
    trace_add(&r->trace, data, (size_t)n);
    return n;
}

/* One read(). */
static ssize_t read_once(struct byte_reader *r, char *to, size_t most)
{
    for (;;) {
        if (!r->regular && signals_wait(r->fd, r->patience) != WAIT_READY)
            return BYTES_NONE;
        ssize_t n = read(r->fd, to, most);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        return n >= 0 && r->regular ? refuse_changed(r, to, n) : n;
    }
}

/* One block of decompressed data. */
static ssize_t read_unpacked(struct byte_reader *r, char *to, size_t most)
{
    for (;;) {
        ssize_t n = unpack_read(r->unpack, to, most);

        if (n != UNPACK_WAIT)
            return n == UNPACK_FAILED ? BYTES_DAMAGED : n;
        if (signals_wait(unpack_waits_for(r->unpack), r->patience) != WAIT_READY)
            return BYTES_NONE;
    }
}

/* The same, with a check: the decompressed data may not be records either. Its first piece is a
 * whole block, unless a pipe pauses within the first bytes. */
static ssize_t read_looking(struct byte_reader *r, char *to, size_t most)
{
    ssize_t n = read_unpacked(r, to, most);
    bool open;

    if (n > 0 && !r->looked) {
        r->within = magic_kind(to, (size_t)n, &open);
        r->looked = true;
    }
    return r->within == KIND_RECORDS ? n : BYTES_FOREIGN;
}

/* The first bytes of a pipe, until its type is known. */
static ssize_t read_first(struct byte_reader *r, char *to, size_t most)
{
    size_t got = r->headed;
    bool open = true;

    memcpy(to, r->head, got);
    while (open) {
        ssize_t n = read_once(r, to + got, most - got);

        if (n < 0) {
            memcpy(r->head, to, r->headed = got);
            return n;
        }
        got += (size_t)n;
        r->kind = magic_kind(to, got, &open);
        open &= n > 0;
    }
    if (!take_kind(r, to, got))
        return BYTES_FAILED;
    return r->unpack ? read_looking(r, to, most) : (ssize_t)got;
}

static ssize_t read_some(struct byte_reader *r, char *to, size_t most)
{
    ssize_t n = !r->known   ? read_first(r, to, most)
                : r->unpack ? read_looking(r, to, most)
                            : read_once(r, to, most);

    return r->known && r->kind > KIND_XZ ? BYTES_FOREIGN : n;
}

ssize_t bytes_more(struct byte_reader *r, struct batch *b, size_t filled)
{
    size_t most = b->room - filled < BLOCK ? b->room - filled : BLOCK;

    if (bytes_left(r))
        return (ssize_t)take(r, b, filled, most);
    r->fresh = true;
    if (r->ended)
        return BYTES_END;
    ssize_t n = read_some(r, b->data + filled, most);
    r->ended = n == 0;
    return n;
}

/* ---- going to a place ---- */

static ssize_t skip_unpacked(struct byte_reader *r, uint64_t offset)
{
    char *scratch = malloc(BLOCK);
    ssize_t n = scratch ? 1 : BYTES_FAILED;

    while (n > 0 && offset > 0) {
        do
            n = read_unpacked(r, scratch, offset < BLOCK ? (size_t)offset : BLOCK);
        while (n == BYTES_NONE && !signals_caught());
        if (n > 0) {
            trace_add(&r->trace, scratch, (size_t)n);
            offset -= (size_t)n;
        }
        if (signals_caught())
            n = BYTES_NONE;
    }
    free(scratch);
    return n;
}

ssize_t bytes_seek(struct byte_reader *r, uint64_t offset)
{
    bool unpacked = r->unpack;

    unpack_close(r->unpack); /* its thread reads no further */
    r->unpack = NULL;
    bytes_forget(r);
    r->ended = false;
    r->looked = offset > 0;
    if (lseek(r->fd, unpacked ? 0 : (off_t)offset, SEEK_SET) < 0)
        return BYTES_FAILED;
    if (!unpacked)
        return 1;
    if (!take_kind(r, NULL, 0) || !trace_start(&r->trace, r->fd, 0))
        return BYTES_FAILED;
    return skip_unpacked(r, offset);
}

void bytes_add(struct byte_reader *r, struct batch *b, size_t *filled, char c)
{
    b->data[(*filled)++] = c; /* MARGIN has space for one */
    r->fresh = true;
}

static bool grow(struct byte_reader *r, size_t room)
{
    char *rest = room > r->room ? realloc(r->rest, room + MARGIN) : r->rest;

    if (room > r->room && !rest)
        return false;
    if (room > r->room) {
        memset(rest + room, 0, MARGIN);
        r->rest = rest;
        r->room = room;
    }
    return true;
}

bool bytes_give_back(struct byte_reader *r, struct batch *b, size_t used, size_t filled)
{
    size_t size = filled - used;

    if (!r->fresh) { /* they are still there */
        r->begin -= size;
        return true;
    }
    r->begin = 0;
    r->end = size;
    if (used == 0 && size >= EXCHANGED) {
        exchange(r, b);
        return true;
    }
    if (!grow(r, size))
        return false;
    if (size)
        memcpy(r->rest, b->data + used, size);
    r->moved += size;
    return true;
}
