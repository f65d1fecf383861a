/* synthetic.c - draw synthetic streams. See synthetic.h.
 *
 * Uniform: draws with replacement from U keys, U solved from
 * U (1 - exp(-n/U)) = D n, so that a share D of the arrivals is distinct.
 * Zipf: key r with probability proportional to r^-alpha, drawn by rejection
 * from the inverse of the integral (Hoermann and Derflinger, 1996), which needs
 * no table.
 * By importance: importances are assigned to keys in turn. One is drawn from the integral of x or
 * 1/x, corrected by rejection, then one of its keys.
 * Drift: a key keeps its rank for 1/share intervals. Ranks change in turn, so the same share of
 * them changes in each interval. */
#include "eval/synthetic.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

#define FRESH ((uint64_t)1 << 63) /* larger key numbers are fresh, if there is drift */

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

/* ---- by importance ---- */

/* From lo to hi, with probability proportional to the value, or to its inverse. */
static uint32_t draw_importance(struct stream *s)
{
    double lo = s->spec.lo, end = s->spec.hi + 1.0;
    bool direct = s->spec.bias == WEIR_BIAS_DIRECT;

    for (;;) {
        double u = draw_share(s);
        double x = direct ? sqrt(lo * lo + u * (end * end - lo * lo)) : lo * pow(end / lo, u);
        double i = fmin(fmax(floor(x), lo), end - 1);
        /* the acceptance rate relative to the largest */
        double keep = direct ? i / (i + 0.5) / ((end - 1) / (end - 0.5))
                             : lo * log1p(1 / lo) / (i * log1p(1 / i));

        if (draw_share(s) < keep)
            return (uint32_t)i;
    }
}

static uint64_t draw_by_importance(struct stream *s)
{
    uint64_t values = (uint64_t)s->spec.hi - s->spec.lo + 1;
    uint64_t turns = (s->spec.universe + values - 1) / values, rank;

    do
        rank = draw_importance(s) - s->spec.lo + draw_below(&s->rng, turns) * values + 1;
    while (rank > s->spec.universe); /* the last turn may be incomplete */
    return rank;
}

/* ---- drift ---- */

/* The current key of a rank. */
static uint64_t key_at(const struct stream *s, uint64_t rank)
{
    if (s->spec.drift == 0)
        return rank;
    double turn = (double)(mix(rank ^ mix(s->spec.seed + 3)) >> 11) * 0x1p-53;
    uint64_t changes = s->spec.drift_every ? s->shown / s->spec.drift_every : 0;

    return rank + s->spec.universe * (uint64_t)((double)changes * s->spec.drift + turn);
}

/* ---- the stream ---- */

bool stream_open(struct stream *s, const char *specification)
{
    struct weir_error error;

    *s = (struct stream){0};
    if (weir_stream_read(&s->spec, sizeof s->spec, specification, &error) != WEIR_OK)
        return reject("%s", error.text);
    s->rng = mix(s->spec.seed + 1);
    s->next_fresh = s->spec.drift > 0 ? FRESH : s->spec.universe;
    if (s->spec.kind == WEIR_STREAM_ZIPF)
        open_zipf(s);
    return true;
}

/* rank: 0 for a fresh key. */
static uint32_t importance_of(const struct stream *s, uint64_t id, uint64_t rank)
{
    uint64_t span = s->spec.hi - s->spec.lo;
    double way = rank == 0 ? 1 : (double)(rank - 1) / (double)s->spec.universe;

    if (s->spec.bias != WEIR_BIAS_NONE && s->spec.kind == WEIR_STREAM_UNIFORM)
        return s->spec.lo + (uint32_t)(((rank ? rank : id) - 1) % (span + 1));
    if (s->spec.bias == WEIR_BIAS_NONE)
        return s->spec.lo +
               (uint32_t)(mix(id * UINT64_C(0xd1342543de82ef95) ^ s->spec.seed) % (span + 1));
    if (s->spec.bias == WEIR_BIAS_INVERSE)
        way = 1 - way;
    return s->spec.hi - (uint32_t)((double)span * way + 0.5);
}

static uint64_t draw_rank(struct stream *s)
{
    if (s->spec.kind == WEIR_STREAM_ZIPF)
        return draw_zipf(s);
    if (s->spec.bias != WEIR_BIAS_NONE)
        return draw_by_importance(s);
    return 1 + draw_below(&s->rng, s->spec.universe);
}

struct synthetic_arrival stream_next(struct stream *s)
{
    bool fresh = s->spec.universe == 0 || (s->spec.fresh > 0 && draw_share(s) < s->spec.fresh);
    uint64_t rank = fresh ? 0 : draw_rank(s);
    struct synthetic_arrival a = {.id = fresh ? ++s->next_fresh : key_at(s, rank)};

    s->shown++;
    a.importance = s->spec.important ? importance_of(s, a.id, rank) : 0;
    return a;
}

#define DIGITS 16 /* of a word */
#define EVERY_BYTE UINT64_C(0x0101010101010101)

/* A hexadecimal digit. */
static char digit(uint64_t word, uint64_t i)
{
    return "0123456789abcdef"[word >> (60 - 4 * i) & 15];
}

/* Half a word in hexadecimal, eight digits at once, one byte each. */
static void write_half(uint64_t half, char *text)
{
    half = (half | half << 16) & UINT64_C(0x0000ffff0000ffff);
    half = (half | half << 8) & UINT64_C(0x00ff00ff00ff00ff);
    half = (half | half << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t letters = (half + 6 * EVERY_BYTE) >> 4 & EVERY_BYTE;
    uint64_t digits = half + '0' * EVERY_BYTE + letters * ('a' - '9' - 1);

    digits = htobe64(digits); /* most significant digit first */
    memcpy(text, &digits, sizeof digits);
}

void stream_key(const struct stream *s, uint64_t id, char *text)
{
    uint64_t word = mix(id ^ mix(s->spec.seed + 2)), at = 0;

    while (at + DIGITS <= s->spec.length) {
        write_half(word >> 32, text + at);
        write_half(word & UINT32_MAX, text + at + DIGITS / 2);
        at += DIGITS;
        word = mix(word + at);
    }
    for (uint64_t i = 0; at + i < s->spec.length; i++)
        text[at + i] = digit(word, i);
}
