/* save.c - save and load a struct near.
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
    uint64_t order, shingle, memory, seed, head, evicted, records, dropped, unsure;
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

static bool has_entries(const struct near *n, uint32_t line)
{
    static const uint32_t none[LINE];

    return line < n->lines && memcmp(n->line + (size_t)line * LINE, none, sizeof none) != 0;
}

static void put_lines(struct saving *s, const struct near *n)
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

enum weir_status near_save(const struct near *n, weir_sink sink, void *into)
{
    struct saving s = {.sink = sink, .into = into, .piece = malloc(PIECE)};
    struct head h = {.order = BYTE_ORDER_MARK,
                     .shingle = n->options.shingle,
                     .memory = n->options.memory,
                     .seed = n->options.seed,
                     .head = n->head,
                     .evicted = n->figures.evicted,
                     .records = n->figures.records,
                     .dropped = n->figures.dropped,
                     .unsure = n->figures.unsure,
                     .threshold = n->options.threshold};

    if (!s.piece)
        return WEIR_NO_MEMORY;
    s.status = weir_part_write(PART_HEAD, &h, sizeof h, sink, into, NULL);
    put(&s, n->signature, near_used(n) * SIGNATURE * sizeof *n->signature);
    put(&s, n->record, near_used(n) * sizeof *n->record);
    put_lines(&s, n);
    flush(&s);
    free(s.piece);
    return s.status;
}

/* ---- load ---- */

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

static bool take_lines(struct loading *l, struct near *n)
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

static bool take_all(struct loading *l, struct near *n)
{
    return take(l, n->signature, near_used(n) * SIGNATURE * sizeof *n->signature) &&
           take(l, n->record, near_used(n) * sizeof *n->record) && take_lines(l, n) &&
           l->left == 0 && l->size == 0;
}

struct near *near_load(const uint8_t *data, size_t size)
{
    struct loading l = {.data = data, .size = size};
    struct head h;

    if (!next_part(&l, PART_HEAD) || l.left != sizeof h)
        return NULL;
    memcpy(&h, l.piece, sizeof h);
    l.left = 0;
    if (h.order != BYTE_ORDER_MARK || h.shingle < 1 || h.shingle > NEAR_SHINGLE_MAX)
        return NULL;
    struct near *n = near_open(&(struct near_options){.threshold = h.threshold,
                                                      .shingle = (uint32_t)h.shingle,
                                                      .memory = h.memory,
                                                      .seed = h.seed});
    if (!n)
        return NULL;
    n->head = h.head;
    n->figures.evicted = h.evicted;
    n->figures.records = h.records;
    n->figures.dropped = h.dropped;
    n->figures.unsure = h.unsure;
    if (take_all(&l, n))
        return n;
    near_close(n);
    return NULL;
}
