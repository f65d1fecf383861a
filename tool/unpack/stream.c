/* stream.c - see stream.h. */
#include "unpack/stream.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct codec *codec_of(enum file_kind kind)
{
    return kind == KIND_GZIP ? &codec_gzip : kind == KIND_ZSTD ? &codec_zstd : &codec_xz;
}

bool packed_open(struct packed_stream *s, int fd, bool waits, enum file_kind kind, const void *head,
                 size_t size)
{
    *s = (struct packed_stream){.fd = fd, .waits = waits, .kind = kind, .codec = codec_of(kind)};
    s->in = malloc(UNPACK_BLOCK);
    s->own = s->in ? s->codec->open() : NULL;
    if (!s->own) {
        free(s->in);
        return false;
    }
    if (size)
        memcpy(s->in, head, size);
    s->end = size;
    return true;
}

void packed_close(struct packed_stream *s)
{
    s->codec->close(s->own);
    free(s->in);
}

static ssize_t refuse(struct packed_stream *s, const char *what, const char *why)
{
    snprintf(s->failure, sizeof s->failure, "%s: %s", what, why);
    return UNPACK_FAILED;
}

static bool is_ready(const struct packed_stream *s)
{
    struct pollfd fd = {.fd = s->fd, .events = POLLIN};

    return !s->waits || poll(&fd, 1, 0) != 0;
}

/* More of the compressed bytes: 1, UNPACK_WAIT or UNPACK_FAILED. */
static ssize_t refill(struct packed_stream *s)
{
    ssize_t n;

    if (!is_ready(s))
        return UNPACK_WAIT;
    do
        n = read(s->fd, s->in, UNPACK_BLOCK);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return UNPACK_WAIT;
    if (n < 0) {
        s->error = errno;
        return refuse(s, "cannot be read", strerror(s->error));
    }
    s->ended = n == 0;
    s->begin = 0;
    s->end = (size_t)n;
    return 1;
}

/* Decompress what is at hand: bytes that came of it, or UNPACK_FAILED. */
static ssize_t step(struct packed_stream *s, void *to, size_t most)
{
    struct flow f = {s->in + s->begin, s->end - s->begin, to, most, s->ended, s->whole};
    errno = 0;
    const char *why = s->codec->step(s->own, &f);
    int error = errno == ENOMEM ? ENOMEM : 0; /* all three codecs allocate with malloc() */
    size_t taken = s->end - s->begin - f.in_size, made = most - f.out_room;

    s->begin += taken;
    s->filled = f.out_room == 0;
    s->whole = f.whole;
    if (!why && made == 0 && taken == 0 && s->begin < s->end)
        why = "its data do not hold together";
    if (!why)
        return (ssize_t)made;
    s->failed = true;
    s->error = error;
    ssize_t failed = refuse(s, error ? "cannot be read" : "is damaged", why);
    return made ? (ssize_t)made : failed; /* what came before the fault first */
}

/* All has been read; is it all there? */
static ssize_t finish(struct packed_stream *s)
{
    char what[64];

    if (s->whole)
        return UNPACK_END;
    snprintf(what, sizeof what, "its %s data end too early", magic_name(s->kind));
    return refuse(s, "is cut short", what);
}

ssize_t packed_read(struct packed_stream *s, void *to, size_t most)
{
    while (!s->failed) {
        bool drained = s->begin == s->end && !s->filled;

        if (drained && !s->ended) {
            ssize_t came = refill(s);

            if (came < 0)
                return came;
        }
        ssize_t n = step(s, to, most);
        if (n != 0)
            return n;
        if (s->ended && s->begin == s->end)
            return finish(s);
    }
    return UNPACK_FAILED;
}
