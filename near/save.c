/* save.c - save and load a detector.
 *
 * Parts of the file format, with checksums: a head, then pieces of at most 1 MiB of the
 * signatures, the record numbers, a bitmap of the lines that have entries, and those lines.
 * Numbers are in the byte order of the machine. */
#include <stdlib.h>
#include <string.h>

#include "near/inside.h"

#define PART_HEAD 0x5790
#define PART_PIECE 0x5791
#define PIECE ((size_t)1 << 20)
#define BYTE_ORDER_MARK UINT64_C(0x0102030405060708)

struct head {
    uint64_t order, shingle, memory, seed, head, evicted, records, observed, seen, unsure;
    double threshold;
};

/* ---- save ---- */

struct saving {
    weir_sink sink;
    void *into;
    uint8_t *piece;
    size_t used;
    enum weir_status status;
};

static void flush(struct saving *s)
{
    if (s->status == WEIR_OK && s->used)
        s->status = weir_part_write(PART_PIECE, s->piece, s->used, s->sink, s->into, NULL);
    s->used = 0;
}

static void put(struct saving *s, const void *data, size_t size)
{
    const uint8_t *from = data;

    while (size && s->status == WEIR_OK) {
        size_t n = size < PIECE - s->used ? size : PIECE - s->used;

        memcpy(s->piece + s->used, from, n);
        s->used += n;
        from += n;
        size -= n;
        if (s->used == PIECE)
            flush(s);
    }
}

static bool has_entries(const weir_near *n, uint32_t line)
{
    static const uint32_t none[LINE];

    return line < n->lines && memcmp(n->line + (size_t)line * LINE, none, sizeof none) != 0;
}

static void put_lines(struct saving *s, const weir_near *n)
{
    for (uint32_t i = 0; i < n->lines; i += 8) {
        uint8_t byte = 0;

        for (uint32_t j = 0; j < 8; j++)
            byte |= (uint8_t)(has_entries(n, i + j) << j);
        put(s, &byte, 1);
    }
    for (uint32_t i = 0; i < n->lines; i++)
        if (has_entries(n, i))
            put(s, n->line + (size_t)i * LINE, LINE * sizeof *n->line);
}

enum weir_status weir_near_save_stream(const weir_near *n, weir_sink sink, void *context,
                                       struct weir_error *error)
{
    struct saving s = {.sink = sink, .into = context, .piece = malloc(PIECE)};
    struct head h = {.order = BYTE_ORDER_MARK,
                     .shingle = n->options.shingle,
                     .memory = n->options.memory,
                     .seed = n->options.seed,
                     .head = n->head,
                     .evicted = n->stats.evicted,
                     .records = n->stats.records,
                     .observed = n->stats.observed,
                     .seen = n->stats.seen,
                     .unsure = n->stats.unsure,
                     .threshold = n->options.threshold};

    if (!s.piece)
        return near_fail(error, WEIR_NO_MEMORY, "out of memory");
    s.status = weir_part_write(PART_HEAD, &h, sizeof h, sink, context, NULL);
    put(&s, n->signature, near_used(n) * SIGNATURE * sizeof *n->signature);
    put(&s, n->record, near_used(n) * sizeof *n->record);
    put_lines(&s, n);
    flush(&s);
    free(s.piece);
    return s.status == WEIR_OK ? WEIR_OK : near_fail(error, s.status, "cannot write all bytes");
}

/* ---- load ----
 *
 * A saved detector has a bit per line, which limits the memory that a small forged file can
 * request: 1,130 times its size. */

struct loading {
    const uint8_t *data; /* of the parts that follow */
    size_t size;
    const uint8_t *piece; /* the rest of this part */
    size_t left;
};

static bool next_part(struct loading *l, uint32_t kind)
{
    struct weir_part part;

    if (weir_part_read(l->data, l->size, &part, sizeof part, NULL) != WEIR_OK || part.kind != kind)
        return false;
    l->piece = part.body;
    l->left = part.body_size;
    l->data += part.size;
    l->size -= part.size;
    return true;
}

static bool take(struct loading *l, void *to, size_t size)
{
    uint8_t *at = to;

    while (size) {
        if (l->left == 0 && (!next_part(l, PART_PIECE) || l->left == 0))
            return false;
        size_t n = size < l->left ? size : l->left;
        memcpy(at, l->piece, n);
        l->piece += n;
        l->left -= n;
        at += n;
        size -= n;
    }
    return true;
}

static bool take_lines(struct loading *l, weir_near *n)
{
    size_t size = ((size_t)n->lines + 7) / 8;
    uint8_t *bitmap = malloc(size);
    bool good = bitmap && take(l, bitmap, size);

    for (uint32_t i = 0; good && i < n->lines; i++)
        if (bitmap[i / 8] >> i % 8 & 1)
            good = take(l, n->line + (size_t)i * LINE, LINE * sizeof *n->line);
    free(bitmap);
    return good;
}

static bool take_all(struct loading *l, weir_near *n)
{
    return take(l, n->signature, near_used(n) * SIGNATURE * sizeof *n->signature) &&
           take(l, n->record, near_used(n) * sizeof *n->record) && take_lines(l, n) &&
           l->left == 0 && l->size == 0;
}

static bool read_head(struct loading *l, struct head *h)
{
    if (!next_part(l, PART_HEAD) || l->left != sizeof *h)
        return false;
    memcpy(h, l->piece, sizeof *h);
    l->left = 0;
    return h->order == BYTE_ORDER_MARK && h->shingle >= 1 && h->shingle <= WEIR_NEAR_SHINGLE_MAX &&
           h->memory > 0 && h->threshold > 0 && near_lines(h->memory) / 8 <= l->size;
}

enum weir_status weir_near_load_buffer(weir_near **out, const void *data, size_t size,
                                       struct weir_error *error)
{
    static const char bad[] = "not a saved detector of near-duplicates, damaged, or of another "
                              "byte order";
    struct loading l = {.data = data, .size = size};
    struct head h;
    weir_near *n;

    *out = NULL;
    if (!read_head(&l, &h))
        return near_fail(error, WEIR_BAD_DATA, bad);
    enum weir_status status =
        weir_near_open(&n,
                       &(struct weir_near_options){.size = sizeof(struct weir_near_options),
                                                   .threshold = h.threshold,
                                                   .shingle = (uint32_t)h.shingle,
                                                   .memory = h.memory,
                                                   .seed = h.seed},
                       error);
    if (status != WEIR_OK)
        return status == WEIR_NO_MEMORY ? status : near_fail(error, WEIR_BAD_DATA, bad);
    n->head = h.head;
    n->stats.evicted = h.evicted;
    n->stats.records = h.records;
    n->stats.observed = h.observed;
    n->stats.seen = h.seen;
    n->stats.unsure = h.unsure;
    if (!take_all(&l, n)) {
        weir_near_close(n);
        return near_fail(error, WEIR_BAD_DATA, bad);
    }
    *out = n;
    return WEIR_OK;
}
