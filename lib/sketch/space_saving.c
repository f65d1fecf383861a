/* space_saving.c - top: the most frequent keys (Space-Saving: Metwally, Agrawal and El Abbadi
 * 2005; filtered: Homem and Carvalho 2010).
 *
 * As many keys as fit are stored, each with a count. Cells, selected by hash, bound the counts of
 * all other keys. A key that is not stored raises its cell. When the cell exceeds the lowest
 * stored count, the key replaces that one, with the cell as its count: its past is unknown, but
 * cannot be more. The count of the replaced key goes into its own cell. Therefore
 *
 *   count - error <= true count <= count      for every stored key,
 *   true count <= its cell <= floor           for every other key,
 *
 * where the floor is the maximum count of a key that is not stored: at most N / keys, unless long
 * keys exceed their share of the memory. All keys that occurred more than N / keys times are
 * stored. Without cells (plain Space-Saving), every occurrence of a key that is not stored would
 * replace another, and errors would be larger.
 *
 * Keys are stored whole. A long one takes the memory of several: then fewer are stored, and the
 * floor is higher, but the bounds still hold. A key of more than a quarter of the arena is not
 * stored, only counted in too_long.
 *
 * Merging (Agarwal et al. 2012): counts, errors and cells are added. A key that only one side
 * stores may have occurred as often as its cell on the other side says.
 *
 * Cost: three cache lines for a key that is stored, about six for one that is not. */
#include "sketch/summary.h"

#include <stdlib.h>
#include <string.h>

#define UNKEPT_EACH 2 /* cells per stored key, for keys that are not stored */

/* ---- counting ---- */

/* Is the guessed entry in use, and that of this key? */
static inline bool is_right(const struct summary *m, const struct entry *guess,
                            struct weir_bytes key)
{
    return guess < m->entries + m->n && is_key(m, guess, key);
}

/* e: the entry of the key, or NULL. */
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

/* Batches are processed in blocks. For all keys of a block the lines of the hash table are
 * prefetched, then the entries, then the keys of the entries. Then they are counted. */
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
    if (size > SUMMARY_MAX)
        return error_refuse(error, WEIR_ERROR_INVALID_VALUE,
                            "memory= is above the maximum of top; use at most 32G", NULL);
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
    summary_lay(summary_of(s), s->handle.data, s->handle.size, s->config.keys,
                UNKEPT_EACH * s->config.keys);
}

/* ---- merging ---- */

/* List the keys of both sketches once, those of `a` first. */
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

/* Store the keys that fit, highest counts first, in a sketch whose cells are the sums. */
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
        list ? (weir_sketch *)handle_new(&sketch_kind, &into->config, &into->handle.memory, false)
             : NULL;

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
        handle_copy(&into->handle, &sum->handle);
    }
    if (list)
        memory_close(&into->handle.memory, allocation);
    weir_sketch_close(sum);
    return sum ? WEIR_OK : WEIR_NO_MEMORY;
}

const struct sketch_ops sketch_top = {
    .is.about = {"top", "the most frequent keys (Space-Saving), each with its maximum error",
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
