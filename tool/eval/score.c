/* score.c - count errors. See entrants.h. */
#include "eval/entrants.h"

#include <math.h>

void score_count(struct score *s, const struct weir_key *key, const uint8_t *truth,
                 const uint8_t *answer, size_t n)
{
    uint64_t old = 0, positives = 0, negatives = 0;
    uint64_t weight = 0, old_weight = 0, positive_weight = 0, negative_weight = 0;

    for (size_t i = 0; i < n; i++) { /* branch-free: verdicts are unpredictable */
        uint64_t t = truth[i], wrong = t ^ answer[i], w = key[i].importance;
        uint64_t fp = wrong & ~t, fn = wrong & t;

        old += t;
        positives += fp;
        negatives += fn;
        weight += w;
        old_weight += w * t;
        positive_weight += w * fp;
        negative_weight += w * fn;
    }
    s->n[NEW] += n - old;
    s->n[OLD] += old;
    s->wrong[NEW] += positives;
    s->wrong[OLD] += negatives;
    s->weight[NEW] += weight - old_weight;
    s->weight[OLD] += old_weight;
    s->wrong_weight[NEW] += positive_weight;
    s->wrong_weight[OLD] += negative_weight;
}

/* ---- classes of importance: ten leading bits ---- */

static uint32_t class_of(uint32_t importance)
{
    uint32_t top = importance < 1024 ? 0 : 31 - (uint32_t)__builtin_clz(importance);

    return top == 0 ? importance : 1024 + (top - 10) * 512 + (importance >> (top - 9)) - 512;
}

uint64_t class_low(uint32_t class)
{
    uint32_t above = class - 1024;

    return class < 1024 ? class : (uint64_t)(512 + above % 512) << (above / 512 + 1);
}

void score_count_classes(struct score class[CLASSES], const struct weir_key *key,
                         const uint8_t *truth, const uint8_t *answer, size_t n)
{
    for (size_t i = 0; i < n; i++)
        score_count(&class[class_of(key[i].importance)], key + i, truth + i, answer + i, 1);
}

/* ---- sums ---- */

void score_add(struct score *to, const struct score *s)
{
    for (int t = NEW; t <= OLD; t++) {
        to->n[t] += s->n[t];
        to->wrong[t] += s->wrong[t];
        to->weight[t] += s->weight[t];
        to->wrong_weight[t] += s->wrong_weight[t];
    }
}

struct score score_less(const struct score *a, const struct score *b)
{
    struct score d = *a;

    for (int t = NEW; t <= OLD; t++) {
        d.n[t] -= b->n[t];
        d.wrong[t] -= b->wrong[t];
        d.weight[t] -= b->weight[t];
        d.wrong_weight[t] -= b->wrong_weight[t];
    }
    return d;
}

/* ---- rates ---- */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

double score_rate(const struct score *s, int truly)
{
    return share(s->wrong[truly], s->n[truly]);
}

double score_weighted(const struct score *s, int truly)
{
    return share(s->wrong_weight[truly], s->weight[truly]);
}

double score_weighted_all(const struct score *s, int truly)
{
    return share(s->wrong_weight[truly], s->weight[NEW] + s->weight[OLD]);
}
