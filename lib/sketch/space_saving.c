/* space_saving.c - which keys came most often? (Space-Saving: Metwally, Agrawal and
 * El Abbadi 2005; filtered: Homem and Carvalho 2010)
 *
 * As many keys as there is room for are kept, each with a count. Of the others,
 * cells by hash say the most that any of them can have come. A key that is not
 * kept raises its cell; once that is above the least count kept, the key takes
 * that one's place, with the cell as its count: its own past is unknown, but
 * cannot have been more. The dropped key's count goes into the cell of its own.
 * So
 *
 *   count - error <= true count <= count      for every key kept,
 *   true count <= its cell <= floor           for every other,
 *
 * where the floor is the highest count that an unkept key can have: at most
 * N / keys while the keys fit their share of memory. Keys that came more than
 * N / keys times are all there. Without cells (plain Space-Saving) every arrival
 * of a key that is not kept would drop another, and errors would be larger.
 *
 * Keys are kept whole. Long ones take the room of several: then fewer are kept,
 * and the floor is higher; the bounds hold all the same. A key of more than a
 * quarter of the arena is not kept at all, only added to too_long.
 *
 * Merging (Agarwal et al. 2012): counts, errors and cells add up; a key that only
 * one side keeps may have come as often as its cell of the other says.
 * Price: three lines for a key that is kept, some six for one that is not. */
#include "sketch/summary.h"

#include <stdlib.h>
#include <string.h>

#define UNKEPT_EACH 2 /* cells for keys that are not kept, per key that is */

/* ---- counting ---- */

/* Is the entry still in use, and that of this key? */
static inline bool is_right(const struct summary *m, const struct entry *guess,
                            struct weir_bytes key)
{
    return guess < m->entries + m->n && is_key(m, guess, key);
}

/* e: its entry, or NULL. */
static inline void count(weir_sketch *s, struct weir_bytes key, uint64_t hash, uint64_t amount,
                         struct entry *e)
{
    struct summary *m = summary_of(s);

    s->total = sketch_sum(s->total, amount);
    if (e) {
        e->count = sketch_sum(e->count, amount);
        return;
    }
    if (!arena_takes(m, key.size)) {
        m->too_long = sketch_sum(m->too_long, amount);
        return;
    }
    if (amount == 0)
        return;
    uint64_t *cell = unkept_of(m, tag_of(hash)), error = *cell, bound = sketch_sum(error, amount);
    if (!summary_fits(m, key.size) && (bound <= m->low || bound <= summary_least(m))) {
        *cell = bound;
        raise_to(&m->floor, bound);
        return;
    }
    summary_make_room(m, key.size);
    summary_insert(m, key, hash, bound, error);
}

static void add(weir_sketch *s, struct weir_bytes key, uint64_t amount)
{
    uint64_t hash = sketch_hash(s, key).lo;

    count(s, key, hash, amount, summary_find(summary_of(s), key, hash));
}

/* A batch goes in by blocks: for all keys of a block first their lines are
 * fetched, then the entries that those lead to, then the bytes of the entries'
 * keys; then they are counted. */
#define BLOCK 32

static void add_block(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                      size_t n)
{
    struct summary *m = summary_of(s);
    uint64_t hash[BLOCK];
    struct entry *guess[BLOCK];

    for (size_t i = 0; i < n; i++) {
        hash[i] = sketch_hash(s, keys[i]).lo;
        __builtin_prefetch(&m->lines[home_of(m, tag_of(hash[i]))]);
        __builtin_prefetch(unkept_of(m, tag_of(hash[i])), 1);
    }
    for (size_t i = 0; i < n; i++) {
        guess[i] = summary_guess(m, tag_of(hash[i]));
        __builtin_prefetch(guess[i], 1);
    }
    for (size_t i = 0; i < n; i++)
        __builtin_prefetch(head_of(m, guess[i]));
    for (size_t i = 0; i < n; i++)
        count(s, keys[i], hash[i], sketch_amount(s, amounts, i),
              is_right(m, guess[i], keys[i]) ? guess[i] : summary_find(m, keys[i], hash[i]));
}

static void add_many(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                     size_t n)
{
    for (size_t i = 0; i < n; i += BLOCK)
        add_block(s, keys + i, amounts ? amounts + i : NULL, n - i < BLOCK ? n - i : BLOCK);
}

/* ---- asking ---- */

static struct weir_estimate ask(const weir_sketch *s, struct weir_bytes key)
{
    const struct summary *m = summary_of(s);
    uint64_t hash = sketch_hash(s, key).lo, most;
    const struct entry *e = summary_find(m, key, hash);

    if (e)
        return (struct weir_estimate){e->count, head_of(m, e)->error};
    most = *unkept_of(m, tag_of(hash));
    return (struct weir_estimate){most, most};
}

static void stats(const weir_sketch *s, struct weir_sketch_stats *out)
{
    const struct summary *m = summary_of(s);

    out->keys = m->n;
    out->error = m->floor;
    out->confidence = 1;
    out->too_long = m->too_long;
}

/* ---- planning ---- */

static bool plan(struct sketch_config *c, uint64_t *bytes, struct weir_error *error)
{
    bool keys = spec_has(&c->is, SKETCH_KEYS), memory = spec_has(&c->is, SKETCH_MEMORY);
    uint64_t beside = SUMMARY_EACH + UNKEPT_EACH * sizeof(uint64_t), each = beside + ARENA_EACH;

    if (keys && !memory)
        c->memory = 8 * (SUMMARY_BESIDE + c->keys * each);
    uint64_t size = c->memory / 8 / UNIT * UNIT;
    uint64_t room = size < SUMMARY_BESIDE ? 0 : size - SUMMARY_BESIDE;
    if (!keys)
        c->keys = room / each < KEYS_MAX ? room / each : KEYS_MAX;
    if (size > SUMMARY_MOST)
        return error_refuse(error, WEIR_ERROR_INVALID_VALUE, "top takes a memory of 32G at most",
                            NULL);
    if (c->keys == 0 || room / (beside + ARENA_LEAST) < c->keys)
        return error_refuse(error, WEIR_ERROR_MEMORY_TOO_SMALL,
                            "top needs a memory of 128 bytes, and 81 for each of its "
                            "keys= (104 if keys= is left out)",
                            NULL);
    *bytes = size;
    return true;
}

static void lay(weir_sketch *s)
{
    summary_lay(summary_of(s), s->data, s->size, s->config.keys, UNKEPT_EACH * s->config.keys);
}

/* ---- merging ---- */

/* All keys of both, those of `a` first; a key of both once. */
static size_t join(const weir_sketch *a, const weir_sketch *b, struct weir_heavy *list)
{
    size_t n = summary_top(a, list, summary_of(a)->n), mine = n;

    for (size_t i = 0; i < mine; i++) {
        struct weir_estimate other = ask(b, list[i].key);

        list[i].count = sketch_sum(list[i].count, other.count);
        list[i].error = sketch_sum(list[i].error, other.error);
    }
    n += summary_top(b, list + n, summary_of(b)->n);
    for (size_t i = mine; i < n; i++) {
        if (summary_find(summary_of(a), list[i].key, sketch_hash(a, list[i].key).lo)) {
            list[i--] = list[--n];
            continue;
        }
        struct weir_estimate other = ask(a, list[i].key);
        list[i].count = sketch_sum(list[i].count, other.count);
        list[i].error = sketch_sum(list[i].error, other.error);
    }
    return n;
}

/* Those that fit, highest first, into a sketch whose cells are those of both. */
static void keep(weir_sketch *s, const struct weir_heavy *list, size_t n)
{
    struct summary *m = summary_of(s);
    bool fits = true;

    for (size_t i = 0; i < n; i++) {
        uint64_t hash = sketch_hash(s, list[i].key).lo;

        fits = fits && summary_fits(m, list[i].key.size);
        if (fits)
            summary_insert(m, list[i].key, hash, list[i].count, list[i].error);
        else
            raise_to(unkept_of(m, tag_of(hash)), list[i].count);
    }
    for (uint64_t i = 0; i < m->unkept_count; i++)
        raise_to(&m->floor, m->unkept[i]);
}

static enum weir_status merge(weir_sketch *into, const weir_sketch *from)
{
    const struct summary *a = summary_of(into), *b = summary_of(from);
    void *allocation;
    struct weir_heavy *list =
        memory_open(&into->handle.memory, ((uint64_t)a->n + b->n + 1) * sizeof *list, &allocation);
    weir_sketch *sum =
        list ? (weir_sketch *)sketch_make(&into->config, &into->handle.memory, false) : NULL;

    if (sum) {
        struct summary *m = summary_of(sum);
        size_t n = join(into, from, list);

        summary_sort(list, n);
        for (uint64_t i = 0; i < m->unkept_count; i++)
            m->unkept[i] = sketch_sum(a->unkept[i], b->unkept[i]);
        m->too_long = sketch_sum(a->too_long, b->too_long);
        keep(sum, list, n);
        sum->total = sketch_sum(into->total, from->total);
        sum->age = into->age;
        sum->weight = into->weight;
        sketch_copy(into, sum);
    }
    if (list)
        memory_close(&into->handle.memory, allocation);
    weir_sketch_close(sum);
    return sum ? WEIR_OK : WEIR_NO_MEMORY;
}

const struct sketch_ops sketch_top = {
    .is.about = {"top", "the keys that came most often (Space-Saving), each with its largest error",
                 WEIR_CAN_MERGE | WEIR_CAN_WINDOW | WEIR_CAN_TIME | WEIR_CAN_LIST},
    .is.parameters = HAS_COMMON | HAS(SKETCH_KEYS) | HAS(SKETCH_HALF_LIFE),
    .part = WEIR_PART_TOP,
    .memory = UINT64_C(1) << 23,
    .own = sizeof(struct summary),
    .plan = plan,
    .lay = lay,
    .add = add,
    .add_many = add_many,
    .top = summary_top,
    .ask = ask,
    .stats = stats,
    .merge = merge,
    .scale = summary_scale,
    .state_size = summary_size,
    .put = summary_put,
    .get = summary_get,
};
