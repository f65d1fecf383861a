/* gzip.c - gzip, by zlib. Files that were joined are read as one, as gzip does it; zeros behind
 * the last (of a tape) are no data, anything else there is a fault. */
#include <stdlib.h>
#include <zlib.h>

#include "unpack/codec.h"

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
