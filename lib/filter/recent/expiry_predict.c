/* expiry_predict.c - predicts what a filter with ttl= remembers, by TTL and importance.
 *
 * The model is one line. It receives new keys at exponential intervals, with log-uniform TTLs. Its
 * slots contain expiry times, rounded to the expiry grid, and nothing else: no fingerprints, no
 * codes, no other lines. A new key enters at the depth of its importance class, takes the slot of
 * an expired key, or evicts the last one (expiry.h).
 *
 * The positions of a line depend on each other and on the phase of the grid, so there is no closed
 * form. The model is solved by simulation, with fixed random numbers. PROBES keys with the TTL in
 * question are each inserted into a line that has reached its steady state, and followed until they
 * are evicted or safe. The standard error is at most 0.5 / sqrt(PROBES), 0.6 points, and twice that
 * for a group of classes.
 *
 * Cost: some hundred to some thousand arrivals per probe. A line forgets its past in two of the
 * longest TTLs, or in WARM_UP arrivals per slot if all classes are about as frequent. */
#include "filter/recent/recent.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "theory/recent.h"

#define PROBES 8192
#define WARM_UP 32   /* in arrivals per slot: eight times the mean life at the front; chosen */
#define LOAD_MAX 100 /* times the rate that fits; more would take too long */
#define VALUES 65536 /* importances that are classified, to find the share of each class */

struct ttl_line {
    const struct config *c;
    struct rng random;
    uint32_t slots;
    double rate;                 /* arrivals per unit of the grid */
    double upto[LINE_SLOTS_MAX]; /* share of the keys that enter at a depth, or before it */
    double now;                  /* units */
    double end[LINE_SLOTS_MAX];  /* expiry time of each slot; not after now: it is empty */
};

/* Above 0, up to 1. */
static double uniform(struct rng *r)
{
    return ldexp((double)(rng_next(r) >> 11) + 1, -53);
}

/* ---- one line ---- */

/* When a key expires that arrives now: its TTL from now, rounded to the finest level of the grid at
 * which it is at most R steps ahead. */
static double expiry_of(const struct ttl_line *l, double ttl)
{
    double step = 1, end;

    for (;; step *= 2) {
        end = (l->now + ttl) / step;
        end = l->c->expire ? ceil(end) : floor(end);
        if (end - floor(l->now / step) <= l->c->ttl.residues)
            return end * step;
    }
}

/* Insert a key. Returns the slot that was taken. */
static uint32_t insert(struct ttl_line *l, uint32_t depth, double ttl)
{
    uint32_t from = depth;

    while (from < l->slots && l->end[from] > l->now)
        from++;
    if (from == l->slots) { /* no empty slot behind the depth */
        for (from = depth; from > 0 && l->end[from - 1] > l->now;)
            from--;
        from = from > 0 ? from - 1 : l->slots - 1;
    }
    for (uint32_t i = from; i > depth; i--)
        l->end[i] = l->end[i - 1];
    l->end[from < depth ? from : depth] = expiry_of(l, ttl);
    return from;
}

/* The next key arrives. Returns the slot that it took, and its depth. */
static uint32_t arrive(struct ttl_line *l, uint32_t *depth)
{
    const struct ttl *t = &l->c->ttl;
    const double ratio = (double)t->max / (double)t->min, at = uniform(&l->random);
    const double ttl = (double)t->min * pow(ratio, uniform(&l->random)) / (double)t->unit;

    for (*depth = 0; *depth + 1 < l->slots && l->upto[*depth] < at;)
        ++*depth;
    return insert(l, *depth, ttl);
}

/* The time at which the next key arrives. */
static void next_time(struct ttl_line *l)
{
    l->now -= log(uniform(&l->random)) / l->rate;
}

/* ---- one key ---- */

static void warm_up(struct ttl_line *l)
{
    const struct ttl *t = &l->c->ttl;
    const double longest = 2 * (double)t->max / (double)t->unit;
    uint32_t depth;

    memset(l->end, 0, sizeof l->end);
    l->now = uniform(&l->random) * ldexp(1, (int)t->levels); /* any phase of the grid */
    const double until = l->now + fmin(longest, WARM_UP * l->slots / l->rate);
    for (next_time(l); l->now < until; next_time(l))
        arrive(l, &depth);
    l->now = until;
}

/* Insert a key and follow it. Returns after how many units it is evicted; INFINITY if it is not
 * before `last`. */
static double follow(struct ttl_line *l, uint32_t depth, double ttl, double last)
{
    const double begin = l->now;
    uint32_t from = insert(l, depth, ttl), at = from < depth ? from : depth, other;

    for (next_time(l); l->now < begin + last; next_time(l)) {
        from = arrive(l, &other);
        if (from == at)
            return l->now - begin;
        at += other <= at && at < from;
    }
    return INFINITY;
}

static uint32_t live_keys(const struct ttl_line *l)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->slots; i++)
        n += l->end[i] > l->now;
    return n;
}

/* ---- all ---- */

/* The share of the keys that enter at each depth. */
static void find_shares(const struct config *c, struct model_range of, double *share)
{
    const uint32_t slots = (uint32_t)c->slots;
    struct sample sample = {.n = 0};

    if (of.high == 0) /* unknown: with percentile, any will do */
        of.high = ldexp(1, 32);
    for (; sample.n < SAMPLE_SIZE; sample.n++)
        sample.value[sample.n] =
            (uint32_t)(of.low + (of.high - of.low) * (sample.n + 0.5) / SAMPLE_SIZE);
    for (uint32_t i = 0; i < VALUES; i++) {
        uint32_t value = (uint32_t)(of.low + (of.high - of.low) * (i + 0.5) / VALUES);

        share[slots - importance_class(&c->importance, &sample, value, slots)] += 1.0 / VALUES;
    }
}

/* Keys per millisecond and line at which lines are rarely full, even at the end of the grid's
 * coarsest step. */
static double rate_that_fits(const struct config *c)
{
    const double min = (double)c->ttl.min, max = (double)c->ttl.max;
    const double mean = max > min ? (max - min) / log(max / min) : min;

    return slots_load((uint32_t)c->slots) / (c->expire ? 1.25 * mean : mean);
}

static void add(struct ttl_prediction *p, uint32_t i, double share, double half, double kept)
{
    p->share[i] += share;
    p->kept_half[i] += share * half;
    p->kept[i] += share * kept;
}

bool expiry_predict(const struct config *c, const struct shape *s, const struct ttl_load *load,
                    struct ttl_prediction *p)
{
    const double lines = (double)(s->cells / LINE_BYTES), unit = (double)c->ttl.unit;
    const double ttl = load->ttl / unit, last = c->expire ? ttl : ttl * 3 / 4;
    const double fits = rate_that_fits(c), rate = load->rate > 0 ? load->rate / 1000 / lines : fits;
    struct ttl_line l = {.c = c, .slots = (uint32_t)c->slots, .rate = rate * unit};
    double share[LINE_SLOTS_MAX] = {0}, live = 0;
    uint32_t depths = 0, number = 0;

    if (rate > LOAD_MAX * fits)
        return false;
    *p = (struct ttl_prediction){.rate = rate * lines * 1000};
    p->groups = c->importance.mode == IMPORTANCE_NONE ? 0 : TTL_GROUPS;
    find_shares(c, load->importance, share);
    for (uint32_t d = 0; d < l.slots; d++) {
        l.upto[d] = (d > 0 ? l.upto[d - 1] : 0) + share[d];
        depths += share[d] > 0;
    }
    for (uint32_t d = 0; d < l.slots; d++) {
        const uint32_t probes = share[d] > 0 ? PROBES / depths : 0;
        double half = 0, kept = 0;

        for (uint32_t i = 0; i < probes; i++, number++) {
            l.random = rng_at(PROBES, number);
            warm_up(&l);
            live += live_keys(&l);
            double evicted = follow(&l, d, ttl, last);
            half += evicted > ttl / 2;
            kept += evicted > last;
        }
        if (probes == 0)
            continue;
        add(p, 0, share[d], half / probes, kept / probes);
        add(p, 1 + (l.slots - 1 - d) * TTL_GROUPS / l.slots, share[d], half / probes,
            kept / probes);
    }
    for (uint32_t i = 0; i <= TTL_GROUPS; i++) { /* NAN if there are no such keys */
        p->kept_half[i] /= p->share[i];
        p->kept[i] /= p->share[i];
    }
    p->live = lines * live / number;
    p->fpr = live / number * slots_error((uint32_t)c->width, 1);
    return true;
}
