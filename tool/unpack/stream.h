/* stream.h - bytes of a descriptor through a codec, on the thread that asks for them. */
#ifndef WEIR_UNPACK_STREAM_H
#define WEIR_UNPACK_STREAM_H

#include "unpack/codec.h"
#include "unpack/unpack.h"

struct packed_stream {
    int fd;
    bool waits;
    enum file_kind kind;
    const struct codec *codec;
    void *own; /* of the codec */
    uint8_t *in;
    size_t begin, end;
    bool ended;  /* the descriptor is at its end */
    bool filled; /* the last step filled its room: there may be more */
    bool whole;
    bool failed; /* it is damaged here: */
    int error;   /* errno if it could not be read; 0 if its data are damaged */
    char failure[160];
};

/* As of unpack.h. */
bool packed_open(struct packed_stream *s, int fd, bool waits, enum file_kind kind, const void *head,
                 size_t size);
void packed_close(struct packed_stream *s);
ssize_t packed_read(struct packed_stream *s, void *to, size_t most);

#endif
