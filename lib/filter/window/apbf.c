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
 * possible bits per remembered key. */
#include <string.h>

#include "filter/filter.h"
#include "theory/window.h"

#define FPR_DEFAULT 0.01
#define YOUNGEST 0 /* register: index of the youngest slice */
#define TAKEN 1    /* register: keys in this generation */

static inline uint64_t generation(const struct config *c)
{
    return (c->window + c->slices - 1) / c->slices;
}

/* k and l, whichever are left to us; false if none keeps the error. */
static bool choose_slices(struct config *c, double fpr)
{
    if (config_has(c, KNOB_K) && config_has(c, KNOB_SLICES))
        return true;
    if (config_has(c, KNOB_K))
        c->slices = apbf_most_slices(fpr, c->k, SLICES_MAX - K_MAX);
    else if (config_has(c, KNOB_SLICES))
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
    double fpr = config_has(c, KNOB_FPR) ? c->fpr : FPR_DEFAULT;

    if (!choose_slices(c, fpr) && config_has(c, KNOB_FPR))
        return config_refuse_fpr(c, apbf_error_half_full(c->k, c->slices),
                                 "leave k and slices out, or allow more", error);
    if (config_has(c, KNOB_WINDOW) && !config_has(c, KNOB_MEMORY))
        size_memory(c);
    shape_planes(s, c, (uint32_t)(c->k + c->slices), 1);
    uint64_t most = config_at_most(apbf_generation((double)s->cells, c->k), COUNT_MAX / c->slices);
    if (!config_has(c, KNOB_WINDOW))
        c->window = (most ? most : 1) * c->slices;
    double reached = apbf_error((double)s->cells, (double)generation(c), c->k, c->slices);
    if (!config_keeps_fpr(c, reached))
        return config_refuse_fpr(c, reached, "give it more memory or a smaller window", error);
    if (!config_window_fits(c, reached, error))
        return false;
    s->lines = (uint32_t)(c->k + 2 * (c->slices / c->k));
    s->registers = 2;
    return true;
}

/* The slice of an age, 0 the youngest; the i-th slice keeps hash function i. */
static inline uint32_t slice_of_age(const weir *w, uint64_t age)
{
    uint64_t i = w->reg[YOUNGEST] + age;

    return (uint32_t)(i < w->shape.planes ? i : i - w->shape.planes);
}

static inline bool has_bit(const weir *w, struct weir_key key, uint64_t age)
{
    uint32_t i = slice_of_age(w, age);
    struct cells bits = plane(w, i);

    return bit_get(&bits, place(key, i, bits.n));
}

static double error_now(const weir *w)
{
    double fill[SLICES_MAX];

    for (uint32_t age = 0; age < w->shape.planes; age++) {
        struct cells bits = plane(w, slice_of_age(w, age));

        fill[age] = cells_fill(&bits);
    }
    return apbf_error_at(fill, w->config.k, w->config.slices);
}

static inline void touch_age(const weir *w, struct weir_key key, uint64_t age)
{
    uint32_t i = slice_of_age(w, age);
    struct cells bits = plane(w, i);

    bit_touch(&bits, place(key, i, bits.n));
}

/* The slices an insertion sets; and where a probe begins and jumps to, two each:
 * half of the bits are set, so it goes on by one on average. */
static inline void touch(const weir *w, struct arrival *a)
{
    uint64_t k = w->config.k;

    for (uint64_t age = 0; age < k; age++)
        touch_age(w, a->key, age);
    for (uint64_t age = w->config.slices; age >= k; age -= k) {
        touch_age(w, a->key, age);
        touch_age(w, a->key, age + 1 < w->shape.planes ? age + 1 : age);
    }
}

/* Look for k neighbours with the bit. Start where the oldest such run would
 * begin and walk up; at the first gap jump k back: a run that crosses the gap
 * cannot be. `above` counts the hits just above the present stretch. */
static bool probe(const weir *w, const struct arrival *a)
{
    uint64_t k = w->config.k, age = w->config.slices, above = 0, here = 0;

    for (;;) {
        if (has_bit(w, a->key, age)) {
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

static void age_by_one(weir *w)
{
    w->reg[YOUNGEST] = slice_of_age(w, w->shape.planes - 1);
    w->reg[TAKEN] = 0;
    struct cells bits = plane(w, w->reg[YOUNGEST]);
    memset(bits.bytes, 0, w->stride);
}

static inline void admit(weir *w, const struct arrival *a, bool seen)
{
    bool there = true;

    (void)seen;
    for (uint32_t age = 0; age < w->config.k; age++)
        there &= has_bit(w, a->key, age);
    if (there)
        return;
    if (w->reg[TAKEN] == generation(&w->config))
        age_by_one(w);
    for (uint32_t age = 0; age < w->config.k; age++) {
        uint32_t i = slice_of_age(w, age);
        struct cells bits = plane(w, i);

        bit_set(&bits, place(a->key, i, bits.n));
    }
    w->reg[TAKEN]++;
}

static bool check(const weir *w)
{
    return w->reg[YOUNGEST] < w->shape.planes && w->reg[TAKEN] <= generation(&w->config);
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    struct apbf f = {(double)s->cells, (double)generation(c), c->k, c->slices};

    apbf_predict(&f, m, p);
    return true;
}

#define NO_VICTIMS /* a whole slice is cleared at a time */
#include "filter/loops.h"

const struct filter_ops filter_apbf = {
    .is.about = {"apbf", "age-partitioned: a window of the latest keys, forgotten in small steps",
                 WEIR_CAN_LEARN | WEIR_CAN_WINDOW | WEIR_CAN_LAST},
    .is.knobs = HAS_ALWAYS | HAS(KNOB_FPR) | HAS(KNOB_K) | HAS(KNOB_WINDOW) | HAS(KNOB_SLICES),
    .plan = plan,
    .error = error_now,
    .predict = predict,
    .check = check,
    FILTER_LOOPS,
};
