/* recency.c - see recency.h.
 *
 * A list of the latest c keys holds a repeat if fewer than c others came since.
 * How many did is the number of keys whose last arrival is later than this one's:
 * a one at every last arrival, in a tree of partial sums (Mattson et al. 1970,
 * with Fenwick's tree). One pass serves every c. */
#include "eval/recency.h"

#include <math.h>
#include <stdlib.h>

struct memo {
    uint64_t lo, hi;
    uint32_t last; /* arrival, from 1 on; 0: empty */
};

struct work {
    struct memo *memo;
    uint64_t slots;
    uint32_t *sum; /* sum[i]: of the marks in (i - lowest bit of i, i] */
    uint64_t n;
};

static struct memo *find(struct work *w, struct weir_key key)
{
    uint64_t at = (key.lo ^ key.hi * UINT64_C(0x9e3779b97f4a7c15)) & (w->slots - 1);

    while (w->memo[at].last && (w->memo[at].lo != key.lo || w->memo[at].hi != key.hi))
        at = (at + 1) & (w->slots - 1);
    return &w->memo[at];
}

static void mark(struct work *w, uint64_t at, uint32_t by)
{
    for (; at <= w->n; at += at & -at)
        w->sum[at] += by;
}

static uint64_t marks_up_to(const struct work *w, uint64_t at)
{
    uint64_t sum = 0;

    for (; at > 0; at -= at & -at)
        sum += w->sum[at];
    return sum;
}

static void observe(struct recency *r, struct work *w, struct weir_key key, uint32_t arrival,
                    bool counts)
{
    struct memo *m = find(w, key);

    if (m->last) {
        r->within[r->distinct - marks_up_to(w, m->last) + 1] += counts;
        r->repeats += counts;
        mark(w, m->last, (uint32_t)-1);
    } else {
        *m = (struct memo){.lo = key.lo, .hi = key.hi};
        r->distinct++;
    }
    m->last = arrival;
    mark(w, arrival, 1);
}

bool recency_open(struct recency *r, const struct weir_key *key, uint64_t n, uint64_t from)
{
    struct work w = {.slots = 1024, .n = n};
    bool ok;

    while (w.slots < n + n / 2)
        w.slots *= 2;
    w.memo = calloc(w.slots, sizeof *w.memo);
    w.sum = calloc(n + 1, sizeof *w.sum);
    *r = (struct recency){.within = calloc(n + 2, sizeof *r->within)};
    ok = w.memo && w.sum && r->within;
    for (uint64_t i = 0; i < n && ok; i++)
        observe(r, &w, key[i], (uint32_t)i + 1, i >= from);
    for (uint64_t c = 1; c <= r->distinct && ok; c++)
        r->within[c] += r->within[c - 1];
    free(w.memo);
    free(w.sum);
    return ok;
}

void recency_close(struct recency *r)
{
    free(r->within);
    *r = (struct recency){0};
}

double recency_fnr(const struct recency *r, double keys)
{
    uint64_t c = keys < (double)r->distinct ? (uint64_t)keys : r->distinct;

    return r->repeats ? 1 - (double)r->within[c] / (double)r->repeats : NAN;
}
