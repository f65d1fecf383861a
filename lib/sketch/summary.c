/* summary.c - see summary.h. */
#include "sketch/summary.h"

#include <string.h>

#define AHEAD 8 /* entries of the sweep whose keys are prefetched */

void summary_lay(struct summary *m, uint8_t *at, uint64_t bytes, uint64_t keys, uint64_t unkept)
{
    const uint8_t *start = at;

    m->keys = keys;
    m->line_count = (2 * keys + SLOTS - 1) / SLOTS;
    m->lines = (struct tag_line *)(void *)at;
    at += m->line_count * sizeof *m->lines;
    m->entries = (struct entry *)(void *)at;
    at += keys * sizeof *m->entries;
    for (m->block = 6; keys >> m->block >> m->block;)
        m->block++;
    m->bounds = (uint64_t *)(void *)at;
    at += ((keys >> m->block) + 1) * sizeof *m->bounds;
    m->unkept = (uint64_t *)(void *)at;
    m->unkept_count = unkept;
    at += unkept * sizeof *m->unkept;
    m->arena = at;
    m->arena_size = (bytes - (uint64_t)(at - start)) / UNIT;
}

/* ---- the hash table ---- */

struct entry *summary_find(const struct summary *m, struct weir_bytes key, uint64_t hash)
{
    uint32_t tag = tag_of(hash);

    for (uint64_t at = home_of(m, tag);; at = line_after(m, at)) {
        const struct tag_line *line = &m->lines[at];

        for (uint32_t found = equal_ones(line->tag, tag); found; found &= found - 1) {
            uint32_t entry = line->entry[__builtin_ctz(found)];

            if (entry && is_key(m, &m->entries[entry - 1], key))
                return &m->entries[entry - 1];
        }
        if (!is_full(line))
            return NULL;
    }
}

static void line_set(struct tag_line *line, uint32_t slot, uint32_t tag, uint32_t entry)
{
    line->tag[slot] = tag;
    line->entry[slot] = entry;
}

static void table_add(struct summary *m, uint32_t tag, uint32_t entry)
{
    uint64_t at = home_of(m, tag);

    while (is_full(&m->lines[at]))
        at = line_after(m, at);
    struct tag_line *line = &m->lines[at];
    line_set(line, (uint32_t)__builtin_ctz(equal_ones(line->entry, 0)), tag, entry + 1);
}

/* The line and slot of an entry. */
static struct tag_line *line_of(const struct summary *m, uint32_t entry, uint32_t *slot)
{
    uint64_t at = home_of(m, m->entries[entry].tag);
    uint32_t found;

    while (!(found = equal_ones(m->lines[at].entry, entry + 1)))
        at = line_after(m, at);
    *slot = (uint32_t)__builtin_ctz(found);
    return &m->lines[at];
}

static uint64_t distance(const struct summary *m, uint64_t from, uint64_t to)
{
    return to >= from ? to - from : to + m->line_count - from;
}

/* The slot of an entry in line `at` that may move to line `hole` before it; SLOTS if there is
 * none. */
static uint32_t movable(const struct summary *m, uint64_t at, uint64_t hole)
{
    const struct tag_line *line = &m->lines[at];
    uint32_t i = 0;

    while (i < SLOTS &&
           (!line->entry[i] || distance(m, home_of(m, line->tag[i]), at) < distance(m, hole, at)))
        i++;
    return i;
}

/* A full line has a free slot now: move back an entry that belongs before it. */
static void move_back(struct summary *m, struct tag_line *line, uint32_t slot)
{
    uint64_t hole = (uint64_t)(line - m->lines), at = hole;
    bool full;

    do {
        at = line_after(m, at);
        full = is_full(&m->lines[at]);
        uint32_t i = movable(m, at, hole);
        if (i == SLOTS)
            continue;
        line_set(&m->lines[hole], slot, m->lines[at].tag[i], m->lines[at].entry[i]);
        hole = at;
        slot = i;
        m->lines[hole].entry[slot] = 0;
    } while (full);
}

static void table_drop(struct summary *m, uint32_t entry)
{
    uint32_t slot;
    struct tag_line *line = line_of(m, entry, &slot);
    bool full = is_full(line);

    line->entry[slot] = 0;
    if (full)
        move_back(m, line, slot);
}

/* ---- the least count ---- */

/* Update the bounds for a new or moved entry. */
static void note_entry(struct summary *m, uint32_t entry)
{
    uint64_t *bound = &m->bounds[entry >> m->block], count = m->entries[entry].count;

    *bound = count < *bound ? count : *bound;
    if (count < m->low || (count == m->low && entry < m->cursor)) {
        m->low = count;
        m->cursor = 0;
    }
}

static uint64_t least_in_block(const struct summary *m, uint64_t from, uint64_t to)
{
    uint64_t least = UINT64_MAX;

    for (uint64_t i = from; i < to; i++)
        least = m->entries[i].count < least ? m->entries[i].count : least;
    return least;
}

static uint64_t least_bound(const struct summary *m)
{
    uint64_t least = UINT64_MAX;

    for (uint64_t b = 0; b << m->block < m->n; b++)
        least = m->bounds[b] < least ? m->bounds[b] : least;
    return least;
}

/* Advance to the next entry of the lowest count in the block of the cursor. Returns false if there
 * is none; then the bound of the block is exact. */
static bool sweep_block(struct summary *m, uint64_t end)
{
    uint64_t start = m->cursor >> m->block << m->block;

    for (; m->cursor < end; m->cursor++)
        if (m->entries[m->cursor].count == m->low)
            return true;
    m->bounds[start >> m->block] = least_in_block(m, start, end);
    return false;
}

/* There must be an entry. */
static uint32_t least_entry(struct summary *m)
{
    for (;;) {
        uint64_t b = m->cursor >> m->block, end = (b + 1) << m->block;

        if (m->cursor >= m->n) {
            m->low = least_bound(m);
            m->cursor = 0;
        } else if (m->bounds[b] <= m->low && sweep_block(m, end < m->n ? end : m->n)) {
            return (uint32_t)m->cursor;
        } else {
            m->cursor = end;
        }
    }
}

uint64_t summary_least(struct summary *m)
{
    return m->entries[least_entry(m)].count;
}

/* ---- the arena ---- */

static struct head *head_at(const struct summary *m, uint64_t unit)
{
    return (struct head *)(void *)(m->arena + unit * UNIT);
}

static void squeeze(struct summary *m)
{
    uint64_t to = 0, units;

    for (uint64_t from = 0; from < m->arena_used; from += units) {
        struct head head = *head_at(m, from);

        units = arena_units(head.size);
        if (head.entry == NONE)
            continue;
        memmove(head_at(m, to), head_at(m, from), units * UNIT);
        m->entries[head.entry].at = (uint32_t)to;
        to += units;
    }
    m->arena_used = to;
    m->hole = 0;
}

/* Allocate this many units. */
static uint64_t arena_place(struct summary *m, uint64_t units)
{
    uint64_t hole = m->hole;

    m->hole = 0;
    if (hole && arena_units(head_at(m, hole - 1)->size) == units)
        return hole - 1;
    if (m->arena_used + units > m->arena_size)
        squeeze(m);
    m->arena_used += units;
    return m->arena_used - units;
}

static uint32_t arena_add(struct summary *m, struct weir_bytes key, uint32_t entry, uint64_t error)
{
    uint64_t units = arena_units(key.size), at = arena_place(m, units);
    struct head *head = head_at(m, at);

    *head = (struct head){error, entry, (uint32_t)key.size};
    if (key.size > 0)
        memcpy(head + 1, key.data, key.size);
    m->arena_live += units;
    return (uint32_t)at;
}

/* ---- all together ---- */

bool summary_fits(const struct summary *m, size_t size)
{
    return m->n < m->keys && m->arena_live + arena_units(size) <= arena_room(m);
}

/* Prefetch what the sweep will need soon. */
static void fetch(const struct summary *m, uint64_t entry)
{
    if (entry >= m->n)
        return;
    __builtin_prefetch(head_of(m, &m->entries[entry]), 1);
    __builtin_prefetch(&m->lines[home_of(m, m->entries[entry].tag)], 1);
}

/* Move the last entry into the gap that a dropped entry left. */
static void close_gap(struct summary *m)
{
    uint32_t to = m->gap - 1, slot;

    if (m->gap == 0)
        return;
    m->gap = 0;
    if (to == m->n)
        return;
    struct tag_line *line = line_of(m, m->n, &slot);
    line->entry[slot] = to + 1;
    m->entries[to] = m->entries[m->n];
    head_of(m, &m->entries[to])->entry = to;
    note_entry(m, to);
}

static void drop_least(struct summary *m)
{
    close_gap(m);
    uint32_t entry = least_entry(m);
    struct entry *e = &m->entries[entry];
    struct head *head = head_of(m, e);

    fetch(m, entry + AHEAD);
    raise_to(&m->floor, e->count);
    if (m->unkept_count)
        raise_to(unkept_of(m, e->tag), e->count);
    table_drop(m, entry);
    head->entry = NONE;
    m->hole = (uint64_t)e->at + 1;
    m->arena_live -= arena_units(head->size);
    m->gap = entry + 1;
    m->n--;
}

void summary_make_room(struct summary *m, size_t size)
{
    while (!summary_fits(m, size))
        drop_least(m);
}

void summary_insert(struct summary *m, struct weir_bytes key, uint64_t hash, uint64_t count,
                    uint64_t error)
{
    uint32_t entry = m->gap ? m->gap - 1 : m->n;

    m->gap = 0;
    m->entries[entry] = (struct entry){count, 0, tag_of(hash)};
    m->entries[entry].at = arena_add(m, key, entry, error);
    table_add(m, tag_of(hash), entry);
    m->n++;
    note_entry(m, entry);
}
