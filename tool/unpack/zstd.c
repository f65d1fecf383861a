/* zstd.c - Zstandard, by libzstd, which takes frame after frame and refuses those that want a
 * window of more than 128 MiB. */
#include <stdlib.h>
#include <zstd.h>

#include "unpack/codec.h"

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
