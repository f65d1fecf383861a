/* summary.c - see top.h. */
#include <string.h>

#include "top.h"

/* ---- the hash table ---- */

/* Keys are short: eight bytes at a time, the last eight once more. */
static inline bool same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    if (n < 8)
        return n == 0 || memcmp(a, b, n) == 0;
    for (size_t i = 0; i + 8 < n; i += 8)
        if (bits_load64(a + i) != bits_load64(b + i))
            return false;
    return bits_load64(a + n - 8) == bits_load64(b + n - 8);
}

struct entry *summary_find(const weir_sketch *s, struct weir_bytes key, uint64_t hash)
{
    uint32_t tag = tag_of(hash);
    const struct slot *slot = &s->slots[home_of(s, tag)];

    while (slot->entry && slot->tag < tag)
        slot++;
    for (; slot->entry && slot->tag == tag; slot++) {
        struct entry *e = &s->entries[slot->entry - 1];

        if (e->size == key.size && same_bytes(key_of(s, e).data, key.data, key.size))
            return e;
    }
    return NULL;
}

/* Of a free slot the entry before all, whose count is the highest: what looks
 * for the least need not ask whether a slot is free, which nobody can predict. */
static struct entry *entry_in(const weir_sketch *s, uint64_t slot)
{
    return &s->entries[(int64_t)s->slots[slot].entry - 1];
}

/* A slot has got another entry. */
static void lower_bound(weir_sketch *s, uint64_t slot)
{
    uint64_t *bound = &s->bounds[slot >> s->block], count = entry_in(s, slot)->count;

    *bound = count < *bound ? count : *bound;
}

/* Move slots from..end-1 one up, into the free one at end. */
static void shift_up(weir_sketch *s, uint64_t from, uint64_t end)
{
    for (uint64_t i = end; i > from; i--) {
        s->slots[i] = s->slots[i - 1];
        if ((i & (((uint64_t)1 << s->block) - 1)) == 0)
            lower_bound(s, i);
    }
}

static void table_add(weir_sketch *s, uint64_t hash, uint32_t entry)
{
    struct summary *m = &s->summary;
    uint32_t tag = tag_of(hash);
    uint64_t at = home_of(s, tag), end, count = s->entries[entry].count;

    while (s->slots[at].entry &&
           (s->slots[at].tag < tag || (s->slots[at].tag == tag && entry_in(s, at)->hash < hash)))
        at++;
    for (end = at; s->slots[end].entry;)
        end++;
    shift_up(s, at, end);
    s->slots[at] = (struct slot){tag, entry + 1};
    lower_bound(s, at);
    if (count <= m->low) {
        m->low = count;
        m->cursor = 0;
    }
}

/* Move back what lies behind, up to one that is at home. */
static void table_drop(weir_sketch *s, uint64_t at)
{
    uint64_t next = at + 1;

    for (; s->slots[next].entry && home_of(s, s->slots[next].tag) < next; next++) {
        s->slots[next - 1] = s->slots[next];
        if ((next & (((uint64_t)1 << s->block) - 1)) == 0)
            lower_bound(s, next - 1);
    }
    s->slots[next - 1].entry = 0;
}

/* ---- the least count ---- */

static uint64_t least_in_block(const weir_sketch *s, uint64_t from, uint64_t to)
{
    uint64_t least = UINT64_MAX;

    for (uint64_t i = from; i < to; i++) {
        uint64_t count = entry_in(s, i)->count;

        least = count < least ? count : least;
    }
    return least;
}

static uint64_t least_bound(const weir_sketch *s)
{
    uint64_t least = UINT64_MAX;

    for (uint64_t b = 0; b < s->blocks; b++)
        least = s->bounds[b] < least ? s->bounds[b] : least;
    return least;
}

/* The slot of the least count from the cursor on in its block; false if there
 * is none, and the bound of the block is known again. */
static bool sweep_block(weir_sketch *s, uint64_t end)
{
    struct summary *m = &s->summary;
    uint64_t start = m->cursor >> s->block << s->block;

    for (; m->cursor < end; m->cursor++)
        if (entry_in(s, m->cursor)->count == m->low && s->slots[m->cursor].entry)
            return true;
    s->bounds[start >> s->block] = least_in_block(s, start, end);
    return false;
}

/* There must be one. */
static uint64_t least_slot(weir_sketch *s)
{
    struct summary *m = &s->summary;

    for (;;) {
        uint64_t b = m->cursor >> s->block, end = (b + 1) << s->block;

        if (b >= s->blocks) {
            m->low = least_bound(s);
            m->cursor = 0;
        } else if (s->bounds[b] > m->low) {
            m->cursor = end;
        } else if (sweep_block(s, end < s->slot_count ? end : s->slot_count)) {
            return m->cursor;
        } else {
            m->cursor = end;
        }
    }
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

static uint32_t arena_add(weir_sketch *s, struct weir_bytes key, uint32_t entry)
{
    uint64_t units = arena_units(key.size), at = arena_place(s, units);

    *head_at(s, at) = (struct head){entry, (uint32_t)key.size};
    if (key.size > 0)
        memcpy(s->arena + at * UNIT + sizeof(struct head), key.data, key.size);
    s->summary.arena_live += units;
    return (uint32_t)at;
}

/* ---- all together ---- */

bool summary_fits(const weir_sketch *s, size_t size)
{
    return s->summary.n < s->config.keys &&
           s->summary.arena_live + arena_units(size) <= arena_room(s);
}

static void drop_least(weir_sketch *s)
{
    struct summary *m = &s->summary;
    uint64_t slot = least_slot(s);
    struct entry *e = entry_in(s, slot);

    if (e->count > m->floor)
        m->floor = e->count;
    head_at(s, e->at)->entry = NONE;
    m->hole = (uint64_t)e->at + 1;
    m->arena_live -= arena_units(e->size);
    e->at = m->spare;
    m->spare = s->slots[slot].entry;
    m->n--;
    table_drop(s, slot);
}

void summary_make_room(weir_sketch *s, size_t size)
{
    while (!summary_fits(s, size))
        drop_least(s);
}

static uint32_t take_entry(weir_sketch *s)
{
    struct summary *m = &s->summary;
    uint32_t entry = m->spare - 1;

    if (m->spare == 0)
        return m->touched++;
    m->spare = s->entries[entry].at;
    return entry;
}

void summary_insert(weir_sketch *s, struct weir_bytes key, uint64_t hash, uint64_t count,
                    uint64_t error)
{
    uint32_t entry = take_entry(s);

    s->entries[entry] = (struct entry){count, error, hash, 0, (uint32_t)key.size};
    s->entries[entry].at = arena_add(s, key, entry);
    table_add(s, hash, entry);
    s->summary.n++;
}
