/* two_buffer.c - two Bloom filters in turn (Yoon 2010, "A2").
 *
 * New keys enter the active buffer. When it contains `window` keys, the older buffer is cleared
 * and becomes the active one. A key is seen if either buffer contains it. If only the older one
 * does, the key is inserted again, so that frequent keys stay. The last `window` distinct keys,
 * and so those of the last `window` records, are always seen. Two windows later a key is evicted.
 *
 * Both buffers use the same positions: they are the two bits of one 2-bit cell, which halves the
 * cache lines.
 *
 * Cost: k cache lines per key, and a sweep over all memory once per window. About twice the
 * minimum number of bits per remembered key. */
#include "filter/filter.h"
#include "theory/sets.h"
#include "theory/window.h"

#define FPR_DEFAULT 0.01
#define ACTIVE 0 /* register: the active buffer, 0 or 1 */
#define TAKEN 1  /* register: keys in it */

static uint64_t choose_k(const struct config *c, double fpr)
{
    if (config_has(c, PARAMETER_K))
        return c->k;
    if (config_has(c, PARAMETER_WINDOW) && config_has(c, PARAMETER_MEMORY))
        return bloom_best_k((double)(c->memory / 2), (double)c->window);
    return two_buffer_best_k(fpr);
}

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    double fpr = config_has(c, PARAMETER_FPR) ? c->fpr : FPR_DEFAULT;

    c->k = choose_k(c, fpr);
    if (config_has(c, PARAMETER_WINDOW) && !config_has(c, PARAMETER_MEMORY))
        c->memory = config_memory(256 + (double)c->window / two_buffer_window(1, fpr, c->k), 2);
    shape_planes(s, c, 1, 2);
    if (!config_has(c, PARAMETER_WINDOW))
        c->window = config_at_most(two_buffer_window((double)s->cells, fpr, c->k), COUNT_MAX);
    if (c->window == 0)
        c->window = 1;
    double reached = two_buffer_error((double)s->cells, (double)c->window, c->k);
    if (!config_keeps_fpr(c, reached))
        return config_refuse_fpr(c, reached, "give it more memory or a smaller window", error);
    if (!config_window_fits(c, reached, error))
        return false;
    s->lines = (uint32_t)c->k;
    s->registers = 2;
    return true;
}

/* The buffers that contain a key: bit 0 and bit 1. */
static inline uint32_t buffers_with(const weir_filter *w, const struct arrival *a)
{
    struct cells cells = plane(w, 0);
    uint32_t both = 3;

    for (uint32_t i = 0; i < w->config.k; i++)
        both &= cells_get(&cells, a->at[i]);
    return both;
}

static double error_now(const weir_filter *w)
{
    struct cells cells = plane(w, 0);
    double fill[2];

    cells_fill_bits(&cells, fill);
    return two_buffer_error_at(fill, w->config.k);
}

static inline void prefetch(const weir_filter *w, struct arrival *a)
{
    struct cells cells = plane(w, 0);

    for (uint32_t i = 0; i < w->config.k; i++)
        cells_prefetch(&cells, a->at[i] = place(a->key, i, cells.n));
}

static bool probe(const weir_filter *w, const struct arrival *a)
{
    return buffers_with(w, a) != 0;
}

static void take_turns(weir_filter *w)
{
    uint8_t keep = w->reg[ACTIVE] == 0 ? 0x55 : 0xaa; /* the lower bits, or the upper */

    for (uint64_t i = 0; i < w->stride; i++)
        w->cells[i] &= keep;
    w->reg[ACTIVE] ^= 1;
    w->reg[TAKEN] = 0;
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    struct cells cells = plane(w, 0);

    if (seen && buffers_with(w, a) >> w->reg[ACTIVE] & 1)
        return;
    if (w->reg[TAKEN] == w->config.window)
        take_turns(w);
    for (uint32_t i = 0; i < w->config.k; i++)
        cells_set(&cells, a->at[i], cells_get(&cells, a->at[i]) | 1u << w->reg[ACTIVE]);
    w->reg[TAKEN]++;
}

static bool check(const weir_filter *w)
{
    return w->reg[ACTIVE] <= 1 && w->reg[TAKEN] <= w->config.window;
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    struct two_buffer f = {(double)s->cells, (double)c->window, c->k};

    two_buffer_predict(&f, m, p);
    return true;
}

#define NO_VICTIMS /* a whole buffer is cleared at a time */
#include "filter/loops.h"

const struct filter_ops filter_two_buffer = {
    .is.about = {"two-buffer", "two Bloom filters in turn: a window of the latest keys",
                 WEIR_CAN_OBSERVE | WEIR_CAN_WINDOW | WEIR_CAN_RUN_FOREVER},
    .is.parameters = HAS_ALWAYS | HAS(PARAMETER_FPR) | HAS(PARAMETER_K) | HAS(PARAMETER_WINDOW),
    .check = check,
    FILTER_FUNCTIONS,
};
