/* position.c - see position.h. */
#include "pipe/position.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/inputs.h"

/* If not all bytes can be read, none are used. */
static bool read_again(int fd, uint64_t offset, char *bytes, size_t size, uint8_t *got)
{
    ssize_t n = read_at(fd, bytes, size, offset);

    *got = n == (ssize_t)size ? (uint8_t)size : 0;
    return n >= 0;
}

bool trace_start(struct trace *t, int fd, uint64_t offset)
{
    size_t some = offset < TRACE_BYTES ? (size_t)offset : TRACE_BYTES;
    struct stat st;

    *t = (struct trace){.begins = offset < TRACE_BYTES};
    if (fstat(fd, &st) != 0)
        return false;
    t->device = st.st_dev;
    t->inode = st.st_ino;
    return read_again(fd, 0, t->head, some, &t->head_size) &&
           read_again(fd, offset - some, t->tail, some, &t->tail_size);
}

static void add_to_head(struct trace *t, const char *data, size_t size)
{
    size_t room = TRACE_BYTES - t->head_size, some = size < room ? size : room;

    memcpy(t->head + t->head_size, data, some);
    t->head_size = (uint8_t)(t->head_size + some);
    t->begins = t->head_size < TRACE_BYTES;
}

void trace_add(struct trace *t, const char *data, size_t size)
{
    size_t some = size < TRACE_BYTES ? size : TRACE_BYTES;
    size_t kept = t->tail_size + some > TRACE_BYTES ? TRACE_BYTES - some : t->tail_size;

    if (t->begins && size)
        add_to_head(t, data, size);
    memmove(t->tail, t->tail + t->tail_size - kept, kept);
    if (some)
        memcpy(t->tail + kept, data + size - some, some);
    t->tail_size = (uint8_t)(kept + some);
}

void trace_gap(struct trace *t)
{
    t->begins = false;
    t->tail_size = 0;
}
