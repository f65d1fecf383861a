/* part.h - the frame of everything saved, as docs/format.md draws it:
 *
 *   part = head | cells | sums, each padded with zeros to whole lines of 64 bytes
 *
 * The head says what it is, and has a checksum of its own: it can be believed before
 * a cell is read. The cells lie as in memory, so that a mapped file can be asked as
 * it is. The sums are one checksum for each MiB of cells.
 *
 * Writing goes through a sink, in one pass over the file and two over what is
 * saved: first the cells, then their sums. So nothing has to be kept meanwhile, and
 * writing needs no memory. */
#ifndef WEIR_FORMAT_PART_H
#define WEIR_FORMAT_PART_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <weir/saved.h>

#include "base/bits.h"
#include "spec/error.h"

#define PART_LINE 64
#define PART_BLOCK (UINT64_C(1) << 20) /* bytes of cells under one sum */
#define PART_HEAD_MOST 4096
#define PART_WORDS ((PART_HEAD_MOST - PART_LINE) / 8)

struct part_head {
    uint32_t kind;
    uint32_t shard, shards; /* 0 of 1: the whole */
    const char *spec;       /* so many bytes, not terminated: */
    uint32_t length;
    uint64_t cells; /* bytes, without padding */
    uint32_t words; /* what is known of it beside its cells: */
    uint64_t word[PART_WORDS];
    const uint8_t *sums; /* for writing: those that the cells have already, or NULL */
};

static inline uint64_t part_lines(uint64_t bytes)
{
    return (bytes + PART_LINE - 1) / PART_LINE * PART_LINE;
}

static inline uint64_t part_blocks(uint64_t cells)
{
    return cells / PART_BLOCK + (cells % PART_BLOCK != 0);
}

static inline void part_word(struct part_head *h, uint64_t value)
{
    h->word[h->words++] = value;
}

/* Bytes of the head, and of the whole part. */
uint32_t part_head_size(const struct part_head *h);
uint64_t part_size(const struct part_head *h);

/* ---- writing ---- */

struct part_writer {
    weir_sink sink;
    void *context;
    bool ok;
    bool summing; /* bytes go into the sums, not into the sink */
    uint64_t block, in_block;
    XXH3_state_t sum;
};

/* Write a part; put() puts the cells, twice the same. */
enum weir_status part_write(const struct part_head *h,
                            void (*put)(const void *what, struct part_writer *out),
                            const void *what, weir_sink sink, void *context,
                            struct weir_error *error);

/* Does a buffer have room for so many bytes? If not, error says how many. */
bool part_fits(uint64_t needed, size_t size, struct weir_error *error);

/* For put(). */
void part_put(struct part_writer *out, const void *data, size_t size);
void part_put32(struct part_writer *out, uint32_t value);
void part_put64(struct part_writer *out, uint64_t value);

/* Numbers of 4 or 8 bytes each, size bytes of them as they lie in memory: at once where that is how
 * they are written, so that a sink that wants a later piece passes over them in no time. */
void part_put_numbers(struct part_writer *out, const void *numbers, uint64_t size, uint32_t width);

/* A sink: bytes into memory that is known to be enough. */
struct part_buffer {
    uint8_t *at;
};
bool part_into_buffer(void *context, const void *data, size_t size);

/* ---- reading ---- */

/* Fill in error with a code of WEIR_BAD_DATA and why. */
enum weir_status part_bad(struct weir_error *error, enum weir_error_code code, const char *why);

/* The head that data begins with, checked; h->spec points into data. */
enum weir_status part_read_head(const uint8_t *data, size_t size, struct part_head *h,
                                struct weir_error *error);

/* The same, and the whole part is there. */
enum weir_status part_find(const uint8_t *data, size_t size, struct part_head *h,
                           struct weir_error *error);

/* The spec as a text; false if it is none of ours. */
bool part_spec(const struct part_head *h, char text[WEIR_SPEC_MAX]);

/* Is it the whole, and not a shard of several? */
enum weir_status part_is_whole(const struct part_head *h, struct weir_error *error);

/* Where the rest of a part comes from. */
struct part_input {
    weir_source source;
    void *context;
};

/* From memory: what follows the head. */
struct part_memory {
    const uint8_t *at;
};
bool part_from_memory(void *context, void *data, size_t size);

/* The head that a source gives first, into a buffer that h->spec points into. */
enum weir_status part_input_head(struct part_input in, uint8_t buffer[PART_HEAD_MOST],
                                 struct part_head *h, struct weir_error *error);

/* Cells straight to where they belong, then their sums. */
enum weir_status part_input_cells(struct part_input in, const struct part_head *h, uint8_t *cells,
                                  struct weir_error *error);

/* The cells where they are, with their sums checked; NULL if the input is not from memory. */
enum weir_status part_input_in_place(struct part_input in, const struct part_head *h,
                                     const uint8_t **cells, struct weir_error *error);

/* Cells that are no image of memory are taken apart piece by piece. */
struct part_reader {
    const uint8_t *at;
    size_t left;
};

/* The next bytes, or NULL if there are not so many. */
const uint8_t *part_get(struct part_reader *in, uint64_t size);

#endif
