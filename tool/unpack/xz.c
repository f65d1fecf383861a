/* xz.c - xz, by liblzma. Streams that were joined are read as one. */
#include <lzma.h>
#include <stdlib.h>

#include "unpack/codec.h"

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
