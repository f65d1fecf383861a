/* apbf.c - age-partitioned Bloom filter (Shtul, Baquero, Almeida 2020).
 *
 * k + l slices of bits in a ring, from young to old. A key sets its bit in the
 * k youngest, and is seen if k neighbouring slices all have it. After each
 * generation of g keys the oldest slice is emptied and becomes the youngest.
 * So a key slides to the old end as it ages, and falls off it: the last l*g
 * distinct keys, and so the last l*g records, are seen for certain. After that
 * the bits it has lost must be there by chance: of older keys half are still
 * seen, a quarter a generation later, and so on.
 *
 *   young [0][1]...[k-1] | [k] ... [k+l-1] old
 *          set here        slides this way ->
 *
 * Price: k cache lines to insert, a few to ask; about three times the least
 * possible bits per remembered key. Which slice a probe reads next is told by the
 * last, so a key of a batch goes one step at a time while others go theirs. It takes 1.5
 * to 1.7 of the time that memory needs for as many lines where one takes 8 ns, 3.2 where one takes
 * 4 (bench/speed --memory 64): nine tenths of its time it takes in cache, too, for hash words and
 * steps not to be foreseen. */
#include <string.h>

#include "filter/filter.h"
#include "theory/window.h"

#define FPR_DEFAULT 0.01
#define YOUNGEST 0 /* register: index of the youngest slice */
#define TAKEN 1    /* register: keys in this generation */

#define GENERATION 0 /* detail: keys that make a generation */
#define MASK_BITS 64

/* On the way: the youngest slice at first; the age to be read next, or the number of slices, and
 * the key's bit there; which ages were read, and which of them have the bit. */
enum { YOUNG, AGE, SPOT, READ, SET };

static inline uint64_t generation(const struct config *c)
{
    return (c->window + c->slices - 1) / c->slices;
}

/* k and l, whichever are left to us; false if none keeps the error. */
static bool choose_slices(struct config *c, double fpr)
{
    if (config_has(c, PARAMETER_K) && config_has(c, PARAMETER_SLICES))
        return true;
    if (config_has(c, PARAMETER_K))
        c->slices = apbf_most_slices(fpr, c->k, SLICES_MAX - K_MAX);
    else if (config_has(c, PARAMETER_SLICES))
        c->k = apbf_least_k(fpr, c->slices, K_MAX);
    else
        c->k = apbf_choose(fpr, K_MAX, SLICES_MAX - K_MAX, &c->slices);
    if (c->k && c->slices)
        return true;
    c->k = c->k ? c->k : K_MAX;
    c->slices = c->slices ? c->slices : 1;
    return false;
}

static void size_memory(struct config *c)
{
    double slice = (double)generation(c) / apbf_generation(1, c->k);

    c->memory = config_memory(slice + 8, c->k + c->slices);
}

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    double fpr = config_has(c, PARAMETER_FPR) ? c->fpr : FPR_DEFAULT;

    if (!choose_slices(c, fpr) && config_has(c, PARAMETER_FPR))
        return config_refuse_fpr(c, apbf_error_half_full(c->k, c->slices),
                                 "leave k and slices out, or allow more", error);
    if (config_has(c, PARAMETER_WINDOW) && !config_has(c, PARAMETER_MEMORY))
        size_memory(c);
    shape_planes(s, c, (uint32_t)(c->k + c->slices), 1);
    uint64_t most = config_at_most(apbf_generation((double)s->cells, c->k), COUNT_MAX / c->slices);
    if (!config_has(c, PARAMETER_WINDOW))
        c->window = (most ? most : 1) * c->slices;
    double reached = apbf_error((double)s->cells, (double)generation(c), c->k, c->slices);
    if (!config_keeps_fpr(c, reached))
        return config_refuse_fpr(c, reached, "give it more memory or a smaller window", error);
    if (!config_window_fits(c, reached, error))
        return false;
    s->lines = (uint32_t)(c->k + 2 * (c->slices / c->k));
    s->registers = 2;
    s->detail[GENERATION] = generation(c);
    return true;
}

/* The slice of an age, 0 the youngest; the i-th slice keeps hash function i. */
static inline uint32_t slice_of_age(const weir_filter *w, uint64_t age)
{
    uint64_t i = w->reg[YOUNGEST] + age;

    return (uint32_t)(i < w->shape.planes ? i : i - w->shape.planes);
}

static double error_now(const weir_filter *w)
{
    double fill[SLICES_MAX];

    for (uint32_t age = 0; age < w->shape.planes; age++) {
        struct cells bits = plane(w, slice_of_age(w, age));

        fill[age] = cells_fill(&bits);
    }
    return apbf_error_at(fill, w->config.k, w->config.slices);
}

/* All slices as one: a bit has the same number in it whatever the age of its slice. */
static inline struct cells all_bits(const weir_filter *w)
{
    return (struct cells){w->cells, 8 * w->stride * w->shape.planes, 1};
}

static inline uint64_t find_bit(const weir_filter *w, struct weir_key key, uint64_t age)
{
    uint32_t i = slice_of_age(w, age);

    return 8 * w->stride * i + place(key, i, w->shape.cells);
}

static inline uint64_t touch_age(const weir_filter *w, struct weir_key key, uint64_t age)
{
    struct cells all = all_bits(w);
    uint64_t at = find_bit(w, key, age);

    bit_touch(&all, at);
    return at;
}

/* Of a key that comes alone: where a probe may jump to, two each. Half of the bits are set, so it
 * goes on by one on average. */
static inline void touch_victims(const weir_filter *w, const struct arrival *a)
{
    uint64_t k = w->config.k;

    for (uint64_t age = w->config.slices; age >= k; age -= k) {
        touch_age(w, a->key, age);
        touch_age(w, a->key, age + 1 < w->shape.planes ? age + 1 : age);
    }
}

/* Notes are told to be old by the youngest slice: it must not come round on the way. */
static inline bool can_look(const weir_filter *w)
{
    return w->shape.planes <= MASK_BITS &&
           (w->shape.planes - 1) * w->shape.detail[GENERATION] >= KEYS_AHEAD;
}

/* The slices an insertion sets, and where a probe begins. */
static inline void touch(const weir_filter *w, struct arrival *a)
{
    for (uint64_t age = 0; age < w->config.k; age++)
        a->at[age] = touch_age(w, a->key, age);
    a->way[YOUNG] = w->reg[YOUNGEST];
    a->way[AGE] = can_look(w) ? w->config.slices : w->shape.planes;
    a->way[SPOT] = touch_age(w, a->key, w->config.slices);
    a->way[READ] = a->way[SET] = 0;
    if (!can_look(w))
        touch_victims(w, a);
}

/* The key's bits in the young slices: age 0 is bit 0. */
static inline uint64_t young_bits(const weir_filter *w, const struct arrival *a)
{
    struct cells all = all_bits(w);
    uint64_t set = 0;

    for (uint32_t age = 0; age < w->config.k; age++)
        set |= (uint64_t)bit_get(&all, a->at[age]) << age;
    return set;
}

/* Where a probe goes from an old slice: one up, or k back. Which is not to be foreseen, so there
 * is no branch. */
static inline uint64_t next_age(const weir_filter *w, uint64_t age, bool hit)
{
    uint64_t up = age + 1, back = age - w->config.k;

    return back ^ ((back ^ up) & -(uint64_t)hit);
}

/* Where it goes on from a young one: above them all, if none lacks the bit. */
static inline uint64_t age_above(const weir_filter *w, const struct arrival *a, uint64_t age)
{
    uint64_t k = w->config.k, all = (UINT64_C(1) << k) - 1;
    bool gap = ~young_bits(w, a) & all & ~UINT64_C(0) << age;

    return gap || a->way[READ] >> k & 1 ? w->shape.planes : k;
}

/* Go one step of the probe, note what it reads, and fetch what the next will read. The bits of an
 * old slice stay as they are until a generation ends: a note holds as long. */
static inline void look(const weir_filter *w, struct arrival *a)
{
    uint64_t age = a->way[AGE];

    if (age >= w->shape.planes)
        return;
    struct cells all = all_bits(w);
    bool hit = bit_get(&all, a->way[SPOT]);

    a->way[READ] |= UINT64_C(1) << age;
    a->way[SET] |= (uint64_t)hit << age;
    age = next_age(w, age, hit);
    a->way[AGE] = age = age < w->config.k ? age_above(w, a, age) : age;
    if (age < w->shape.planes)
        a->way[SPOT] = touch_age(w, a->key, age);
}

/* Has a mask k set bits side by side? */
static inline bool has_run(uint64_t mask, uint64_t k)
{
    uint64_t long_enough = 1;

    for (; 2 * long_enough <= k; long_enough *= 2)
        mask &= mask >> long_enough;
    return mask & mask >> (k - long_enough);
}

/* Look for k neighbours with the bit. Start where the oldest such run would
 * begin and walk up; at the first gap jump k back: a run that crosses the gap
 * cannot be. `above` counts the hits just above the present stretch. */
static bool walk(const weir_filter *w, const struct arrival *a)
{
    uint64_t k = w->config.k, age = w->config.slices, above = 0, here = 0;
    struct cells all = all_bits(w);

    for (;;) {
        if (bit_get(&all, find_bit(w, a->key, age))) {
            age++;
            here++;
            if (above + here == k)
                return true;
        } else {
            if (age < k)
                return false;
            age -= k;
            above = here;
            here = 0;
        }
    }
}

/* Do the notes say it? If they say neither yes nor no, the slices do. */
static bool probe(const weir_filter *w, const struct arrival *a)
{
    uint64_t k = w->config.k, set, unread;

    if (a->way[YOUNG] != w->reg[YOUNGEST] || a->way[READ] == 0)
        return walk(w, a);
    set = a->way[SET] | young_bits(w, a);
    unread = ~a->way[READ] & UINT64_MAX << k & UINT64_MAX >> (MASK_BITS - w->shape.planes);
    if (has_run(set, k))
        return true;
    return has_run(set | unread, k) && walk(w, a);
}

static void age_by_one(weir_filter *w)
{
    w->reg[YOUNGEST] = slice_of_age(w, w->shape.planes - 1);
    w->reg[TAKEN] = 0;
    struct cells bits = plane(w, w->reg[YOUNGEST]);
    memset(bits.bytes, 0, w->stride);
}

/* The key's bit in a young slice: as touch() found it, unless a generation has ended since. */
static inline uint64_t find_young(const weir_filter *w, const struct arrival *a, uint64_t age)
{
    return a->way[YOUNG] == w->reg[YOUNGEST] ? a->at[age] : find_bit(w, a->key, age);
}

static inline bool is_young(const weir_filter *w, const struct arrival *a)
{
    struct cells all = all_bits(w);
    bool there = true;

    for (uint64_t age = 0; age < w->config.k; age++)
        there &= bit_get(&all, find_young(w, a, age));
    return there;
}

static inline void admit(weir_filter *w, const struct arrival *a, bool seen)
{
    struct cells all = all_bits(w);

    if (seen && is_young(w, a))
        return;
    if (w->reg[TAKEN] == w->shape.detail[GENERATION])
        age_by_one(w);
    for (uint64_t age = 0; age < w->config.k; age++)
        bit_set(&all, find_young(w, a, age));
    w->reg[TAKEN]++;
}

static bool check(const weir_filter *w)
{
    return w->reg[YOUNGEST] < w->shape.planes && w->reg[TAKEN] <= w->shape.detail[GENERATION];
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    struct apbf f = {(double)s->cells, (double)generation(c), c->k, c->slices};

    apbf_predict(&f, m, p);
    return true;
}

#define LOOKS 6 /* of nine strangers one is read in more old slices; 5 to 10 do alike */
#define LOOKS_TO_ASK LOOKS
#include "filter/loops.h"

const struct filter_ops filter_apbf = {
    .is.about = {"apbf", "age-partitioned: a window of the latest keys, forgotten in small steps",
                 WEIR_CAN_OBSERVE | WEIR_CAN_WINDOW | WEIR_CAN_RUN_FOREVER},
    .is.parameters = HAS_ALWAYS | HAS(PARAMETER_FPR) | HAS(PARAMETER_K) | HAS(PARAMETER_WINDOW) |
                     HAS(PARAMETER_SLICES),
    .plan = plan,
    .error = error_now,
    .predict = predict,
    .check = check,
    FILTER_LOOPS,
};
