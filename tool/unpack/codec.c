/* codec.c - see codec.h. Each format by its own library. */
#include "unpack/codec.h"

#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

/* ---- gzip, by zlib. Files that were joined are read as one, as gzip does it; zeros behind the
 * last (of a tape) are no data, anything else there is a fault. ---- */

struct gunzip {
    z_stream stream;
    bool whole;   /* between two members */
    bool padding; /* zeros have come */
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
    return g->padding && f->in_size > 0 ? "there is something behind its end" : NULL;
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
    g->whole = status == Z_STREAM_END;
    if (g->whole)
        return inflateReset(z) == Z_OK ? NULL : "memory is short";
    if (status == Z_MEM_ERROR)
        return "memory is short";
    return status == Z_OK || status == Z_BUF_ERROR ? NULL : z->msg ? z->msg : "it is not gzip";
}

static const char *step_gzip(void *own, struct flow *f)
{
    struct gunzip *g = own;
    const char *why = g->whole ? skip_padding(g, f) : NULL;

    if (!why && (f->in_size > 0 || !g->whole))
        why = inflate_some(g, f);
    f->whole = g->whole;
    return why;
}

static void close_gzip(void *own)
{
    struct gunzip *g = own;

    inflateEnd(&g->stream);
    free(g);
}

const struct codec codec_gzip = {open_gzip, step_gzip, close_gzip};

/* ---- xz, by liblzma. Streams that were joined are read as one. ---- */

#define MEMORY_MOST ((uint64_t)256 << 20) /* xz -9 needs 65 MiB */

struct unxz {
    lzma_stream stream;
    bool whole;
};

static void *open_xz(void)
{
    struct unxz *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->stream = (lzma_stream)LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&x->stream, MEMORY_MOST, LZMA_CONCATENATED) == LZMA_OK)
        return x;
    free(x);
    return NULL;
}

static const char *step_xz(void *own, struct flow *f)
{
    struct unxz *x = own;
    lzma_stream *s = &x->stream;
    lzma_ret status = LZMA_STREAM_END;

    s->next_in = f->in;
    s->avail_in = f->in_size;
    s->next_out = f->out;
    s->avail_out = f->out_room;
    if (!x->whole)
        status = lzma_code(s, f->last ? LZMA_FINISH : LZMA_RUN);
    f->in = s->next_in;
    f->in_size = s->avail_in;
    f->out = s->next_out;
    f->out_room = s->avail_out;
    f->whole = x->whole = status == LZMA_STREAM_END;
    switch (status) {
    case LZMA_OK:
    case LZMA_STREAM_END:
    case LZMA_BUF_ERROR: /* it needs more */
        return NULL;
    case LZMA_MEM_ERROR:
        return "memory is short";
    case LZMA_MEMLIMIT_ERROR:
        return "it would take more than 256 MiB of memory";
    case LZMA_OPTIONS_ERROR:
        return "it is of a kind that is not known here";
    default:
        return "its data do not hold together";
    }
}

static void close_xz(void *own)
{
    struct unxz *x = own;

    lzma_end(&x->stream);
    free(x);
}

const struct codec codec_xz = {open_xz, step_xz, close_xz};

/* ---- Zstandard, by libzstd, which takes frame after frame and refuses those that want a window
 * of more than 128 MiB. ---- */

struct unzstd {
    ZSTD_DStream *stream;
    bool whole;
};

static void close_zstd(void *own)
{
    struct unzstd *z = own;

    ZSTD_freeDStream(z->stream);
    free(z);
}

static void *open_zstd(void)
{
    struct unzstd *z = calloc(1, sizeof *z);

    if (z && (z->stream = ZSTD_createDStream()))
        return z;
    free(z);
    return NULL;
}

static const char *step_zstd(void *own, struct flow *f)
{
    struct unzstd *z = own;
    ZSTD_inBuffer in = {f->in, f->in_size, 0};
    ZSTD_outBuffer out = {f->out, f->out_room, 0};

    if (!z->whole || f->in_size > 0) {
        size_t left = ZSTD_decompressStream(z->stream, &out, &in);

        if (ZSTD_isError(left))
            return ZSTD_getErrorName(left);
        z->whole = left == 0;
    }
    f->in += in.pos;
    f->in_size -= in.pos;
    f->out += out.pos;
    f->out_room -= out.pos;
    f->whole = z->whole;
    return NULL;
}

const struct codec codec_zstd = {open_zstd, step_zstd, close_zstd};
