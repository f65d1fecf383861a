/* theory/stream_model.c - see stream_model.h. */
#include "theory/stream_model.h"

#include <math.h>

#define SINGLE_RANKS 16 /* of zipf: ranks with a bin of their own */

/* ---- streams ---- */

void model_endless(struct stream_model *m, double n)
{
    *m = (struct stream_model){.n = n, .fresh = 1};
}

static void add_bin(struct stream_model *m, double keys, double rate)
{
    m->bin[m->bins++] = (struct model_bin){.keys = keys, .rate = rate};
}

void model_uniform(struct stream_model *m, double n, double keys, double fresh)
{
    *m = (struct stream_model){.n = n, .fresh = fresh};
    if (fresh < 1)
        add_bin(m, keys, (1 - fresh) / keys);
}

/* Sum of r^-alpha over ranks from..to, approximated by an integral. */
static double sum_of_ranks(double from, double to, double alpha)
{
    double e = 1 - alpha, a = log(from - 0.5), b = log(to + 0.5);

    if (from == to)
        return pow(from, -alpha);
    return fabs(e) * b > 1e-9 ? exp(e * a) * expm1(e * (b - a)) / e : b - a;
}

/* The last rank of a bin: one rank per bin first, then geometrically more. */
static double last_rank(uint32_t bin, double keys)
{
    double steps = MODEL_BINS - SINGLE_RANKS;

    if (bin < SINGLE_RANKS || keys <= MODEL_BINS)
        return bin + 1;
    return floor(SINGLE_RANKS * pow(keys / SINGLE_RANKS, (bin + 1 - SINGLE_RANKS) / steps) + 0.5);
}

void model_zipf(struct stream_model *m, double n, double keys, double alpha, double fresh)
{
    double sum = 0;

    *m = (struct stream_model){.n = n, .fresh = fresh};
    for (double from = 1; from <= keys && m->bins < MODEL_BINS;) {
        double to = fmax(fmin(last_rank(m->bins, keys), keys), from);
        double weight = sum_of_ranks(from, to, alpha);

        add_bin(m, to - from + 1, weight / (to - from + 1));
        sum += weight;
        from = to + 1;
    }
    for (uint32_t i = 0; i < m->bins; i++)
        m->bin[i].rate *= (1 - fresh) / sum;
}

void model_importance(struct stream_model *m, double low, double high)
{
    m->important = true;
    m->fresh_importance = (struct model_range){low, high};
    for (uint32_t i = 0; i < m->bins; i++)
        m->bin[i].importance = m->fresh_importance;
}

void model_by_importance(struct stream_model *m, double n, double keys, double fresh, double low,
                         double high, bool inverse)
{
    double sum = 0, each = keys / (high - low); /* keys of one importance */

    *m = (struct stream_model){.n = n, .fresh = fresh, .important = true};
    m->fresh_importance = (struct model_range){low, high};
    for (double from = low; from < high && m->bins < MODEL_BINS;) {
        double to = fmax(fmin(low - 1 + last_rank(m->bins, high - low), high - 1), from);
        double values = to - from + 1, weight = sum_of_ranks(from, to, inverse ? 1 : -1);

        add_bin(m, each * values, weight / values);
        m->bin[m->bins - 1].importance = (struct model_range){from, to + 1};
        sum += each * weight;
        from = to + 1;
    }
    for (uint32_t i = 0; i < m->bins; i++)
        m->bin[i].rate *= (1 - fresh) / sum;
}

/* Bins are in order of rank. Each receives the part of the range that its keys occupy. */
void model_bias(struct stream_model *m, double low, double high, bool inverse)
{
    double keys = 0, before = 0, end = inverse ? high : low,
           range = inverse ? low - high : high - low;

    m->important = true;
    m->fresh_importance =
        inverse ? (struct model_range){high - 1, high} : (struct model_range){low, low + 1};
    for (uint32_t i = 0; i < m->bins; i++)
        keys += m->bin[i].keys;
    for (uint32_t i = 0; i < m->bins; i++) {
        double first = end + range * (1 - before / keys);
        double last = end + range * (1 - (before + m->bin[i].keys) / keys);

        m->bin[i].importance = (struct model_range){fmin(first, last), fmax(first, last)};
        before += m->bin[i].keys;
    }
}

/* ---- distinct keys ---- */

/* exp(-x) and 1 - exp(-x), with shortcuts for very small and large x: the models' hot path. */
static double exp_minus(double x)
{
    return x > 50 ? 0 : x < 1e-4 ? 1 - x * (1 - x * (0.5 - x / 6)) : exp(-x);
}

static double one_minus_exp(double x)
{
    return x > 50 ? 1 : x < 1e-4 ? x * (1 - x * (0.5 - x / 6)) : -expm1(-x);
}

double model_distinct(const struct stream_model *m, double age)
{
    double d = m->fresh > 0 ? m->fresh * age : 0;

    for (uint32_t i = 0; i < m->bins; i++)
        d += m->bin[i].keys * one_minus_exp(m->bin[i].rate * age);
    return d;
}

double model_new(const struct stream_model *m, double age)
{
    double share = m->fresh;

    for (uint32_t i = 0; i < m->bins; i++)
        share += m->bin[i].keys * m->bin[i].rate * exp_minus(m->bin[i].rate * age);
    return share;
}

double model_age(const struct stream_model *m, double distinct)
{
    double age = distinct;

    if (model_distinct(m, 1e300) <= distinct)
        return INFINITY;
    for (int i = 0; i < 200; i++) { /* D is concave: Newton from below does not overshoot */
        double step = (distinct - model_distinct(m, age)) / model_new(m, age);

        age += step;
        if (!(fabs(step) > 1e-12 * age))
            break;
    }
    return age;
}

/* Repeats with a gap from a to b among all n arrivals; per arrival if the stream is unbounded. */
static double repeats(const struct stream_model *m, double a, double b)
{
    double at_a = model_new(m, a), at_b = model_new(m, b);

    if (isinf(m->n))
        return at_a - at_b;
    return (m->n - a) * at_a - (m->n - b) * at_b - (model_distinct(m, b) - model_distinct(m, a));
}

double model_missed(const struct stream_model *m, double (*miss)(void *context, double gap),
                    void *context)
{
    double all = 0, missed = 0, end = isinf(m->n) ? 1e18 : m->n;

    for (double a = 0, b = 1; a < end; a = b, b = fmin(b * MODEL_STEP, end)) {
        double count = repeats(m, a, b);

        all += count;
        missed += count * miss(context, (a + b) / 2);
    }
    return all > 0 ? missed / all : NAN;
}

/* ---- importance ---- */

/* The share of a range that lies within low..high. */
static double overlap(struct model_range r, double low, double high)
{
    if (r.high <= r.low)
        return r.low >= low && r.low < high;
    double width = fmin(r.high, high) - fmax(r.low, low);
    return width > 0 ? width / (r.high - r.low) : 0;
}

void model_part(const struct stream_model *m, double low, double high, struct stream_model *part)
{
    *part = *m;
    part->fresh *= overlap(m->fresh_importance, low, high);
    for (uint32_t i = 0; i < m->bins; i++)
        part->bin[i].keys *= overlap(m->bin[i].importance, low, high);
}

double model_below(const struct stream_model *m, double importance)
{
    double share = m->fresh * overlap(m->fresh_importance, -INFINITY, importance);

    for (uint32_t i = 0; i < m->bins; i++)
        share +=
            m->bin[i].keys * m->bin[i].rate * overlap(m->bin[i].importance, -INFINITY, importance);
    return share;
}

void prediction_clear(struct prediction *p)
{
    *p = (struct prediction){.fpr = NAN,
                             .fnr = NAN,
                             .fill = NAN,
                             .error = NAN,
                             .stable = NAN,
                             .paper = NAN,
                             .gap_missed = NAN};
}
