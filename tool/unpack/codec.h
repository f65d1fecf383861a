/* codec.h - how one way of compressing is undone, piece by piece. */
#ifndef WEIR_UNPACK_CODEC_H
#define WEIR_UNPACK_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What goes in and comes out of a step, which moves all four. */
struct flow {
    const uint8_t *in;
    size_t in_size;
    uint8_t *out;
    size_t out_room;
    bool last;  /* nothing comes after these bytes */
    bool whole; /* set by the step: all members so far are complete, and nothing is held back */
};

struct codec {
    void *(*open)(void); /* NULL: memory is short */
    /* Go on; NULL, or what is wrong with the bytes, in a few words. Nothing comes in and nothing
     * goes out: it needs more. */
    const char *(*step)(void *own, struct flow *f);
    void (*close)(void *own);
};

extern const struct codec codec_gzip, codec_zstd, codec_xz;

#endif
