/* apbf.c - the age-partitioned Bloom filter (Shtul, Baquero, Almeida 2020).
 *
 * k + l slices of bits form a ring, from young to old. A key sets one bit in each of the k
 * youngest slices. It is seen if k adjacent slices contain its bits. After each generation of g
 * keys, the oldest slice is cleared and becomes the youngest. So a key moves towards the old end
 * as it ages, and is evicted there. The last l * g distinct keys, and so those of the last l * g
 * records, are always seen. Older keys are seen only if the bits they have lost are set by chance:
 * half of them at first, a quarter one generation later, and so on.
 *
 *   young [0][1]...[k-1] | [k] ... [k+l-1] old
 *          set here        moves this way ->
 *
 * Cost: k cache lines per insertion, a few per lookup; about three times the minimum number of
 * bits per remembered key. A lookup reads slices in an order that depends on each result, so the
 * keys of a batch advance one step at a time, interleaved. This takes 1.5 to 1.7 times as long as
 * memory needs for as many lines if a line takes 8 ns, and 3.2 times if it takes 4 ns (bench/speed
 * --memory 64). Nine tenths of this time are computation: hash words and unpredictable steps. */
#include <string.h>

#include "filter/filter.h"
#include "theory/window.h"

#define FPR_DEFAULT 0.01
#define YOUNGEST 0 /* register: index of the youngest slice */
#define TAKEN 1    /* register: keys in this generation */

#define GENERATION 0 /* detail: keys per generation */
#define MASK_BITS 64

/* The progress of a key: the youngest slice when it was prepared; the age to be read next, or the
 * number of slices if there is none; the position of the key's bit there; masks of the ages that
 * were read, and of those that have the bit. */
enum { YOUNG, AGE, POSITION, READ, SET };

static inline uint64_t generation(const struct config *c)
{
    return (c->window + c->slices - 1) / c->slices;
}

/* Choose k and l if they are not given. Returns false if none keeps the error. */
static bool choose_slices(struct config *c, double fpr)
{
    if (config_has(c, PARAMETER_K) && config_has(c, PARAMETER_SLICES))
        return true;
    if (config_has(c, PARAMETER_K))
        c->slices = apbf_max_slices(fpr, c->k, SLICES_MAX - K_MAX);
    else if (config_has(c, PARAMETER_SLICES))
        c->k = apbf_min_k(fpr, c->slices, K_MAX);
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

/* The slice of an age, 0 for the youngest. Slice i always uses hash function i. */
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

/* All slices as one array. The position of a bit in it does not depend on the age of its slice. */
static inline struct cells all_bits(const weir_filter *w)
{
    return (struct cells){w->cells, 8 * w->stride * w->shape.planes, 1};
}

static inline uint64_t find_bit(const weir_filter *w, struct weir_key key, uint64_t age)
{
    uint32_t i = slice_of_age(w, age);

    return 8 * w->stride * i + place(key, i, w->shape.cells);
}

static inline uint64_t prefetch_age(const weir_filter *w, struct weir_key key, uint64_t age)
{
    struct cells all = all_bits(w);
    uint64_t at = find_bit(w, key, age);

    bit_prefetch(&all, at);
    return at;
}

/* For single keys: prefetch two slices at each place where a lookup may jump to. Half of the bits
 * are set, so it advances by one on average. */
static inline void prefetch_victims(const weir_filter *w, const struct arrival *a)
{
    uint64_t k = w->config.k;

    for (uint64_t age = w->config.slices; age >= k; age -= k) {
        prefetch_age(w, a->key, age);
        prefetch_age(w, a->key, age + 1 < w->shape.planes ? age + 1 : age);
    }
}

/* Can notes be used? They are valid while the youngest slice is the same, so the ring must not wrap
 * around between two steps of a batch. */
static inline bool can_look(const weir_filter *w)
{
    return w->shape.planes <= MASK_BITS &&
           (w->shape.planes - 1) * w->shape.detail[GENERATION] >= KEYS_AHEAD;
}

/* Prefetch the slices that an insertion sets, and the one where a lookup begins. */
static inline void prefetch(const weir_filter *w, struct arrival *a)
{
    for (uint64_t age = 0; age < w->config.k; age++)
        a->at[age] = prefetch_age(w, a->key, age);
    a->progress[YOUNG] = w->reg[YOUNGEST];
    a->progress[AGE] = can_look(w) ? w->config.slices : w->shape.planes;
    a->progress[POSITION] = prefetch_age(w, a->key, w->config.slices);
    a->progress[READ] = a->progress[SET] = 0;
    if (!can_look(w))
        prefetch_victims(w, a);
}

/* The key's bits in the young slices; age 0 is bit 0. */
static inline uint64_t young_bits(const weir_filter *w, const struct arrival *a)
{
    struct cells all = all_bits(w);
    uint64_t set = 0;

    for (uint32_t age = 0; age < w->config.k; age++)
        set |= (uint64_t)bit_get(&all, a->at[age]) << age;
    return set;
}

/* The next age after an old slice: one up after a hit, k back after a miss. Without a branch,
 * because it would be mispredicted. */
static inline uint64_t next_age(const weir_filter *w, uint64_t age, bool hit)
{
    uint64_t up = age + 1, back = age - w->config.k;

    return back ^ ((back ^ up) & -(uint64_t)hit);
}

/* The next age after a young slice: k if all younger bits are set, otherwise the end. */
static inline uint64_t age_above(const weir_filter *w, const struct arrival *a, uint64_t age)
{
    uint64_t k = w->config.k, all = (UINT64_C(1) << k) - 1;
    bool gap = ~young_bits(w, a) & all & ~UINT64_C(0) << age;

    return gap || a->progress[READ] >> k & 1 ? w->shape.planes : k;
}

/* Take one step of a lookup, note what it reads, and prefetch the next. The bits of an old slice do
 * not change until the generation ends, and neither do notes of them. */
static inline void prefetch_next(const weir_filter *w, struct arrival *a)
{
    uint64_t age = a->progress[AGE];

    if (age >= w->shape.planes)
        return;
    struct cells all = all_bits(w);
    bool hit = bit_get(&all, a->progress[POSITION]);

    a->progress[READ] |= UINT64_C(1) << age;
    a->progress[SET] |= (uint64_t)hit << age;
    age = next_age(w, age, hit);
    a->progress[AGE] = age = age < w->config.k ? age_above(w, a, age) : age;
    if (age < w->shape.planes)
        a->progress[POSITION] = prefetch_age(w, a->key, age);
}

/* Does a mask have k adjacent bits set? */
static inline bool has_run(uint64_t mask, uint64_t k)
{
    uint64_t long_enough = 1;

    for (; 2 * long_enough <= k; long_enough *= 2)
        mask &= mask >> long_enough;
    return mask & mask >> (k - long_enough);
}

/* Search for k adjacent slices with the bit. Start where the oldest such run would begin, and go
 * up. At the first gap jump back by k, because no run can cross the gap. `above` counts the hits
 * directly above the current stretch. */
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

/* Decide from the notes if they suffice, otherwise read the slices. */
static bool probe(const weir_filter *w, const struct arrival *a)
{
    uint64_t k = w->config.k, set, unread;

    if (a->progress[YOUNG] != w->reg[YOUNGEST] || a->progress[READ] == 0)
        return walk(w, a);
    set = a->progress[SET] | young_bits(w, a);
    unread = ~a->progress[READ] & UINT64_MAX << k & UINT64_MAX >> (MASK_BITS - w->shape.planes);
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

/* The position of the key's bit in a young slice: from prefetch(), unless a generation has ended
 * since. */
static inline uint64_t find_young(const weir_filter *w, const struct arrival *a, uint64_t age)
{
    return a->progress[YOUNG] == w->reg[YOUNGEST] ? a->at[age] : find_bit(w, a->key, age);
}

static inline bool is_young(const weir_filter *w, const struct arrival *a)
{
    struct cells all = all_bits(w);
    bool there = true;

    for (uint64_t age = 0; age < w->config.k; age++)
        there &= bit_get(&all, find_young(w, a, age));
    return there;
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
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

#define ROUNDS 6 /* one of nine new keys reads more old slices; 5 to 10 perform alike */
#define QUERY_ROUNDS ROUNDS
#include "filter/loops.h"

const struct filter_ops filter_apbf = {
    .is.about =
        {"apbf",
         "age-partitioned Bloom filter: a window of the latest keys, evicted in small steps",
         WEIR_CAN_OBSERVE | WEIR_CAN_WINDOW | WEIR_CAN_RUN_FOREVER},
    .is.parameters = HAS_ALWAYS | HAS(PARAMETER_FPR) | HAS(PARAMETER_K) | HAS(PARAMETER_WINDOW) |
                     HAS(PARAMETER_SLICES),
    .check = check,
    FILTER_FUNCTIONS,
};
