/* codec.h - decompress a descriptor on the calling thread: gzip, Zstandard or xz. */
#ifndef WEIR_UNPACK_CODEC_H
#define WEIR_UNPACK_CODEC_H

#include "unpack/unpack.h"

struct packed_stream {
    int fd;
    bool waits;
    enum file_kind kind;
    const struct codec *codec;
    void *own; /* state of the codec */
    uint8_t *in;
    size_t begin, end;
    bool ended;  /* end of the descriptor */
    bool filled; /* the last step filled the output: there may be more */
    bool whole;
    bool failed; /* the data is damaged: */
    int error;   /* errno of read(); 0 if the data is damaged */
    char failure[160];
};

/* Like the functions of unpack.h. */
bool packed_open(struct packed_stream *s, int fd, bool waits, enum file_kind kind, const void *head,
                 size_t size);
void packed_close(struct packed_stream *s);
ssize_t packed_read(struct packed_stream *s, void *to, size_t most);

#endif
