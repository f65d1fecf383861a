/* theory/sets.c - Bloom, fuse, cuckoo and dabf. See sets.h. */
#include "theory/sets.h"

#include <math.h>

#define K_MAX 32
#define POINTS 512     /* of Simpson's rule; even */
#define DABF_STEP 1.02 /* growth of the time step; chosen */

/* ---- Bloom ---- */

double bloom_error_at(double fill, uint64_t k)
{
    return pow(fill, (double)k);
}

double bloom_error(double cells, double keys, uint64_t k)
{
    return bloom_error_at(-expm1(-(double)k * keys / cells), k);
}

uint64_t bloom_best_k(double cells, double keys)
{
    double best = cells / keys * M_LN2;
    uint64_t k = best < 1 ? 1 : best > K_MAX ? K_MAX : (uint64_t)best;

    if (k < K_MAX && bloom_error(cells, keys, k + 1) < bloom_error(cells, keys, k))
        k++;
    return k;
}

uint64_t bloom_k_below(uint64_t cells, uint64_t keys)
{
    double k = (double)cells / (double)keys * M_LN2;

    return k < 1 ? 1 : k > K_MAX ? K_MAX : (uint64_t)k;
}

double bloom_load(double error, uint64_t k)
{
    double root = log(error) / (double)k; /* the log of error^(1/k) keeps precision near 1 */

    return -(root < -M_LN2 ? log1p(-exp(root)) : log(-expm1(root))) / (double)k;
}

uint64_t bloom_best_k_for(double error)
{
    uint64_t k = 1;

    while (k < K_MAX && bloom_load(error, k + 1) > bloom_load(error, k))
        k++;
    return k;
}

/* The mean error while the filter fills from 1 to `keys` keys (Simpson's rule). */
static double mean_error(double cells, double keys, uint64_t k)
{
    double sum = bloom_error(cells, keys, k);

    for (int i = 1; i < POINTS; i++)
        sum += (i % 2 ? 4 : 2) * bloom_error(cells, keys * i / POINTS, k);
    return sum / (3 * POINTS);
}

void bloom_predict(double cells, uint64_t k, const struct stream_model *m, struct prediction *p)
{
    double keys = model_distinct(m, m->n);

    p->fpr = isinf(keys) ? 1 : mean_error(cells, keys, k);
    p->fnr = keys < m->n * (1 - 1e-9) ? 0 : NAN;
    p->error = bloom_error(cells, keys, k);
    p->fill = -expm1(-(double)k * keys / cells);
    p->paper = p->error;
    p->gap_missed = 0;
}

/* ---- fuse and cuckoo ---- */

double fuse_error(uint64_t bits)
{
    return ldexp(1, -(int)bits);
}

bool fuse_predict(uint64_t bits, double capacity, double places, const struct stream_model *m,
                  struct prediction *p)
{
    double keys = model_distinct(m, m->n);

    if (!(keys <= capacity * (1 + 1e-9)))
        return false;
    p->fpr = p->error = p->paper = fuse_error(bits);
    p->fnr = keys < m->n * (1 - 1e-9) ? 0 : NAN;
    p->fill = keys / places;
    return true;
}

double cuckoo_error(uint64_t bits, double load)
{
    return -expm1(8 * load * log1p(-1 / (ldexp(1, (int)bits) - 1)));
}

bool cuckoo_predict(uint64_t bits, double capacity, double slots, const struct stream_model *m,
                    struct prediction *p)
{
    double load = m->n / slots;

    if (!(m->n <= capacity * (1 + 1e-9)))
        return false;
    p->fpr = cuckoo_error(bits, load / 2); /* error(load) is nearly linear, so this is its mean */
    p->error = p->paper = cuckoo_error(bits, load);
    p->fnr = model_distinct(m, m->n) < m->n * (1 - 1e-9) ? 0 : NAN;
    p->fill = load;
    return true;
}

/* ---- dabf ---- */

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

double dabf_min_false_known(double cells, uint64_t k, uint64_t d)
{
    double sum = 0, empty = (double)k * log1p(-1 / cells); /* log P(a bit stays empty) per key */

    for (uint64_t i = 1; i <= d; i++)
        sum += pow(-expm1((double)i * empty), (double)k);
    return sum;
}

double dabf_false_bound(struct dabf_filter asked, double cells, uint64_t k, uint64_t d)
{
    double known = pow(-expm1((double)asked.k * log1p(-1 / asked.cells)), (double)asked.k);

    return bloom_error(cells, (double)d * (1 - known), k);
}

double dabf_min_calls(double cells, uint64_t k, double d)
{
    double least = d * (1 - pow((double)k * d / cells, (double)k));

    return least > 0 ? least : 0;
}

/* The state of both filters at a point of the stream, and the errors so far. */
struct dabf_run {
    const struct stream_model *m;
    double members; /* share of the keys */
    struct dabf_filter asked, known_members;
    double calls;
    double missed;                  /* arrivals of members that were reported as non-members */
    double false_members;           /* arrivals of non-members that were reported as members */
    double false_known[MODEL_BINS]; /* probability that a key was a false positive of `asked` when
                                       it first arrived */
};

/* Advance by the arrivals from t to t + width. */
static void step(struct dabf_run *r, double t, double width)
{
    double at = t + width / 2, new_share = model_new(r->m, at);
    double known = bloom_error(r->asked.cells, model_distinct(r->m, at), r->asked.k);
    double member = dabf_false_again(r->known_members), false_known = r->m->fresh * known;

    for (uint32_t i = 0; i < r->m->bins; i++) {
        double rate = r->m->bin[i].rate, first = exp(-rate * at);

        false_known += r->m->bin[i].keys * rate * (r->false_known[i] + first * known);
        r->false_known[i] += exp(-rate * t) * -expm1(-rate * width) * known;
    }
    r->missed += width * r->members * false_known * (1 - member);
    r->false_members += width * (1 - r->members) * member * (1 - new_share + new_share * known);
    r->calls += width * new_share * (1 - known);
    r->known_members.keys = r->calls * r->members;
}

void dabf_predict(double cells[2], uint64_t k[2], const struct stream_model *m, double members,
                  struct dabf_prediction *p)
{
    struct dabf_run r = {.m = m,
                         .members = members,
                         .asked = {cells[0], k[0], 0},
                         .known_members = {cells[1], k[1], 0}};
    double member_arrivals = members * m->n, distinct = model_distinct(m, m->n);

    for (double t = 0, next = 1; t < m->n; t = next, next = fmin(m->n, next * DABF_STEP))
        step(&r, t, next - t);
    r.asked.keys = distinct;
    p->calls = r.calls;
    p->calls_least = dabf_min_calls(cells[0], k[0], distinct);
    p->fnr = members > 0 ? r.missed / member_arrivals : NAN;
    p->fpr = members < 1 ? r.false_members / (m->n - member_arrivals) : NAN;
    p->recall = 1 - p->fnr;
    p->precision = (member_arrivals - r.missed) / (member_arrivals - r.missed + r.false_members);
    p->first_missed = dabf_missed(r.asked, r.known_members);
    p->first_false = dabf_false(r.asked, r.known_members);
    p->again_false = dabf_false_again(r.known_members);
    p->known_least = dabf_min_false_known(cells[0], k[0], (uint64_t)(members * distinct));
    p->again_false_most = dabf_false_bound(r.asked, cells[1], k[1], (uint64_t)(members * distinct));
}

/* ---- bounds ---- */

#define E 2.718281828459045

/* The Kullback-Leibler divergence between the answers for members (seen with probability 1 - d) and
 * those for non-members (seen with probability e). */
static double bits_per_key(double e, double d)
{
    return (1 - d) * log2((1 - d) / e) + (d > 0 ? d * log2(d / (1 - e)) : 0);
}

/* The bound falls from log2(1/e) at d = 0 to 0 at d = 1 - e: bisect. */
double bound_fnr(double bits, double keys, double error)
{
    double lo = 0, hi = 1 - error;

    if (!(error > 0) || error >= 1)
        return NAN;
    if (bits / keys >= bits_per_key(error, 0))
        return 0;
    for (int i = 0; i < 100; i++) {
        double d = (lo + hi) / 2;

        if (bits_per_key(error, d) > bits / keys)
            lo = d;
        else
            hi = d;
    }
    return hi;
}

static double is_longer(void *context, double gap)
{
    return gap > *(const double *)context;
}

double bound_lru_fnr(const struct stream_model *m, double keys)
{
    double age = model_age(m, keys);

    return model_missed(m, is_longer, &age);
}

double count_min_width(double error)
{
    return ceil(E / error);
}

double count_min_depth(double confidence)
{
    double depth = ceil(-log1p(-confidence) - 1e-9);

    return depth < 1 ? 1 : depth;
}

double count_min_error(uint64_t width, uint64_t total)
{
    return ceil(E / (double)width * (double)total);
}

double count_min_confidence(uint64_t independent_rows)
{
    return -expm1(-(double)independent_rows);
}
