/* theory/dabf.c - see dabf.h. */
#include "theory/dabf.h"

#include <math.h>

#include "theory/bloom.h"

#define DABF_STEP 1.02 /* from one time to the next; a guess */

double dabf_missed(struct dabf_filter asked, struct dabf_filter members)
{
    return bloom_error(asked.cells, asked.keys, asked.k) * (1 - dabf_false_again(members));
}

double dabf_false(struct dabf_filter asked, struct dabf_filter members)
{
    return bloom_error(asked.cells, asked.keys, asked.k) * dabf_false_again(members);
}

double dabf_false_again(struct dabf_filter members)
{
    return bloom_error(members.cells, members.keys, members.k);
}

double dabf_taken_for_known(double cells, uint64_t k, uint64_t d)
{
    double sum = 0, empty = (double)k * log1p(-1 / cells); /* of one more key, as a logarithm */

    for (uint64_t i = 1; i <= d; i++)
        sum += pow(-expm1((double)i * empty), (double)k);
    return sum;
}

double dabf_false_bound(struct dabf_filter asked, double cells, uint64_t k, uint64_t d)
{
    double known = pow(-expm1((double)asked.k * log1p(-1 / asked.cells)), (double)asked.k);

    return bloom_error(cells, (double)d * (1 - known), k);
}

double dabf_calls_least(double cells, uint64_t k, double d)
{
    double least = d * (1 - pow((double)k * d / cells, (double)k));

    return least > 0 ? least : 0;
}

/* ---- over a stream ---- */

/* The two filters as time goes on, and what has gone wrong so far. */
struct dabf_run {
    const struct stream_model *m;
    double members; /* share of the keys */
    struct dabf_filter asked, known_members;
    double calls, missed, said; /* missed: arrivals of members; said: others said to be some */
    double early[MODEL_BINS];   /* chance that a key came before and was taken for known then */
};

/* Arrivals from t on, a few: how many of them are of keys that beta took for known when they
 * came first, and how many are new. */
static void step(struct dabf_run *r, double t, double width)
{
    double at = t + width / 2, news = model_new(r->m, at);
    double known = bloom_error(r->asked.cells, model_distinct(r->m, at), r->asked.k);
    double member = dabf_false_again(r->known_members), mistaken = r->m->fresh * known;

    for (uint32_t i = 0; i < r->m->bins; i++) {
        double rate = r->m->bin[i].rate, first = exp(-rate * at);

        mistaken += r->m->bin[i].keys * rate * (r->early[i] + first * known);
        r->early[i] += exp(-rate * t) * -expm1(-rate * width) * known;
    }
    r->missed += width * r->members * mistaken * (1 - member);
    r->said += width * (1 - r->members) * member * (1 - news + news * known);
    r->calls += width * news * (1 - known);
    r->known_members.keys = r->calls * r->members;
}

void dabf_predict(double cells[2], uint64_t k[2], const struct stream_model *m, double members,
                  struct dabf_prediction *p)
{
    struct dabf_run r = {.m = m,
                         .members = members,
                         .asked = {cells[0], k[0], 0},
                         .known_members = {cells[1], k[1], 0}};
    double of_members = members * m->n, distinct = model_distinct(m, m->n);

    for (double t = 0, next = 1; t < m->n; t = next, next = fmin(m->n, next * DABF_STEP))
        step(&r, t, next - t);
    r.asked.keys = distinct;
    p->calls = r.calls;
    p->calls_least = dabf_calls_least(cells[0], k[0], distinct);
    p->fnr = members > 0 ? r.missed / of_members : NAN;
    p->fpr = members < 1 ? r.said / (m->n - of_members) : NAN;
    p->recall = 1 - p->fnr;
    p->precision = (of_members - r.missed) / (of_members - r.missed + r.said);
    p->first_missed = dabf_missed(r.asked, r.known_members);
    p->first_false = dabf_false(r.asked, r.known_members);
    p->again_false = dabf_false_again(r.known_members);
    p->known_least = dabf_taken_for_known(cells[0], k[0], (uint64_t)(members * distinct));
    p->again_false_most = dabf_false_bound(r.asked, cells[1], k[1], (uint64_t)(members * distinct));
}
