/* summary.c - see summary.h. */
#include "sketch/summary.h"

#include <string.h>

#define AHEAD 8 /* entries of the sweep whose keys are fetched */

void summary_lay(weir_sketch *s, uint8_t *at, uint64_t bytes, uint64_t keys, uint64_t unkept)
{
    const uint8_t *start = at;

    s->keys = keys;
    s->line_count = (2 * keys + SLOTS - 1) / SLOTS;
    s->lines = (struct line *)(void *)at;
    at += s->line_count * sizeof *s->lines;
    s->entries = (struct entry *)(void *)at;
    at += keys * sizeof *s->entries;
    for (s->block = 6; keys >> s->block >> s->block;)
        s->block++;
    s->bounds = (uint64_t *)(void *)at;
    at += ((keys >> s->block) + 1) * sizeof *s->bounds;
    s->unkept = (uint64_t *)(void *)at;
    s->unkept_count = unkept;
    at += unkept * sizeof *s->unkept;
    s->arena = at;
    s->arena_size = (bytes - (uint64_t)(at - start)) / UNIT;
}

/* ---- the hash table ---- */

struct entry *summary_find(const weir_sketch *s, struct weir_bytes key, uint64_t hash)
{
    uint32_t tag = tag_of(hash);

    for (uint64_t at = home_of(s, tag);; at = line_after(s, at)) {
        const struct line *line = &s->lines[at];

        for (uint32_t found = equal_ones(line->tag, tag); found; found &= found - 1) {
            uint32_t entry = line->entry[__builtin_ctz(found)];

            if (entry && is_key(s, &s->entries[entry - 1], key))
                return &s->entries[entry - 1];
        }
        if (!is_full(line))
            return NULL;
    }
}

static void line_set(struct line *line, uint32_t slot, uint32_t tag, uint32_t entry)
{
    line->tag[slot] = tag;
    line->entry[slot] = entry;
}

static void table_add(weir_sketch *s, uint32_t tag, uint32_t entry)
{
    uint64_t at = home_of(s, tag);

    while (is_full(&s->lines[at]))
        at = line_after(s, at);
    struct line *line = &s->lines[at];
    line_set(line, (uint32_t)__builtin_ctz(equal_ones(line->entry, 0)), tag, entry + 1);
}

/* The line in which an entry is, and where in it. */
static struct line *line_of(const weir_sketch *s, uint32_t entry, uint32_t *slot)
{
    uint64_t at = home_of(s, s->entries[entry].tag);
    uint32_t found;

    while (!(found = equal_ones(s->lines[at].entry, entry + 1)))
        at = line_after(s, at);
    *slot = (uint32_t)__builtin_ctz(found);
    return &s->lines[at];
}

static uint64_t distance(const weir_sketch *s, uint64_t from, uint64_t to)
{
    return to >= from ? to - from : to + s->line_count - from;
}

/* The number of an entry in line `at` that may lie in line `hole` before it;
 * SLOTS if there is none. */
static uint32_t movable(const weir_sketch *s, uint64_t at, uint64_t hole)
{
    const struct line *line = &s->lines[at];
    uint32_t i = 0;

    while (i < SLOTS &&
           (!line->entry[i] || distance(s, home_of(s, line->tag[i]), at) < distance(s, hole, at)))
        i++;
    return i;
}

/* A line that was full has got a hole: what had to go on beyond it comes back. */
static void move_back(weir_sketch *s, struct line *line, uint32_t slot)
{
    uint64_t hole = (uint64_t)(line - s->lines), at = hole;
    bool full;

    do {
        at = line_after(s, at);
        full = is_full(&s->lines[at]);
        uint32_t i = movable(s, at, hole);
        if (i == SLOTS)
            continue;
        line_set(&s->lines[hole], slot, s->lines[at].tag[i], s->lines[at].entry[i]);
        hole = at;
        slot = i;
        s->lines[hole].entry[slot] = 0;
    } while (full);
}

static void table_drop(weir_sketch *s, uint32_t entry)
{
    uint32_t slot;
    struct line *line = line_of(s, entry, &slot);
    bool full = is_full(line);

    line->entry[slot] = 0;
    if (full)
        move_back(s, line, slot);
}

/* ---- the least count ---- */

/* An entry has come to lie here. */
static void note_entry(weir_sketch *s, uint32_t entry)
{
    struct summary *m = &s->summary;
    uint64_t *bound = &s->bounds[entry >> s->block], count = s->entries[entry].count;

    *bound = count < *bound ? count : *bound;
    if (count < m->low || (count == m->low && entry < m->cursor)) {
        m->low = count;
        m->cursor = 0;
    }
}

static uint64_t least_in_block(const weir_sketch *s, uint64_t from, uint64_t to)
{
    uint64_t least = UINT64_MAX;

    for (uint64_t i = from; i < to; i++)
        least = s->entries[i].count < least ? s->entries[i].count : least;
    return least;
}

static uint64_t least_bound(const weir_sketch *s)
{
    uint64_t least = UINT64_MAX;

    for (uint64_t b = 0; b << s->block < s->summary.n; b++)
        least = s->bounds[b] < least ? s->bounds[b] : least;
    return least;
}

/* To the next entry of the least count in the block of the cursor; false if
 * there is none, and the bound of the block is known again. */
static bool sweep_block(weir_sketch *s, uint64_t end)
{
    struct summary *m = &s->summary;
    uint64_t start = m->cursor >> s->block << s->block;

    for (; m->cursor < end; m->cursor++)
        if (s->entries[m->cursor].count == m->low)
            return true;
    s->bounds[start >> s->block] = least_in_block(s, start, end);
    return false;
}

/* There must be one. */
static uint32_t least_entry(weir_sketch *s)
{
    struct summary *m = &s->summary;

    for (;;) {
        uint64_t b = m->cursor >> s->block, end = (b + 1) << s->block;

        if (m->cursor >= m->n) {
            m->low = least_bound(s);
            m->cursor = 0;
        } else if (s->bounds[b] <= m->low && sweep_block(s, end < m->n ? end : m->n)) {
            return (uint32_t)m->cursor;
        } else {
            m->cursor = end;
        }
    }
}

uint64_t summary_least(weir_sketch *s)
{
    return s->entries[least_entry(s)].count;
}

/* ---- the arena ---- */

static struct head *head_at(const weir_sketch *s, uint64_t unit)
{
    return (struct head *)(void *)(s->arena + unit * UNIT);
}

static void squeeze(weir_sketch *s)
{
    uint64_t to = 0, units;

    for (uint64_t from = 0; from < s->summary.arena_used; from += units) {
        struct head head = *head_at(s, from);

        units = arena_units(head.size);
        if (head.entry == NONE)
            continue;
        memmove(head_at(s, to), head_at(s, from), units * UNIT);
        s->entries[head.entry].at = (uint32_t)to;
        to += units;
    }
    s->summary.arena_used = to;
    s->summary.hole = 0;
}

/* Where a key of so many units goes. */
static uint64_t arena_place(weir_sketch *s, uint64_t units)
{
    struct summary *m = &s->summary;
    uint64_t hole = m->hole;

    m->hole = 0;
    if (hole && arena_units(head_at(s, hole - 1)->size) == units)
        return hole - 1;
    if (m->arena_used + units > s->arena_size)
        squeeze(s);
    m->arena_used += units;
    return m->arena_used - units;
}

static uint32_t arena_add(weir_sketch *s, struct weir_bytes key, uint32_t entry, uint64_t error)
{
    uint64_t units = arena_units(key.size), at = arena_place(s, units);
    struct head *head = head_at(s, at);

    *head = (struct head){error, entry, (uint32_t)key.size};
    if (key.size > 0)
        memcpy(head + 1, key.data, key.size);
    s->summary.arena_live += units;
    return (uint32_t)at;
}

/* ---- all together ---- */

bool summary_fits(const weir_sketch *s, size_t size)
{
    return s->summary.n < s->keys && s->summary.arena_live + arena_units(size) <= arena_room(s);
}

/* The sweep will come by here soon. */
static void fetch(const weir_sketch *s, uint64_t entry)
{
    if (entry >= s->summary.n)
        return;
    __builtin_prefetch(head_of(s, &s->entries[entry]), 1);
    __builtin_prefetch(&s->lines[home_of(s, s->entries[entry].tag)], 1);
}

/* The last entry goes where one was dropped and none has followed. */
static void close_gap(weir_sketch *s)
{
    struct summary *m = &s->summary;
    uint32_t to = m->gap - 1, slot;

    if (m->gap == 0)
        return;
    m->gap = 0;
    if (to == m->n)
        return;
    struct line *line = line_of(s, m->n, &slot);
    line->entry[slot] = to + 1;
    s->entries[to] = s->entries[m->n];
    head_of(s, &s->entries[to])->entry = to;
    note_entry(s, to);
}

static void drop_least(weir_sketch *s)
{
    struct summary *m = &s->summary;

    close_gap(s);
    uint32_t entry = least_entry(s);
    struct entry *e = &s->entries[entry];
    struct head *head = head_of(s, e);

    fetch(s, entry + AHEAD);
    raise_to(&m->floor, e->count);
    if (s->unkept_count)
        raise_to(unkept_of(s, e->tag), e->count);
    table_drop(s, entry);
    head->entry = NONE;
    m->hole = (uint64_t)e->at + 1;
    m->arena_live -= arena_units(head->size);
    m->gap = entry + 1;
    m->n--;
}

void summary_make_room(weir_sketch *s, size_t size)
{
    while (!summary_fits(s, size))
        drop_least(s);
}

void summary_insert(weir_sketch *s, struct weir_bytes key, uint64_t hash, uint64_t count,
                    uint64_t error)
{
    struct summary *m = &s->summary;
    uint32_t entry = m->gap ? m->gap - 1 : m->n;

    m->gap = 0;
    s->entries[entry] = (struct entry){count, 0, tag_of(hash)};
    s->entries[entry].at = arena_add(s, key, entry, error);
    table_add(s, tag_of(hash), entry);
    m->n++;
    note_entry(s, entry);
}
