/* codec.c - gzip, Zstandard and xz, with a library each: see unpack.h. */
#include "unpack/unpack.h"

#include <errno.h>
#include <lzma.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* Input and output of a step, which advances all four. */
struct flow {
    const uint8_t *in;
    size_t in_size;
    uint8_t *out;
    size_t out_room;
    bool last;  /* end of the input */
    bool whole; /* all members are complete, and all output was written; the step updates it */
};

struct codec {
    void *(*open)(void); /* NULL: out of memory */
    /* Decompress. NULL, or an error message. No progress means that it needs more input. */
    const char *(*step)(void *own, struct flow *f);
    void (*close)(void *own);
};

/* ---- gzip, with zlib. Concatenated files are read as one. Zeros after the last member (from
 * tapes) are ignored; other bytes are an error. ---- */

struct gunzip {
    z_stream stream;
    bool padding; /* within the zeros after the last member */
};

static void *open_gzip(void)
{
    struct gunzip *g = calloc(1, sizeof *g);

    if (g && inflateInit2(&g->stream, 15 + 16) == Z_OK) /* the largest window, a gzip header */
        return g;
    free(g);
    return NULL;
}

static const char *skip_padding(struct gunzip *g, struct flow *f)
{
    for (; f->in_size > 0 && *f->in == 0; f->in++, f->in_size--)
        g->padding = true;
    return g->padding && f->in_size > 0 ? "unexpected data after its end" : NULL;
}

static const char *inflate_some(struct gunzip *g, struct flow *f)
{
    z_stream *z = &g->stream;
    const unsigned most = 1u << 30;

    z->next_in = (uint8_t *)(uintptr_t)f->in;
    z->avail_in = f->in_size < most ? (unsigned)f->in_size : most;
    z->next_out = f->out;
    z->avail_out = f->out_room < most ? (unsigned)f->out_room : most;
    int status = inflate(z, Z_NO_FLUSH);
    f->in_size -= (size_t)(z->next_in - f->in);
    f->in = z->next_in;
    f->out_room -= (size_t)(z->next_out - f->out);
    f->out = z->next_out;
    f->whole = status == Z_STREAM_END;
    if (f->whole)
        return inflateReset(z) == Z_OK ? NULL : "out of memory";
    if (status == Z_MEM_ERROR)
        return "out of memory";
    return status == Z_OK || status == Z_BUF_ERROR ? NULL : z->msg ? z->msg : "invalid gzip data";
}

static const char *step_gzip(void *own, struct flow *f)
{
    struct gunzip *g = own;
    const char *why = f->whole ? skip_padding(g, f) : NULL;

    return why || (f->whole && f->in_size == 0) ? why : inflate_some(g, f);
}

static void close_gzip(void *own)
{
    struct gunzip *g = own;

    inflateEnd(&g->stream);
    free(g);
}

static const struct codec codec_gzip = {open_gzip, step_gzip, close_gzip};

/* ---- xz, with liblzma. Concatenated streams are read as one. ---- */

#define MEMORY_MOST ((uint64_t)256 << 20) /* xz -9 needs 65 MiB */

static void *open_xz(void)
{
    lzma_stream *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    *x = (lzma_stream)LZMA_STREAM_INIT;
    if (lzma_stream_decoder(x, MEMORY_MOST, LZMA_CONCATENATED) == LZMA_OK)
        return x;
    free(x);
    return NULL;
}

static const char *step_xz(void *own, struct flow *f)
{
    lzma_stream *s = own;
    lzma_ret status = LZMA_STREAM_END;

    s->next_in = f->in;
    s->avail_in = f->in_size;
    s->next_out = f->out;
    s->avail_out = f->out_room;
    if (!f->whole)
        status = lzma_code(s, f->last ? LZMA_FINISH : LZMA_RUN);
    f->in = s->next_in;
    f->in_size = s->avail_in;
    f->out = s->next_out;
    f->out_room = s->avail_out;
    f->whole = status == LZMA_STREAM_END;
    switch (status) {
    case LZMA_OK:
    case LZMA_STREAM_END:
    case LZMA_BUF_ERROR: /* it needs more */
        return NULL;
    case LZMA_MEM_ERROR:
        return "out of memory";
    case LZMA_MEMLIMIT_ERROR:
        return "it needs more than 256 MiB of memory";
    case LZMA_OPTIONS_ERROR:
        return "unsupported xz options";
    default:
        return "inconsistent data";
    }
}

static void close_xz(void *own)
{
    lzma_end(own);
    free(own);
}

static const struct codec codec_xz = {open_xz, step_xz, close_xz};

/* ---- Zstandard, with libzstd. Rejects windows above 128 MiB. ---- */

static void *open_zstd(void)
{
    return ZSTD_createDStream();
}

static void close_zstd(void *own)
{
    ZSTD_freeDStream(own);
}

static const char *step_zstd(void *own, struct flow *f)
{
    ZSTD_inBuffer in = {f->in, f->in_size, 0};
    ZSTD_outBuffer out = {f->out, f->out_room, 0};

    if (!f->whole || f->in_size > 0) {
        size_t left = ZSTD_decompressStream(own, &out, &in);

        if (ZSTD_isError(left))
            return ZSTD_getErrorName(left);
        f->whole = left == 0;
    }
    f->in += in.pos;
    f->in_size -= in.pos;
    f->out += out.pos;
    f->out_room -= out.pos;
    return NULL;
}

static const struct codec codec_zstd = {open_zstd, step_zstd, close_zstd};

/* ---- a descriptor through a codec ---- */

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

/* Read compressed bytes: 1, UNPACK_WAIT or UNPACK_FAILED. */
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

/* Decompress the buffered bytes: the number of bytes written, or UNPACK_FAILED. */
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
        why = "inconsistent data";
    if (!why)
        return (ssize_t)made;
    s->failed = true;
    s->error = error;
    ssize_t failed = refuse(s, error ? "cannot be read" : "is damaged", why);
    return made ? (ssize_t)made : failed; /* return the bytes before the error first */
}

/* At the end of the input: is the data complete? */
static ssize_t finish(struct packed_stream *s)
{
    char what[64];

    if (s->whole)
        return UNPACK_END;
    snprintf(what, sizeof what, "its %s data end too early", magic_name(s->kind));
    return refuse(s, "is truncated", what);
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
