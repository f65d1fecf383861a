/* fields.c - fields between blanks (as in awk), between delimiters, or of CSV.
 *
 * A record is read in blocks of 64 bytes. For each block, a mask has a bit where a field ends
 * (between blanks: where one begins or ends). Fields are found by stepping from bit to bit. Nothing
 * after the last requested field is read. */
#include "pick/pick.h"

#include <string.h>

#include "pipe/csv.h"
#include "pipe/scan.h"

struct cutter {
    match_function match; /* this and the way are compile-time constants: one loop for each */
    enum pick_way way;
    char delimiter;
    const char *block, *end;
    uint64_t mask;     /* positions in the block that were not visited yet */
    uint64_t carry;    /* of the block before; blanks: 1 inside a field; CSV: all ones in quotes */
    const char *start; /* of the next field; NULL if there is none, or unknown */
    bool strip;        /* a CR at the end of the last field */
};

/* ---- places ---- */

/* Where a field begins or ends. */
MATCH_INLINE uint64_t mark_turns(struct cutter *c)
{
    uint64_t blank = c->match(c->block, ' ') | c->match(c->block, '\t') | c->match(c->block, '\r');
    uint64_t turns = ~blank ^ (~blank << 1 | c->carry);

    c->carry = ~blank >> 63;
    return turns;
}

/* Delimiters outside quotes. The record has passed csv_split(), so quotes are paired; a doubled
 * quote ends one quoted range and begins the next. */
MATCH_INLINE uint64_t mark_delimiters(struct cutter *c)
{
    uint64_t delimiters = c->match(c->block, c->delimiter);
    uint64_t quotes = c->way == PICK_CSV ? c->match(c->block, '"') : 0;

    if (quotes | c->carry) {
        uint64_t quoted = match_between(quotes) ^ c->carry;

        c->carry = -(quoted >> 63);
        delimiters &= ~quoted;
    }
    return delimiters;
}

MATCH_INLINE void mark(struct cutter *c)
{
    c->mask = c->way == PICK_BLANKS ? mark_turns(c) : mark_delimiters(c);
}

/* The next position, or the end of the record. */
MATCH_INLINE const char *next_place(struct cutter *c)
{
    while (c->mask == 0) {
        c->block += 64;
        if (c->block >= c->end)
            return c->end;
        mark(c);
    }
    const char *at = c->block + __builtin_ctzll(c->mask);
    c->mask &= c->mask - 1;
    return at < c->end ? at : c->end;
}

/* ---- fields ---- */

/* Leading and trailing blanks are ignored. A record of blanks only has one empty field. */
MATCH_INLINE bool next_between_blanks(struct cutter *c, struct weir_bytes *field)
{
    const char *start = next_place(c);
    bool first = c->start;

    c->start = NULL;
    *field = (struct weir_bytes){start, (size_t)(next_place(c) - start)};
    return start < c->end || first;
}

MATCH_INLINE bool next_delimited(struct cutter *c, struct weir_bytes *field)
{
    const char *start = c->start, *stop;

    if (!start)
        return false;
    stop = next_place(c);
    c->start = stop < c->end ? stop + 1 : NULL;
    if (c->strip && stop == c->end && stop > start && stop[-1] == '\r')
        stop--;
    *field = (struct weir_bytes){start, (size_t)(stop - start)};
    return true;
}

MATCH_INLINE bool next_field(struct cutter *c, struct weir_bytes *field)
{
    return c->way == PICK_BLANKS ? next_between_blanks(c, field) : next_delimited(c, field);
}

/* ---- records ---- */

MATCH_INLINE struct cutter cut(match_function match, enum pick_way way, const struct picker *p,
                               const char *record, size_t size)
{
    const char *from = record + (way == PICK_CSV ? csv_mark(record, size) : 0);
    struct cutter c = {match, way, p->delimiter, from, record + size, 0, 0, from, p->strip_field};

    mark(&c);
    return c;
}

uint32_t fields_of(const struct picker *p, struct arena *a, const char *record, size_t size,
                   struct weir_bytes *wanted)
{
    struct cutter c = cut(match64, p->way, p, record, size);
    struct weir_bytes field = {0};
    uint32_t number = 0;

    for (uint32_t i = 0; i < p->columns; i++) {
        uint32_t column = p->order[i];

        for (; number < p->column[column].number; number++)
            if (!next_field(&c, &field))
                return number;
        wanted[column] = field;
        if (p->way == PICK_CSV && !csv_unquote(a, &wanted[column]))
            return 0;
    }
    return number;
}

uint32_t fields_find(const struct picker *p, struct arena *a, const char *record, size_t size,
                     const char *text, uint32_t after)
{
    size_t skip = csv_mark(record, size);
    char *copy = arena_take(a, size - skip + MARGIN);
    struct weir_bytes field;

    if (!copy)
        return 0;
    memcpy(copy, record + skip, size - skip);
    memset(copy + size - skip, 0, MARGIN);
    struct cutter c = cut(match64, p->way, p, copy, size - skip);
    for (uint32_t number = 1; next_field(&c, &field); number++) {
        if (p->way == PICK_CSV && !csv_unquote(a, &field))
            return 0;
        if (number > after && field.size == strlen(text) &&
            memcmp(field.data, text, field.size) == 0)
            return number;
    }
    return 0;
}

/* ---- one field of many records ---- */

/* Positions up to this one; all of them if the record is longer than the block. */
MATCH_INLINE uint64_t up_to(size_t size)
{
    return size < 64 ? (UINT64_C(1) << size) - 1 : UINT64_MAX;
}

/* Field ends in a record that begins at the block; between blanks also field starts. The end of the
 * record is one. */
MATCH_INLINE uint64_t mark_first(match_function match, enum pick_way way, char delimiter,
                                 const char *record, size_t size)
{
    uint64_t inside = up_to(size);

    if (way == PICK_BLANKS) {
        uint64_t text = ~(match(record, ' ') | match(record, '\t') | match(record, '\r')) & inside;

        return text ^ text << 1;
    }
    uint64_t ends = match(record, delimiter) & inside;
    uint64_t quotes = way == PICK_CSV ? match(record, '"') & inside : 0;
    if (quotes)
        ends &= ~match_between(quotes);
    return ends | (inside + 1);
}

/* Usually the field ends within the first 64 bytes of its record: then it is found without a branch
 * that depends on the data. False if it does not. */
MATCH_INLINE bool pick_early(match_function match, enum pick_way way, const struct picker *p,
                             const char *record, size_t size, struct weir_bytes *field)
{
    const uint64_t wanted = p->column[0].number, before = way == PICK_BLANKS ? 2 * wanted : wanted;
    uint64_t mask = mark_first(match, way, p->delimiter, record, size);

    if ((uint64_t)__builtin_popcountll(mask) < before ||
        (way == PICK_CSV && csv_mark(record, size)))
        return false;
    for (uint64_t i = 2; i < before; i++)
        mask &= mask - 1;
    uint64_t start = before > 1 ? (uint64_t)__builtin_ctzll(mask) + (way != PICK_BLANKS) : 0;
    if (before > 1)
        mask &= mask - 1;
    uint64_t stop = (uint64_t)__builtin_ctzll(mask);
    if (way != PICK_BLANKS && p->strip_field && stop == size && stop > start &&
        record[stop - 1] == '\r')
        stop--;
    *field = (struct weir_bytes){record + start, stop - start};
    return true;
}

MATCH_INLINE bool pick_late(match_function match, enum pick_way way, const struct picker *p,
                            const char *record, size_t size, struct weir_bytes *field)
{
    struct cutter c = cut(match, way, p, record, size);
    bool found = true;

    for (uint32_t number = 0; number < p->column[0].number && found; number++)
        found = next_field(&c, field);
    return found;
}

MATCH_INLINE uint32_t pick_one(match_function match, enum pick_way way, const struct picker *p,
                               struct batch *b, uint32_t i)
{
    for (; i < b->n; i++) {
        const char *record = b->data + record_begin(b, i);
        size_t size = (size_t)(b->data + record_end(b, i) - record);

        if (!pick_early(match, way, p, record, size, &b->key[i]) &&
            !pick_late(match, way, p, record, size, &b->key[i]))
            break;
        if (way == PICK_CSV && !csv_unquote(&b->arena, &b->key[i]))
            break;
    }
    return i;
}

MATCH_INLINE uint32_t pick_way(match_function match, const struct picker *p, struct batch *b,
                               uint32_t i)
{
    switch (p->way) {
    case PICK_BLANKS:
        return pick_one(match, PICK_BLANKS, p, b, i);
    case PICK_CSV:
        return pick_one(match, PICK_CSV, p, b, i);
    default:
        return pick_one(match, PICK_CHAR, p, b, i);
    }
}

static MATCH_AVX2 uint32_t pick_avx2(const struct picker *p, struct batch *b, uint32_t i)
{
    return pick_way(match64_avx2, p, b, i);
}

uint32_t fields_batch(const struct picker *p, struct batch *b, uint32_t i)
{
    return match_has_avx2() ? pick_avx2(p, b, i) : pick_way(match64, p, b, i);
}
