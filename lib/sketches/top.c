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
 * Price: three lines for a key that is kept, some six for one that is not. */
#include "summary.h"

#include <stdlib.h>
#include <string.h>

#define KEYS_MAX (UINT64_C(1) << 28)

/* ---- counting ---- */

/* Is the entry still in use, and that of this key? */
static inline bool is_right(const weir_sketch *s, const struct entry *guess, struct weir_bytes key)
{
    return guess && guess < s->entries + s->summary.n && is_key(s, guess, key);
}

/* guess: an entry that may be that of the key, or NULL. */
static void count(weir_sketch *s, struct weir_bytes key, uint64_t hash, uint64_t amount,
                  struct entry *guess)
{
    struct summary *m = &s->summary;
    struct entry *e = is_right(s, guess, key) ? guess : summary_find(s, key, hash);

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
    count(s, key, sketch_hash(s, key).lo, amount, NULL);
}

/* A key on its way in: first its line is fetched, then the entry that it
 * leads to, then the bytes of that entry's key. */
#define RING 32 /* keys; a power of two */
#define ENTRY_AT 8
#define KEY_AT 16
#define COUNT_AT 24

struct coming {
    uint64_t hash;
    struct entry *guess;
};

static inline void fetch(const weir_sketch *s, struct coming *ring, const struct weir_bytes *keys,
                         size_t i, size_t n)
{
    if (i < n) {
        struct coming *c = &ring[i % RING];

        c->hash = sketch_hash(s, keys[i]).lo;
        __builtin_prefetch(&s->lines[home_of(s, tag_of(c->hash))]);
    }
    if (i - ENTRY_AT < n) {
        struct coming *c = &ring[(i - ENTRY_AT) % RING];

        c->guess = summary_guess(s, tag_of(c->hash));
        __builtin_prefetch(c->guess, 1);
    }
    if (i - KEY_AT < n) {
        struct coming *c = &ring[(i - KEY_AT) % RING];

        __builtin_prefetch(head_of(s, c->guess));
    }
}

static void add_many(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                     size_t n)
{
    struct coming ring[RING];

    for (size_t i = 0; i < n + COUNT_AT; i++) {
        size_t now = i - COUNT_AT;

        fetch(s, ring, keys, i, n);
        if (now < n)
            count(s, keys[now], ring[now % RING].hash, sketch_amount(s, amounts, now),
                  ring[now % RING].guess);
    }
}

/* ---- asking ---- */

static struct weir_estimate ask(const weir_sketch *s, struct weir_bytes key)
{
    const struct entry *e = summary_find(s, key, sketch_hash(s, key).lo);

    if (e)
        return (struct weir_estimate){e->count, head_of(s, e)->error};
    return (struct weir_estimate){s->summary.floor, s->summary.floor};
}

static void stats(const weir_sketch *s, struct weir_sketch_stats *out)
{
    out->keys = s->summary.n;
    out->error = s->summary.floor;
    out->confidence = 1;
    out->too_long = s->summary.too_long;
}

/* ---- planning ---- */

static bool plan(struct sketch_config *c, uint64_t *bytes, struct weir_error *error)
{
    bool keys = sketch_given(c, SKETCH_KEYS), memory = sketch_given(c, SKETCH_MEMORY);
    uint64_t each = SUMMARY_EACH + ARENA_EACH;

    if (keys && !memory)
        c->memory = 8 * (SUMMARY_BESIDE + c->keys * each);
    uint64_t size = c->memory / 8 / UNIT * UNIT;
    uint64_t room = size < SUMMARY_BESIDE ? 0 : size - SUMMARY_BESIDE;
    if (!keys)
        c->keys = room / each < KEYS_MAX ? room / each : KEYS_MAX;
    if (c->keys == 0 || size > SUMMARY_MOST || room / (SUMMARY_EACH + ARENA_LEAST) < c->keys) {
        error_say(error, WEIR_BAD_CONFIG,
                  size > SUMMARY_MOST ? "top takes a memory of 32G at most"
                                      : "top needs a memory of 128 bytes, and 65 for each of its "
                                        "keys= (88 if keys= is left out)",
                  NULL);
        return false;
    }
    *bytes = size;
    return true;
}

static void lay(weir_sketch *s)
{
    summary_lay(s, s->data, s->size, s->config.keys);
}

/* ---- merging ---- */

/* All keys of both, those of `a` first; a key of both once. */
static size_t join(const weir_sketch *a, const weir_sketch *b, struct weir_heavy *list)
{
    size_t n = summary_top(a, list, a->summary.n), mine = n;

    for (size_t i = 0; i < mine; i++) {
        struct weir_estimate other = ask(b, list[i].key);

        list[i].count = sketch_sum(list[i].count, other.count);
        list[i].error = sketch_sum(list[i].error, other.error);
    }
    n += summary_top(b, list + n, b->summary.n);
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

        summary_sort(list, n);
        sum->summary.floor = sketch_sum(into->summary.floor, from->summary.floor);
        sum->summary.too_long = sketch_sum(into->summary.too_long, from->summary.too_long);
        keep(sum, list, n);
        sum->total = sketch_sum(into->total, from->total);
        sum->fade = into->fade;
        sum->weight = into->weight;
        sketch_copy(into, sum);
    }
    free(list);
    weir_sketch_close(sum);
    return sum ? WEIR_OK : WEIR_NO_MEMORY;
}

static enum weir_status put(const weir_sketch *s, struct part_writer *out)
{
    summary_put(s, out);
    return WEIR_OK;
}

const struct sketch_ops sketch_top = {
    .about = {"top", "the keys that came most often (Space-Saving), each with its largest error"},
    .knobs = HAS_COMMON | HAS_KNOB(SKETCH_KEYS) | HAS_KNOB(SKETCH_HALF_LIFE),
    .part = WEIR_PART_TOP,
    .memory = UINT64_C(1) << 23,
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
    .put = put,
    .get = summary_get,
};
