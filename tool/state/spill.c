/* spill.c - see spill.h. */
#include "state/spill.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inputs.h"
#include "state/target.h"

#define ROOM_LEAST ((uint64_t)1 << 20)

void spill_open(struct spill *a, uint64_t kept)
{
    *a = (struct spill){.kept = kept, .fd = -1};
}

void spill_close(struct spill *a)
{
    free(a->memory);
    if (a->fd >= 0)
        close(a->fd);
    *a = (struct spill){.fd = -1};
}

static const char *folder(void)
{
    const char *named = getenv("TMPDIR");

    return named && *named ? named : "/tmp";
}

static bool fails(struct spill *a, int error)
{
    a->error = error;
    return false;
}

static bool grow(struct spill *a, uint64_t size)
{
    uint64_t room = a->room ? a->room : ROOM_LEAST;
    uint8_t *larger;

    if (size <= a->room)
        return true;
    while (room < size)
        room *= 2;
    larger = realloc(a->memory, (size_t)room);
    if (!larger)
        return fails(a, ENOMEM);
    a->memory = larger;
    a->room = room;
    return true;
}

/* The file is created without a name, or unlinked at once. */
static bool open_file(struct spill *a)
{
    struct temporary t;

    if (a->fd >= 0)
        return true;
    a->opening = true;
    if (!temporary_open(&t, folder(), 0600))
        return fails(a, errno);
    temporary_remove(&t);
    a->fd = t.fd;
    a->opening = false;
    return true;
}

static bool write_file(struct spill *a, uint64_t at, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = pwrite(a->fd, data, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fails(a, n < 0 ? errno : ENOSPC);
        data += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

static bool put(void *context, uint64_t at, const void *data, size_t size)
{
    struct spill *a = context;

    if (at + size <= a->kept) {
        if (!grow(a, at + size))
            return false;
        memcpy(a->memory + at, data, size);
        return true;
    }
    return open_file(a) && write_file(a, at, data, size);
}

static bool get(void *context, uint64_t at, void *data, size_t size)
{
    struct spill *a = context;

    if (at + size <= a->kept) {
        memcpy(data, a->memory + at, size);
        return true;
    }
    ssize_t n = read_at(a->fd, data, size, at);
    return n == (ssize_t)size || fails(a, n < 0 ? errno : EIO);
}

struct weir_spill spill_room(struct spill *a)
{
    return (struct weir_spill){put, get, a};
}

const char *spill_failure(const struct spill *a)
{
    static char text[512];

    if (a->error == ENOMEM)
        return "out of memory";
    snprintf(text, sizeof text, "%s %s: %s; set TMPDIR to another directory",
             a->opening ? "cannot create a file for the keys of the set in"
                        : "cannot spill the keys of the set to",
             folder(), strerror(a->error));
    return text;
}
