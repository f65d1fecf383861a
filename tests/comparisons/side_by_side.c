/* side_by_side.c - see side_by_side.h. */
#include "comparisons/side_by_side.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- exact results ---- */

/* By key; equal keys in stream order. */
static int by_key(const void *a, const void *b)
{
    const struct record *x = *(struct record *const *)a, *y = *(struct record *const *)b;
    int order = x->size != y->size ? (x->size > y->size) - (x->size < y->size)
                                   : memcmp(x->key, y->key, x->size);

    return order ? order : (x > y) - (x < y);
}

static bool same_key(const struct record *a, const struct record *b)
{
    return a->size == b->size && memcmp(a->key, b->key, a->size) == 0;
}

static void mark_repeats(struct trace *t, struct record **sorted)
{
    qsort(sorted, t->n, sizeof *sorted, by_key);
    t->distinct = 0;
    for (size_t i = 0; i < t->n; i++) {
        sorted[i]->repeated = i > 0 && same_key(sorted[i - 1], sorted[i]);
        t->distinct += !sorted[i]->repeated;
    }
}

static int by_importance(const void *a, const void *b)
{
    const struct record *x = *(struct record *const *)a, *y = *(struct record *const *)b;

    return (x->importance > y->importance) - (x->importance < y->importance);
}

static void rank_importance(struct trace *t, struct record **sorted)
{
    qsort(sorted, t->n, sizeof *sorted, by_importance);
    t->least = sorted[0]->importance;
    t->top = sorted[t->n * 7 / 10]->importance;
}

void trace_complete(struct trace *t)
{
    struct record **sorted = malloc(t->n * sizeof *sorted);

    assert_non_null(sorted);
    for (size_t i = 0; i < t->n; i++)
        sorted[i] = &t->record[i];
    mark_repeats(t, sorted);
    rank_importance(t, sorted);
    free(sorted);
}

/* ---- scores ---- */

struct share {
    double wrong, all;
};

static void count(struct share *s, bool wrong, double weight)
{
    s->all += weight;
    s->wrong += wrong ? weight : 0;
}

struct score score_of(const struct trace *t, const char *spec)
{
    weir_filter *w = open_filter("%s", spec);
    struct share fresh = {0, 0}, repeated = {0, 0}, top = {0, 0}, weighted = {0, 0};

    for (size_t i = 0; i < t->n; i++) {
        const struct record *r = &t->record[i];
        struct weir_key key = weir_hash(w, r->key, r->size);

        key.importance = r->importance;
        bool seen = weir_observe(w, key) == WEIR_SEEN;
        if (!r->repeated) {
            count(&fresh, seen, 1);
            continue;
        }
        count(&repeated, !seen, 1);
        count(&weighted, !seen, r->importance);
        if (r->importance >= t->top)
            count(&top, !seen, 1);
    }
    struct score score = {fresh.wrong / fresh.all, repeated.wrong / repeated.all,
                          top.wrong / top.all,     weighted.wrong / weighted.all,
                          weir_stats_of(w).error,  (uint64_t)fresh.all};
    weir_close(w);
    return score;
}

/* ---- comparisons ---- */

static struct score score_as(const struct comparison *c, const char *filter)
{
    char spec[256];

    snprintf(spec, sizeof spec, "%s memory=%zu seed=%llu%s%s", filter, c->memory,
             (unsigned long long)c->seed, c->importance ? " importance=" : "",
             c->importance ? c->importance : "");
    return score_of(c->trace, spec);
}

static void show(const struct comparison *c)
{
    const char *wanted = getenv("WEIR_SHOW");
    static bool headed;

    if (!wanted || *wanted != '1')
        return;
    if (!headed)
        fprintf(stderr, "trace\tother\timportance\tmemory\tfpr\tfnr\ttop_fnr\twfnr\t"
                        "weir_fpr\tweir_fnr\tweir_top_fnr\tweir_wfnr\n");
    headed = true;
    fprintf(stderr, "%s\t%s\t%s\t%zu\t%.6f\t%.4f\t%.4f\t%.4f\t%.6f\t%.4f\t%.4f\t%.4f\n",
            c->trace->name, c->other, c->importance ? c->importance : "none", c->memory, c->its.fpr,
            c->its.fnr, c->its.top_fnr, c->its.weighted_fnr, c->ours.fpr, c->ours.fnr,
            c->ours.top_fnr, c->ours.weighted_fnr);
}

bool comparison_made(struct comparison *c)
{
    char recent[64];

    c->its = score_as(c, c->other);
    if (c->its.fpr <= 0 || c->its.fpr > c->most)
        return false;
    snprintf(recent, sizeof recent, "recent fpr=%.10f", c->its.fpr);
    c->ours = score_as(c, recent);
    show(c);
    return true;
}

bool stays_under(const struct comparison *c)
{
    double n = (double)c->ours.fresh, ceiling = c->its.fpr * n;

    return c->ours.fpr * n <= ceiling + 3 * sqrt(ceiling) && c->ours.error <= c->its.fpr;
}

void assert_important_kept(const struct comparison *c)
{
    if (!stays_under(c) || c->ours.top_fnr >= c->its.top_fnr ||
        c->ours.weighted_fnr >= c->its.weighted_fnr)
        fail_msg("%s, seed %llu, %s: fpr %.6f, top fnr %.4f, wfnr %.4f; weir %.6f, %.4f, %.4f",
                 c->trace->name, (unsigned long long)c->seed, c->other, c->its.fpr, c->its.top_fnr,
                 c->its.weighted_fnr, c->ours.fpr, c->ours.top_fnr, c->ours.weighted_fnr);
}
