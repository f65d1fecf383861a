/* part.h - the parts of a file. docs/format.md specifies the bytes.
 *
 *   part = head | cells | sums, each padded with zeros to whole lines of 64 bytes
 *
 * The head contains the kind, the lengths, the spec and its own checksum, so it can be trusted
 * before a cell is read. The cells are stored as in memory, so a mapped file can be used in place.
 * The sums are one checksum per MiB of cells.
 *
 * Parts are written through a sink in one pass over the file and two over the cells: first the
 * cells themselves, then their sums. Writing therefore needs no memory. */
#ifndef WEIR_FORMAT_PART_H
#define WEIR_FORMAT_PART_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <weir/saved.h>

#include "base/bits.h"
#include "spec/error.h"

#define PART_LINE 64
#define PART_BLOCK (UINT64_C(1) << 20) /* bytes of cells per sum */
#define PART_HEAD_MAX 4096
#define PART_WORDS ((PART_HEAD_MAX - PART_LINE) / 8)

struct part_head {
    uint32_t kind;
    uint32_t shard, shards; /* 0 of 1: not sharded */
    const char *spec;       /* not terminated */
    uint32_t length;
    uint64_t cells; /* bytes, without padding */
    uint32_t words; /* numbers of the handle besides its cells: */
    uint64_t word[PART_WORDS];
    const uint8_t *sums; /* for writing: existing sums of the cells; NULL: compute them */
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

/* Bytes of the head and of the whole part. */
uint32_t part_head_size(const struct part_head *h);
uint64_t part_size(const struct part_head *h);

/* ---- writing ---- */

struct part_writer {
    weir_sink sink;
    void *context;
    bool ok;
    bool summing; /* bytes are summed, not written */
    uint64_t block, in_block;
    XXH3_state_t sum;
};

/* Write a part. put() writes the cells; it is called twice and must write the same bytes. */
enum weir_status part_write(const struct part_head *h,
                            void (*put)(const void *what, struct part_writer *out),
                            const void *what, weir_sink sink, void *context,
                            struct weir_error *error);

/* Is a buffer large enough? If not, the error states the size needed. */
bool part_fits(uint64_t needed, size_t size, struct weir_error *error);

/* For put(): write bytes or little-endian numbers. */
void part_put(struct part_writer *out, const void *data, size_t size);
void part_put32(struct part_writer *out, uint32_t value);
void part_put64(struct part_writer *out, uint64_t value);

/* Write `size` bytes of 4-byte or 8-byte numbers as they are in memory. On little-endian machines
 * this is one call. */
void part_put_numbers(struct part_writer *out, const void *numbers, uint64_t size, uint32_t width);

/* A sink that writes to memory, which must be large enough. */
struct part_buffer {
    uint8_t *at;
};
bool part_into_buffer(void *context, const void *data, size_t size);

/* ---- reading ---- */

/* Fill in error with a code of WEIR_BAD_DATA and a message. */
enum weir_status part_bad(struct weir_error *error, enum weir_error_code code, const char *why);

/* Read and check the head at the start of data. h->spec points into data. */
enum weir_status part_read_head(const uint8_t *data, size_t size, struct part_head *h,
                                struct weir_error *error);

/* part_read_head(), and check that the whole part is present. */
enum weir_status part_find(const uint8_t *data, size_t size, struct part_head *h,
                           struct weir_error *error);

/* Copy the spec as a string. Returns false if it is invalid. */
bool part_spec(const struct part_head *h, char text[WEIR_SPEC_MAX]);

/* Check that the part is not one of several shards. */
enum weir_status part_is_whole(const struct part_head *h, struct weir_error *error);

/* A source of bytes. */
struct part_input {
    weir_source source;
    void *context;
};

/* A source that reads memory. */
struct part_memory {
    const uint8_t *at;
};
bool part_from_memory(void *context, void *data, size_t size);

/* Read a head from a source, into a buffer that h->spec points into. */
enum weir_status part_input_head(struct part_input in, uint8_t buffer[PART_HEAD_MAX],
                                 struct part_head *h, struct weir_error *error);

/* Read the cells to their destination, then verify their sums. */
enum weir_status part_input_cells(struct part_input in, const struct part_head *h, uint8_t *cells,
                                  struct weir_error *error);

/* Verify the cells in place. *cells becomes NULL if the source is not memory. */
enum weir_status part_input_in_place(struct part_input in, const struct part_head *h,
                                     const uint8_t **cells, struct weir_error *error);

/* A parser for cells that are not stored as in memory. */
struct part_reader {
    const uint8_t *at;
    size_t left;
};

/* The next bytes; NULL if there are too few. */
const uint8_t *part_get(struct part_reader *in, uint64_t size);

/* ---- inside lib/format ---- */

static inline uint64_t part_sums_size(const struct part_head *h)
{
    return part_lines(8 * part_blocks(h->cells));
}

/* Encode the head into part_head_size() bytes. */
void part_encode_head(const struct part_head *h, uint8_t head[PART_HEAD_MAX]);

/* WEIR_BAD_DATA: a sum does not match; or the source ended early. */
enum weir_status part_damaged(struct weir_error *error);
enum weir_status part_cut_off(struct weir_error *error);

#endif
