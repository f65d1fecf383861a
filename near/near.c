/* near.c - the ring of sketches, and the bands that find candidates in it.
 *
 * A band of equal hash in two sketches makes the older one a candidate, which is confirmed by
 * comparing signatures. A pair of Jaccard similarity J shares a band with the probability
 * 1 - (1 - J^rows)^NEAR_BANDS: with rows for a threshold of 0.8, 94 % at 0.8 and 99.1 % at 0.85.
 *
 * Memory per text: 64 bytes of signature, 8 of record number, 60 of bands. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "near/inside.h"

#define AT_THRESHOLD 0.205 /* threshold^rows is at least this: 7 rows at 0.8, chosen */
#define SAME_MAX 4         /* equal fingerprints in a line: boilerplate */
#define SPARE 5 / 4        /* lines hold a quarter more entries than texts need */
#define PER_TEXT (SIGNATURE * 8 + 8 + NEAR_BANDS * 4 * SPARE)

static uint32_t rows_for(double threshold)
{
    double rows = floor(log(AT_THRESHOLD) / log(threshold));

    return rows > NEAR_BINS / NEAR_BANDS ? NEAR_BINS / NEAR_BANDS : (uint32_t)rows;
}

static bool in_range(const struct near_options *o)
{
    return o->threshold >= NEAR_THRESHOLD_MIN && o->threshold <= NEAR_THRESHOLD_MAX &&
           o->shingle <= NEAR_SHINGLE_MAX && o->memory >= NEAR_MEMORY_MIN &&
           o->memory <= NEAR_MEMORY_MAX;
}

/* Memory is zero, and most of it is not touched before it is used. */
static bool allocate(struct near *n)
{
    n->signature = calloc(n->ring, SIGNATURE * sizeof *n->signature);
    n->record = calloc(n->ring, sizeof *n->record);
    n->line_memory = calloc((size_t)n->lines + 1, LINE * sizeof *n->line);
    if (!n->signature || !n->record || !n->line_memory)
        return false;
    n->line = (uint32_t *)(((uintptr_t)n->line_memory + 63) & ~(uintptr_t)63);
    return true;
}

struct near *near_open(const struct near_options *options)
{
    struct near *n = in_range(options) ? calloc(1, sizeof *n) : NULL;

    if (!n)
        return NULL;
    text_prepare();
    n->options = *options;
    if (!n->options.shingle)
        n->options.shingle = NEAR_SHINGLE;
    n->seed = near_mix(options->seed + 1);
    n->rows = rows_for(options->threshold);
    n->need = near_equal_needed(options->threshold);
    n->ring = (uint32_t)(options->memory / PER_TEXT);
    n->lines = (uint32_t)((uint64_t)n->ring * NEAR_BANDS * SPARE / LINE);
    n->positions = UINT32_MAX >> __builtin_clz(n->ring);
    if (!allocate(n)) {
        near_close(n);
        return NULL;
    }
    return n;
}

void near_close(struct near *n)
{
    if (!n)
        return;
    free(n->signature);
    free(n->record);
    free(n->line_memory);
    free(n);
}

/* ---- lines ---- */

static uint32_t *line_of(const struct near *n, uint64_t band)
{
    return n->line + LINE * ((band >> 32) * n->lines >> 32);
}

static uint32_t fingerprint(const struct near *n, uint64_t band)
{
    return (uint32_t)band & ~n->positions;
}

static bool has_fingerprint(const struct near *n, uint32_t entry, uint32_t print)
{
    return entry && (entry & ~n->positions) == print;
}

static uint32_t position_of(const struct near *n, uint32_t entry)
{
    return (entry & n->positions) - 1;
}

/* How long ago the text at a position was remembered. The position to be replaced next is the
 * oldest. */
static uint32_t age_of(const struct near *n, uint32_t position)
{
    uint32_t next = (uint32_t)(n->head % n->ring);

    return next > position ? next - position : next + n->ring - position;
}

/* Replace the same text's older entry, else one of too many equal fingerprints, an empty one, or
 * the oldest. */
static void enter(struct near *n, uint64_t band, uint32_t position, uint32_t former)
{
    uint32_t *line = line_of(n, band), print = fingerprint(n, band), same = 0;
    int oldest = 0, oldest_same = 0, target = -1;
    uint32_t age_oldest = 0, age_same = 0;

    for (int i = 0; i < LINE; i++) {
        uint32_t at = position_of(n, line[i]);
        uint32_t age = !line[i] ? UINT32_MAX : at < n->ring ? age_of(n, at) : UINT32_MAX - 1;

        if (has_fingerprint(n, line[i], print)) {
            if (at == former || at == position)
                target = i;
            same++;
            if (age > age_same) {
                age_same = age;
                oldest_same = i;
            }
        }
        if (age > age_oldest) {
            age_oldest = age;
            oldest = i;
        }
    }
    if (target < 0)
        target = same >= SAME_MAX ? oldest_same : oldest;
    line[target] = print | (position + 1);
}

static void remember(struct near *n, const uint64_t *signature, const uint64_t *band,
                     uint64_t record, uint32_t former)
{
    uint32_t position = (uint32_t)(n->head % n->ring);

    for (int i = 0; i < NEAR_BANDS; i++)
        enter(n, band[i], position, former);
    memmove(n->signature + (size_t)position * SIGNATURE, signature, SIGNATURE * sizeof *signature);
    n->record[position] = record;
    n->figures.evicted += n->head >= n->ring;
    n->head++;
}

/* ---- lookup ---- */

struct best {
    uint32_t position;
    int equal;
};

/* Of equal candidates, the newest: the others are copies left by refresh(). */
static void look_in(const struct near *n, const struct near_sketch *s, uint64_t band,
                    struct best *best)
{
    const uint32_t *line = line_of(n, band);
    uint32_t print = fingerprint(n, band), used = near_used(n);

    for (int i = 0; i < LINE; i++) {
        uint32_t position = position_of(n, line[i]);

        if (!has_fingerprint(n, line[i], print) || position >= used || position == best->position)
            continue;
        int equal = near_equal_bins(s->bits, n->signature + (size_t)position * SIGNATURE);
        if (equal > best->equal ||
            (equal == best->equal && age_of(n, position) < age_of(n, best->position)))
            *best = (struct best){position, equal};
    }
}

static uint32_t bands_at(const struct near *n, const struct near_sketch *s, uint32_t position)
{
    uint32_t bands = 0;

    for (int i = 0; i < NEAR_BANDS; i++) {
        const uint32_t *line = line_of(n, s->band[i]);
        uint32_t entry = fingerprint(n, s->band[i]) | (position + 1);

        for (int j = 0; j < LINE; j++)
            bands += line[j] == entry;
    }
    return bands;
}

/* A text with recent matches is stored again before it is evicted, under the bands of the match,
 * because its own bands are not stored. */
static void refresh(struct near *n, const struct near_sketch *s, uint32_t position)
{
    if (age_of(n, position) > n->ring / 2)
        remember(n, n->signature + (size_t)position * SIGNATURE, s->band, n->record[position],
                 position);
}

bool near_observe(struct near *n, const struct near_sketch *s, uint64_t number,
                  struct near_match *match)
{
    struct best best = {.position = UINT32_MAX, .equal = 0};

    for (int i = 0; i < NEAR_BANDS; i++)
        __builtin_prefetch(line_of(n, s->band[i]));
    for (int i = 0; i < NEAR_BANDS; i++)
        look_in(n, s, s->band[i], &best);
    bool similar = best.equal >= (int)n->need;
    double jaccard = best.equal ? near_equal_jaccard(best.equal) : 0;

    n->figures.dropped += similar;
    n->figures.unsure += similar && jaccard - near_error(jaccard) < n->options.threshold;
    if (match)
        *match = (struct near_match){best.equal ? n->record[best.position] : 0, jaccard,
                                     bands_at(n, s, best.position)};
    if (similar)
        refresh(n, s, best.position);
    else
        remember(n, s->bits, s->band, number, UINT32_MAX);
    return similar;
}

void near_count(struct near *n, uint64_t records)
{
    n->figures.records = records;
}

struct near_figures near_figures(const struct near *n)
{
    struct near_figures f = n->figures;

    f.options = n->options;
    f.texts = near_used(n);
    f.capacity = n->ring;
    return f;
}
