/* curve.c - see curve.h.
 *
 * Where the length of the stream is known, points are where they belong.
 * Where it is not, four times as many are kept; when there is no room for more,
 * every second goes and the distance doubles. At the end the nearest to where
 * points belong are taken. Either way they depend on the stream alone, not on
 * batches or threads.
 *
 * Reading the fill of a filter takes 10 ns per cell, up to four million of
 * them. Where points are many, most to be dropped again, it is read at such
 * distances only that it takes less than a microsecond per arrival. */
#include "eval/curve.h"

#include <math.h>
#include <stdlib.h>

#define SPARE 4
#define STEP_LEAST 16
#define CELLS_READ ((uint64_t)1 << 22)
#define CELLS_PER_ARRIVAL 64

bool curve_open(struct curve *c, uint32_t wanted)
{
    *c = (struct curve){.wanted = wanted, .room = SPARE * wanted + 1};
    if (wanted)
        c->point = calloc(c->room, sizeof *c->point);
    return !wanted || c->point;
}

void curve_close(struct curve *c)
{
    free(c->point);
}

void curve_begin(struct curve *c, uint64_t n)
{
    c->fixed = n > 0;
    c->points = 0; /* those of the order before are added to */
    c->step = n > c->wanted && c->wanted ? (n + c->wanted - 1) / c->wanted : 1;
    if (!c->fixed)
        c->step = STEP_LEAST;
}

uint64_t curve_left(const struct curve *c, uint64_t shown)
{
    return c->wanted ? c->step - shown % c->step : UINT64_MAX;
}

static void thin(struct curve *c)
{
    for (uint32_t i = 0; 2 * i + 1 < c->points; i++)
        c->point[i] = c->point[2 * i + 1];
    c->points /= 2;
    c->step *= 2;
}

/* A power of two, so that points with a fill are not those that are dropped. */
static uint64_t fill_distance(uint64_t cells)
{
    uint64_t distance = 1;

    while (2 * distance * CELLS_PER_ARRIVAL <= (cells < CELLS_READ ? cells : CELLS_READ))
        distance *= 2;
    return distance;
}

/* NaN where it is not worth its time. */
static double read_fill(const struct curve *c, const struct entrant *e)
{
    bool due = c->fixed || e->shown % fill_distance(8 * e->memory) == 0;

    return due ? weir_stats_of(e->filter.w[0]).fill : NAN;
}

void curve_mark(struct curve *c, const struct entrant *e)
{
    struct score now = score_less(&e->score, &e->before);
    struct point *p = &c->point[c->points++];

    if (!c->fixed)
        *p = (struct point){0};
    p->at = e->shown;
    p->fill += read_fill(c, e);
    score_add(&p->score, &now);
    if (!c->fixed && c->points == c->room - 1)
        thin(c);
}

/* The nearest to the i-th of those wanted; the last is the end itself. */
static uint32_t nearest_point(const struct curve *c, uint32_t i)
{
    uint64_t end = c->point[c->points - 1].at, to = end / c->wanted * (i + 1);
    uint32_t at = 0;

    if (i + 1 == c->wanted)
        return c->points - 1;
    while (at + 1 < c->points && c->point[at].at + c->step / 2 < to)
        at++;
    return at;
}

void curve_end(struct curve *c, const struct entrant *e)
{
    if (!c->wanted || e->shown == 0)
        return;
    if (c->points == 0 || c->point[c->points - 1].at != e->shown)
        curve_mark(c, e);
    if (!c->fixed) /* read at the end in any case */
        c->point[c->points - 1].fill = weir_stats_of(e->filter.w[0]).fill;
    if (c->fixed || c->points <= c->wanted)
        return;
    for (uint32_t i = 0; i < c->wanted; i++)
        c->point[i] = c->point[nearest_point(c, i)];
    c->points = c->wanted;
}
