/* stream.c - see stream.h.
 *
 * Uniform: draws with replacement from U keys, U solved from
 * U (1 - exp(-n/U)) = D n, so that a share D of the arrivals is distinct.
 * Zipf: key r with probability proportional to r^-alpha, drawn by rejection
 * from the inverse of the integral (Hoermann and Derflinger, 1996), which needs
 * no table. */
#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "units.h"

__extension__ typedef unsigned __int128 u128;

#define KEY_LEAST 16
#define KEY_MOST 65536

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

/* ---- the specification ---- */

static bool read_range(const char *word, struct stream *s)
{
    char low[24];
    const char *dash = strchr(word, '-');
    uint64_t lo, hi;

    if (!dash || (size_t)(dash - word) >= sizeof low)
        return false;
    memcpy(low, word, (size_t)(dash - word));
    low[dash - word] = '\0';
    if (!read_whole(low, &lo) || !read_whole(dash + 1, &hi) || lo > hi || hi > UINT32_MAX)
        return false;
    s->important = true;
    s->lo = (uint32_t)lo;
    s->hi = (uint32_t)hi;
    return true;
}

static bool read_bias(const char *word, enum bias *out)
{
    *out = strcmp(word, "direct") == 0    ? BIAS_DIRECT
           : strcmp(word, "inverse") == 0 ? BIAS_INVERSE
                                          : BIAS_NONE;
    return *out != BIAS_NONE || strcmp(word, "none") == 0;
}

static bool read_value(struct stream *s, const char *name, const char *value, const char **takes)
{
    bool count = strcmp(name, "n") == 0 || strcmp(name, "universe") == 0;

    *takes = count ? "a count from 1: 500, 10k, 1M" : "a share: 0.3 or 30%";
    if (count) {
        uint64_t *to = *name == 'n' ? &s->n : &s->universe;
        return read_count(value, to) && *to > 0;
    }
    if (strcmp(name, "distinct") == 0)
        return read_rate(value, &s->distinct) && s->distinct > 0;
    if (strcmp(name, "fresh") == 0)
        return read_rate(value, &s->fresh);
    if (strcmp(name, "alpha") == 0) {
        *takes = "a number above 0: 1.1";
        return s->zipf && read_real(value, &s->alpha) && s->alpha > 0 && s->alpha <= 20;
    }
    if (strcmp(name, "length") == 0) {
        *takes = "a number of bytes from 16 to 65536";
        return read_whole(value, &s->length) && s->length >= KEY_LEAST && s->length <= KEY_MOST;
    }
    if (strcmp(name, "seed") == 0) {
        *takes = "a whole number below 2^64";
        return read_whole(value, &s->seed);
    }
    if (strcmp(name, "importance") == 0) {
        *takes = "a range: 1-50";
        return read_range(value, s);
    }
    if (strcmp(name, "bias") == 0) {
        *takes = "direct, inverse or none";
        return read_bias(value, &s->bias);
    }
    *takes = NULL;
    return false;
}

static bool read_word(struct stream *s, char *word)
{
    const char *takes;
    char *value = strchr(word, '=');

    if (!value)
        return fail("'%s' is not of the form name=value, such as n=1M", word) == 0;
    *value++ = '\0';
    if (read_value(s, word, value, &takes))
        return true;
    if (!takes)
        return fail("a stream has no '%s'; it has n, distinct, universe, alpha (zipf only), fresh, "
                    "importance, bias, length, seed",
                    word) == 0;
    return fail("%s=%s does not fit: it takes %s%s", word, value, takes,
                strcmp(word, "alpha") == 0 && !s->zipf ? ", with zipf" : "") == 0;
}

/* ---- how many keys to draw from ---- */

/* x with (1 - exp(-x)) / x = share, by halves. */
static double solve(double share)
{
    double lo = 1e-12, hi = 1 / share + 1;

    for (int i = 0; i < 200; i++) {
        double x = (lo + hi) / 2;

        if (-expm1(-x) / x > share)
            lo = x;
        else
            hi = x;
    }
    return hi;
}

static void choose_universe(struct stream *s)
{
    double drawn = (double)s->n * (1 - s->fresh);

    if (s->universe || s->zipf)
        s->universe = s->universe ? s->universe : s->n;
    else if (s->distinct < 1)
        s->universe = (uint64_t)(drawn / solve(s->distinct)) + 1;
}

/* ---- zipf ---- */

static double integral(const struct stream *s, double x)
{
    double e = 1 - s->alpha, l = log(x);

    return fabs(e * l) > 1e-8 ? expm1(e * l) / e : l;
}

static double inverse(const struct stream *s, double y)
{
    double e = 1 - s->alpha, t = e * y;

    if (t < -1)
        t = -1;
    return exp(fabs(t) > 1e-8 ? log1p(t) / e : y);
}

static uint64_t draw_zipf(struct stream *s)
{
    for (;;) {
        double u = s->h_last + draw_share(s) * (s->h_first - s->h_last);
        double x = inverse(s, u), k = floor(x + 0.5);

        k = k < 1 ? 1 : k > (double)s->universe ? (double)s->universe : k;
        if (k - x <= s->squeeze || u >= integral(s, k + 0.5) - pow(k, -s->alpha))
            return (uint64_t)k;
    }
}

static void open_zipf(struct stream *s)
{
    s->h_first = integral(s, 1.5) - 1;
    s->h_last = integral(s, (double)s->universe + 0.5);
    s->squeeze = 2 - inverse(s, integral(s, 2.5) - pow(2, -s->alpha));
}

/* ---- the stream ---- */

bool stream_open(struct stream *s, const char *specification)
{
    char *copy = strdup(specification), *rest = copy, *kind = strsep(&rest, ":");
    bool ok = copy != NULL;

    *s = (struct stream){.n = 1000000, .distinct = 0.6, .alpha = 1, .length = 19};
    s->zipf = kind && strcmp(kind, "zipf") == 0;
    if (ok && !s->zipf && strcmp(kind, "uniform") != 0)
        ok = fail("there is no stream '%s'; there are uniform and zipf, as in "
                  "uniform:n=1M,distinct=60%%",
                  kind) == 0;
    for (char *word; ok && rest && (word = strsep(&rest, ","));)
        ok = read_word(s, word);
    free(copy);
    if (ok && s->bias != BIAS_NONE && !(s->zipf && s->important))
        ok =
            fail("bias= needs zipf and importance=: it ties importance to how often a key comes") ==
            0;
    if (!ok)
        return false;
    choose_universe(s);
    s->rng = mix(s->seed + 1);
    s->next_fresh = s->universe;
    if (s->zipf)
        open_zipf(s);
    return true;
}

static uint32_t importance_of(const struct stream *s, uint64_t id)
{
    uint64_t span = s->hi - s->lo;
    double rank = id > s->universe ? 1 : (double)(id - 1) / (double)s->universe;

    if (s->bias == BIAS_NONE)
        return s->lo + (uint32_t)(mix(id * UINT64_C(0xd1342543de82ef95) ^ s->seed) % (span + 1));
    if (s->bias == BIAS_INVERSE)
        rank = 1 - rank;
    return s->hi - (uint32_t)((double)span * rank + 0.5);
}

struct arrival stream_next(struct stream *s)
{
    struct arrival a;

    if (s->universe == 0 || (s->fresh > 0 && draw_share(s) < s->fresh))
        a.id = ++s->next_fresh;
    else if (s->zipf)
        a.id = draw_zipf(s);
    else
        a.id = 1 + draw_below(&s->rng, s->universe);
    a.importance = s->important ? importance_of(s, a.id) : 0;
    return a;
}

void stream_key(const struct stream *s, uint64_t id, char *text)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t word = mix(id ^ mix(s->seed + 2));

    for (uint64_t i = 0; i < s->length; i++) {
        if (i > 0 && i % 16 == 0)
            word = mix(word + i);
        text[i] = digits[word >> (60 - 4 * (i % 16)) & 15];
    }
}
