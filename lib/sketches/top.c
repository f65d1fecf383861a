/* top.c - which keys came most often? (Space-Saving: Metwally, Agrawal and
 * El Abbadi 2005)
 *
 * As many keys as there is room for are kept, each with a count. A key that is
 * not kept takes the place of the one with the least count, and inherits it: its
 * own past is unknown, but cannot have been more. So
 *
 *   count - error <= true count <= count      for every key kept,
 *   true count <= floor                       for every other,
 *
 * where the floor is the highest count ever dropped: at most N / keys while the
 * keys fit their share of memory. Keys that came more than N / keys times are
 * all there.
 *
 * Keys are kept whole. Long ones take the room of several: then fewer are kept,
 * and the floor is higher; the bounds hold all the same. A key of more than a
 * quarter of the arena is not kept at all, only added to too_long.
 *
 * Merging (Agarwal et al. 2012): counts and errors add up; a key that only one
 * side keeps may have come up to the floor of the other there.
 * Price: two or three lines for a key that is kept, some ten for one that is
 * not. */
#include "top.h"

#include <stdlib.h>
#include <string.h>

#define PER_KEY (sizeof(struct entry) + 3 * sizeof(struct slot) + 16) /* beside the arena */
#define ARENA_EACH 48  /* bytes of arena for a key, where nothing says more */
#define ARENA_LEAST 24 /* the least that makes sense */
#define BESIDE 64      /* and for all together */
#define KEYS_MAX (UINT64_C(1) << 28)
#define AHEAD 16 /* keys; a power of two */

/* ---- counting ---- */

static void count(weir_sketch *s, struct weir_bytes key, uint64_t hash, uint64_t amount)
{
    struct summary *m = &s->summary;
    struct entry *e = summary_find(s, key, hash);

    s->total = sketch_sum(s->total, amount);
    if (e) {
        e->count = sketch_sum(e->count, amount);
        return;
    }
    if (!arena_takes(s, key.size)) {
        m->too_long = sketch_sum(m->too_long, amount);
        return;
    }
    if (amount == 0)
        return;
    summary_make_room(s, key.size);
    summary_insert(s, key, hash, sketch_sum(m->floor, amount), m->floor);
}

static void add(weir_sketch *s, struct weir_bytes key, uint64_t amount)
{
    count(s, key, sketch_hash(s, key).lo, amount);
}

static void add_many(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                     size_t n)
{
    uint64_t ring[AHEAD];

    for (size_t i = 0; i < n + AHEAD; i++) {
        size_t at = i - AHEAD;

        if (i >= AHEAD)
            count(s, keys[at], ring[at % AHEAD], amounts ? amounts[at] : 1);
        if (i >= AHEAD / 2 && i < n + AHEAD / 2) { /* its slot has come: now its entry */
            const struct slot *slot = &s->slots[home_of(s, tag_of(ring[(i - AHEAD / 2) % AHEAD]))];

            __builtin_prefetch(&s->entries[(int64_t)slot->entry - 1]);
        }
        if (i < n) {
            ring[i % AHEAD] = sketch_hash(s, keys[i]).lo;
            __builtin_prefetch(&s->slots[home_of(s, tag_of(ring[i % AHEAD]))]);
        }
    }
}

/* ---- asking ---- */

static struct weir_estimate ask(const weir_sketch *s, struct weir_bytes key)
{
    const struct entry *e = summary_find(s, key, sketch_hash(s, key).lo);

    if (e)
        return (struct weir_estimate){e->count, e->error};
    return (struct weir_estimate){s->summary.floor, s->summary.floor};
}

static void stats(const weir_sketch *s, struct weir_sketch_stats *out)
{
    out->keys = s->summary.n;
    out->error = s->summary.floor;
    out->confidence = 1;
    out->too_long = s->summary.too_long;
}

/* Highest count first; equal ones by the lower error, then by their bytes. */
static bool ahead_of(const struct weir_heavy *a, const struct weir_heavy *b)
{
    size_t size = a->key.size < b->key.size ? a->key.size : b->key.size;

    if (a->count != b->count)
        return a->count > b->count;
    if (a->error != b->error)
        return a->error < b->error;
    int order = size ? memcmp(a->key.data, b->key.data, size) : 0;
    return order ? order < 0 : a->key.size < b->key.size;
}

/* A heap of the best so far, the worst of them on top. */
static void settle(struct weir_heavy *list, size_t i, size_t n)
{
    struct weir_heavy moved = list[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && ahead_of(&list[child], &list[child + 1]))
            child++;
        if (!ahead_of(&moved, &list[child]))
            break;
        list[i] = list[child];
    }
    list[i] = moved;
}

static void make_heap(struct weir_heavy *list, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        settle(list, i, n);
}

/* From a heap to the order of ahead_of. */
static void sort_heap(struct weir_heavy *list, size_t n)
{
    for (size_t end = n; end > 1; end--) {
        struct weir_heavy worst = list[0];

        list[0] = list[end - 1];
        list[end - 1] = worst;
        settle(list, 0, end - 1);
    }
}

static size_t top(const weir_sketch *s, struct weir_heavy *out, size_t n)
{
    size_t found = s->summary.n < n ? s->summary.n : n;

    size_t i = 0;

    for (uint64_t slot = 0; found > 0 && slot < s->slot_count; slot++) {
        if (!s->slots[slot].entry)
            continue;
        const struct entry *e = &s->entries[s->slots[slot].entry - 1];
        struct weir_heavy heavy = {key_of(s, e), e->count, e->error};

        if (i < found) {
            out[i] = heavy;
            if (i + 1 == found)
                make_heap(out, found);
        } else if (ahead_of(&heavy, &out[0])) {
            out[0] = heavy;
            settle(out, 0, found);
        }
        i++;
    }
    sort_heap(out, found);
    return found;
}

/* ---- planning ---- */

static bool plan(struct sketch_config *c, uint64_t *bytes, struct weir_error *error)
{
    bool keys = sketch_given(c, SKETCH_KEYS), memory = sketch_given(c, SKETCH_MEMORY);
    uint64_t most = (UINT64_C(1) << 32) * UNIT; /* what a place in the arena can say */

    if (keys && !memory)
        c->memory = 8 * (BESIDE + c->keys * (PER_KEY + ARENA_EACH));
    uint64_t size = c->memory / 8 / UNIT * UNIT, room = size < BESIDE ? 0 : size - BESIDE;
    if (!keys)
        c->keys =
            room / (PER_KEY + ARENA_EACH) < KEYS_MAX ? room / (PER_KEY + ARENA_EACH) : KEYS_MAX;
    if (c->keys == 0 || size > most || room / (PER_KEY + ARENA_LEAST) < c->keys) {
        error_say(error, WEIR_BAD_CONFIG,
                  size > most ? "top takes a memory of 32G at most"
                              : "top needs a memory of 64 bytes, and 96 for each of its keys= "
                                "(120 if keys= is left out)",
                  NULL);
        return false;
    }
    *bytes = size;
    return true;
}

static void lay(weir_sketch *s)
{
    uint64_t keys = s->config.keys;
    uint8_t *at = s->data;

    s->entries = (struct entry *)(void *)at + 1;
    s->entries[-1].count = UINT64_MAX;
    at += (keys + 1) * sizeof(struct entry);
    s->slots = (struct slot *)(void *)at;
    s->homes = 2 * keys;
    s->slot_count = 3 * keys + 1; /* the last one is always free */
    at += s->slot_count * sizeof(struct slot);
    for (s->block = 6; s->slot_count >> s->block >> s->block;)
        s->block++;
    s->blocks = (s->slot_count >> s->block) + 1;
    s->bounds = (uint64_t *)(void *)at;
    at += s->blocks * sizeof *s->bounds;
    s->arena = at;
    s->arena_size = (s->size - (uint64_t)(at - s->data)) / UNIT;
}

/* ---- merging ---- */

/* All keys of both, those of `a` first; a key of both once. */
static size_t join(const weir_sketch *a, const weir_sketch *b, struct weir_heavy *list)
{
    size_t n = top(a, list, a->summary.n), mine = n;

    for (size_t i = 0; i < mine; i++) {
        struct weir_estimate other = ask(b, list[i].key);

        list[i].count = sketch_sum(list[i].count, other.count);
        list[i].error = sketch_sum(list[i].error, other.error);
    }
    n += top(b, list + n, b->summary.n);
    for (size_t i = mine; i < n; i++) {
        if (summary_find(a, list[i].key, sketch_hash(a, list[i].key).lo)) {
            list[i--] = list[--n];
            continue;
        }
        list[i].count = sketch_sum(list[i].count, a->summary.floor);
        list[i].error = sketch_sum(list[i].error, a->summary.floor);
    }
    return n;
}

/* Those that fit, highest first; the floor is above all that do not. */
static void keep(weir_sketch *s, const struct weir_heavy *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!summary_fits(s, list[i].key.size)) {
            if (list[i].count > s->summary.floor)
                s->summary.floor = list[i].count;
            return;
        }
        summary_insert(s, list[i].key, sketch_hash(s, list[i].key).lo, list[i].count,
                       list[i].error);
    }
}

static enum weir_status merge(weir_sketch *into, const weir_sketch *from)
{
    size_t most = (size_t)into->summary.n + from->summary.n;
    struct weir_heavy *list = malloc((most + 1) * sizeof *list);
    weir_sketch *sum = list ? sketch_make(&into->config, into->size) : NULL;

    if (sum) {
        size_t n = join(into, from, list);

        make_heap(list, n);
        sort_heap(list, n);
        sum->summary.floor = sketch_sum(into->summary.floor, from->summary.floor);
        sum->summary.too_long = sketch_sum(into->summary.too_long, from->summary.too_long);
        keep(sum, list, n);
        into->summary = sum->summary;
        into->total = sketch_sum(into->total, from->total);
        memcpy(into->data, sum->data, into->size);
    }
    free(list);
    weir_sketch_close(sum);
    return sum ? WEIR_OK : WEIR_NO_MEMORY;
}

/* ---- saving: in the order of top(), so that equal contents are equal bytes ---- */

#define ENTRY_HEAD 20 /* count, error, size */

static uint64_t state_size(const weir_sketch *s)
{
    uint64_t size = 20;

    for (uint64_t i = 0; i < s->slot_count; i++)
        if (s->slots[i].entry)
            size += ENTRY_HEAD + s->entries[s->slots[i].entry - 1].size;
    return size;
}

static enum weir_status put(const weir_sketch *s, struct part_writer *out)
{
    uint32_t n = s->summary.n;
    struct weir_heavy *list = malloc((n + 1) * sizeof *list);

    if (!list)
        return WEIR_NO_MEMORY;
    top(s, list, n);
    part_put64(out, s->summary.floor);
    part_put64(out, s->summary.too_long);
    part_put32(out, n);
    for (uint32_t i = 0; i < n; i++) {
        part_put64(out, list[i].count);
        part_put64(out, list[i].error);
        part_put32(out, (uint32_t)list[i].key.size);
        part_put(out, list[i].key.data, list[i].key.size);
    }
    free(list);
    return WEIR_OK;
}

/* One key; it must be able to be there, and not be there yet. */
static bool get_key(weir_sketch *s, struct part_reader *in)
{
    const uint8_t *p = part_get(in, ENTRY_HEAD), *bytes;

    if (!p || !(bytes = part_get(in, bits_load32(p + 16))))
        return false;
    struct weir_bytes key = {bytes, bits_load32(p + 16)};
    uint64_t hash = sketch_hash(s, key).lo, its_count = bits_load64(p), error = bits_load64(p + 8);
    if (!arena_takes(s, key.size) || !summary_fits(s, key.size) || its_count == 0 ||
        error > its_count || summary_find(s, key, hash))
        return false;
    summary_insert(s, key, hash, its_count, error);
    return true;
}

static bool take_in(weir_sketch *s, struct part_reader *in)
{
    const uint8_t *p = part_get(in, 20);

    if (!p)
        return false;
    s->summary.floor = bits_load64(p);
    s->summary.too_long = bits_load64(p + 8);
    for (uint32_t n = bits_load32(p + 16); n > 0; n--)
        if (!get_key(s, in))
            return false;
    return s->summary.too_long <= s->total;
}

const struct sketch_ops sketch_top = {
    .about = {"top", "the keys that came most often (Space-Saving), each with its largest error"},
    .knobs = HAS_COMMON | HAS_KNOB(SKETCH_KEYS),
    .part = WEIR_PART_TOP,
    .memory = UINT64_C(1) << 23,
    .plan = plan,
    .lay = lay,
    .add = add,
    .add_many = add_many,
    .top = top,
    .ask = ask,
    .stats = stats,
    .merge = merge,
    .state_size = state_size,
    .put = put,
    .get = take_in,
};
