/* synthetic.c - see synthetic.h.
 *
 * Uniform: draws with replacement from U keys, U solved from
 * U (1 - exp(-n/U)) = D n, so that a share D of the arrivals is distinct.
 * Zipf: key r with probability proportional to r^-alpha, drawn by rejection
 * from the inverse of the integral (Hoermann and Derflinger, 1996), which needs
 * no table. */
#include "eval/synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

__extension__ typedef unsigned __int128 u128;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t draw(uint64_t *rng)
{
    return mix(*rng += UINT64_C(0x9e3779b97f4a7c15));
}

uint64_t draw_below(uint64_t *rng, uint64_t n)
{
    return (uint64_t)((u128)draw(rng) * n >> 64);
}

static double draw_share(struct stream *s)
{
    return (double)(draw(&s->rng) >> 11) * 0x1p-53;
}

/* ---- zipf ---- */

static double integral(const struct stream *s, double x)
{
    double e = 1 - s->spec.alpha, l = log(x);

    return fabs(e * l) > 1e-8 ? expm1(e * l) / e : l;
}

static double inverse(const struct stream *s, double y)
{
    double e = 1 - s->spec.alpha, t = e * y;

    if (t < -1)
        t = -1;
    return exp(fabs(t) > 1e-8 ? log1p(t) / e : y);
}

static uint64_t draw_zipf(struct stream *s)
{
    for (;;) {
        double u = s->h_last + draw_share(s) * (s->h_first - s->h_last);
        double x = inverse(s, u), k = floor(x + 0.5);

        k = k < 1 ? 1 : k > (double)s->spec.universe ? (double)s->spec.universe : k;
        if (k - x <= s->squeeze || u >= integral(s, k + 0.5) - pow(k, -s->spec.alpha))
            return (uint64_t)k;
    }
}

static void open_zipf(struct stream *s)
{
    s->h_first = integral(s, 1.5) - 1;
    s->h_last = integral(s, (double)s->spec.universe + 0.5);
    s->squeeze = 2 - inverse(s, integral(s, 2.5) - pow(2, -s->spec.alpha));
}

/* ---- the stream ---- */

bool stream_open(struct stream *s, const char *specification)
{
    struct weir_error error;

    *s = (struct stream){0};
    if (weir_stream_read(&s->spec, specification, &error) != WEIR_OK)
        return reject("%s", error.text);
    s->rng = mix(s->spec.seed + 1);
    s->next_fresh = s->spec.universe;
    if (s->spec.kind == WEIR_STREAM_ZIPF)
        open_zipf(s);
    return true;
}

static uint32_t importance_of(const struct stream *s, uint64_t id)
{
    uint64_t span = s->spec.hi - s->spec.lo;
    double rank = id > s->spec.universe ? 1 : (double)(id - 1) / (double)s->spec.universe;

    if (s->spec.bias == WEIR_BIAS_NONE)
        return s->spec.lo +
               (uint32_t)(mix(id * UINT64_C(0xd1342543de82ef95) ^ s->spec.seed) % (span + 1));
    if (s->spec.bias == WEIR_BIAS_INVERSE)
        rank = 1 - rank;
    return s->spec.hi - (uint32_t)((double)span * rank + 0.5);
}

struct arrival stream_next(struct stream *s)
{
    struct arrival a;

    if (s->spec.universe == 0 || (s->spec.fresh > 0 && draw_share(s) < s->spec.fresh))
        a.id = ++s->next_fresh;
    else if (s->spec.kind == WEIR_STREAM_ZIPF)
        a.id = draw_zipf(s);
    else
        a.id = 1 + draw_below(&s->rng, s->spec.universe);
    a.importance = s->spec.important ? importance_of(s, a.id) : 0;
    return a;
}

void stream_key(const struct stream *s, uint64_t id, char *text)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t word = mix(id ^ mix(s->spec.seed + 2));

    for (uint64_t i = 0; i < s->spec.length; i++) {
        if (i > 0 && i % 16 == 0)
            word = mix(word + i);
        text[i] = digits[word >> (60 - 4 * (i % 16)) & 15];
    }
}
