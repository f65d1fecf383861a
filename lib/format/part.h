/* part.h - the frame of everything saved:
 *
 *   part = "WEIR" version kind length body checksum
 *
 * written piece by piece through a sink, read from one stretch of bytes. */
#ifndef WEIR_FORMAT_PART_H
#define WEIR_FORMAT_PART_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <weir.h>

#include "base/bits.h"
#include "sentence/error.h"

#define PART_FRAME 24 /* bytes around the body */

struct part_writer {
    weir_sink sink;
    void *context;
    bool ok;
    XXH3_state_t sum;
};

void part_begin(struct part_writer *out, uint32_t kind, uint64_t length, weir_sink sink,
                void *context);
void part_put(struct part_writer *out, const void *data, size_t size);
void part_put32(struct part_writer *out, uint32_t value);
void part_put64(struct part_writer *out, uint64_t value);
enum weir_status part_end(struct part_writer *out);

/* A sink: bytes into memory that is known to be enough. */
struct part_buffer {
    uint8_t *at;
};
bool part_into_buffer(void *context, const void *data, size_t size);

struct part_reader {
    const uint8_t *at;
    size_t left;
};

/* The next bytes, or NULL if there are not so many. */
const uint8_t *part_get(struct part_reader *in, uint64_t size);

/* A text behind its length, terminated; false if it is too long or none. */
bool part_get_text(struct part_reader *in, char *text, size_t size);

/* WEIR_BAD_DATA and why. */
enum weir_status part_bad(struct weir_error *error, const char *why);

#endif
