/* near.c - the ring of sketches, and the bands that find candidates in it.
 *
 * A band of equal hash in two sketches makes the older one a candidate, which is confirmed by
 * comparing signatures. A pair of Jaccard similarity J shares a band with the probability
 * 1 - (1 - J^rows)^NEAR_BANDS: with rows for a threshold of 0.8, 94 % at 0.8 and 99.1 % at 0.85.
 *
 * Memory per text: 64 bytes of signature, 8 of record number, 60 of bands. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "near/inside.h"

#define THRESHOLD 0.8
#define THRESHOLD_MIN 0.5 /* below, nearly every text becomes a candidate */
#define THRESHOLD_MAX 0.99
#define MEMORY ((uint64_t)64 << 20)
#define AT_THRESHOLD 0.205 /* threshold^rows is at least this: 7 rows at 0.8, chosen */
#define SAME_MAX 4         /* equal fingerprints in a line: boilerplate */
#define SPARE 5 / 4        /* lines hold a quarter more entries than texts need */
#define PER_TEXT (SIGNATURE * 8 + 8 + NEAR_BANDS * 4 * SPARE)

static uint32_t rows_for(double threshold)
{
    double rows = floor(log(AT_THRESHOLD) / log(threshold));

    return rows > NEAR_BINS / NEAR_BANDS ? NEAR_BINS / NEAR_BANDS : (uint32_t)rows;
}

/* The caller's options, with the defaults. */
static struct weir_near_options complete(const struct weir_near_options *given)
{
    struct weir_near_options o = {.size = 0};

    if (given)
        memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
    o.size = sizeof o;
    if (o.threshold == 0)
        o.threshold = THRESHOLD;
    if (o.memory == 0)
        o.memory = MEMORY;
    if (o.shingle == 0)
        o.shingle = NEAR_SHINGLE;
    return o;
}

static enum weir_status check(const struct weir_near_options *o, struct weir_error *error)
{
    if (!(o->threshold >= THRESHOLD_MIN && o->threshold <= THRESHOLD_MAX))
        return near_fail(error, WEIR_BAD_CONFIG, "threshold %g: use 0.5 to 0.99", o->threshold);
    if (o->shingle > WEIR_NEAR_SHINGLE_MAX)
        return near_fail(error, WEIR_BAD_CONFIG, "shingle %u: use 1 to 16 words", o->shingle);
    if (o->memory < WEIR_NEAR_MEMORY_MIN || o->memory > WEIR_NEAR_MEMORY_MAX)
        return near_fail(error, WEIR_BAD_CONFIG,
                         "memory %llu: use 65536 (64 KiB) to 137438953472 bytes (128 GiB)",
                         (unsigned long long)o->memory);
    return WEIR_OK;
}

#define PAGE 4096
#define HUGE_MAX ((size_t)64 << 20) /* in more memory, a few texts would use 2 MiB per line */

/* Each text reads 12 lines at random. With huge pages, few of them miss the TLB: the library is 9 %
 * faster (bench/near). */
static void ask_huge(const void *at, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    uintptr_t begin = ((uintptr_t)at + PAGE - 1) / PAGE * PAGE;

    if (bytes > 2 * PAGE && bytes <= HUGE_MAX)
        (void)madvise((void *)begin, (bytes - PAGE) / PAGE * PAGE, MADV_HUGEPAGE);
#endif
}

/* Memory is zero, and most of it is not touched before it is used. */
static bool allocate(weir_near *n)
{
    n->signature = calloc(n->ring, SIGNATURE * sizeof *n->signature);
    n->record = calloc(n->ring, sizeof *n->record);
    n->line_memory = calloc((size_t)n->lines + 1, LINE * sizeof *n->line);
    if (!n->signature || !n->record || !n->line_memory)
        return false;
    n->line = (uint32_t *)(((uintptr_t)n->line_memory + 63) & ~(uintptr_t)63);
    ask_huge(n->line, (size_t)n->lines * LINE * sizeof *n->line);
    return true;
}

enum weir_status near_fail(struct weir_error *error, enum weir_status status, const char *format,
                           ...)
{
    va_list arguments;

    if (error) {
        error->status = status;
        error->code = 100 * status;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

uint64_t near_lines(uint64_t memory)
{
    return memory / PER_TEXT * NEAR_BANDS * SPARE / LINE;
}

/* A detector without memory. */
static weir_near *prepare(const struct weir_near_options *o)
{
    weir_near *n = calloc(1, sizeof *n);

    if (!n)
        return NULL;
    text_prepare();
    n->options = *o;
    n->seed = near_mix(o->seed + 1);
    n->rows = rows_for(o->threshold);
    n->need = near_equal_needed(o->threshold);
    n->ring = (uint32_t)(o->memory / PER_TEXT);
    n->lines = (uint32_t)near_lines(o->memory);
    n->positions = UINT32_MAX >> __builtin_clz(n->ring);
    return n;
}

enum weir_status weir_near_open(weir_near **out, const struct weir_near_options *options,
                                struct weir_error *error)
{
    struct weir_near_options o = complete(options);
    enum weir_status status = check(&o, error);

    *out = status == WEIR_OK ? prepare(&o) : NULL;
    if (status != WEIR_OK || (*out && allocate(*out)))
        return status;
    weir_near_close(*out);
    *out = NULL;
    return near_fail(error, WEIR_NO_MEMORY, "out of memory: %llu bytes",
                     (unsigned long long)o.memory);
}

weir_near *weir_near_clone(const weir_near *n, struct weir_error *error)
{
    weir_near *copy;

    if (weir_near_open(&copy, &n->options, error) != WEIR_OK)
        return NULL;
    copy->stats = n->stats;
    copy->head = n->head;
    memcpy(copy->signature, n->signature, near_used(n) * SIGNATURE * sizeof *n->signature);
    memcpy(copy->record, n->record, near_used(n) * sizeof *n->record);
    memcpy(copy->line, n->line, (size_t)n->lines * LINE * sizeof *n->line);
    return copy;
}

void weir_near_close(weir_near *n)
{
    if (!n)
        return;
    free(n->signature);
    free(n->record);
    free(n->line_memory);
    free(n);
}

/* ---- lines ---- */

static uint32_t *line_of(const weir_near *n, uint64_t band)
{
    return n->line + LINE * ((band >> 32) * n->lines >> 32);
}

static uint32_t fingerprint(const weir_near *n, uint64_t band)
{
    return (uint32_t)band & ~n->positions;
}

static bool has_fingerprint(const weir_near *n, uint32_t entry, uint32_t print)
{
    return entry && (entry & ~n->positions) == print;
}

static uint32_t position_of(const weir_near *n, uint32_t entry)
{
    return (entry & n->positions) - 1;
}

/* How long ago the text at a position was remembered. The position to be replaced next is the
 * oldest. */
static uint32_t age_of(const weir_near *n, uint32_t position)
{
    uint32_t next = (uint32_t)(n->head % n->ring);

    return next > position ? next - position : next + n->ring - position;
}

/* Replace the same text's older entry, else one of too many equal fingerprints, an empty one, or
 * the oldest. */
static void enter(weir_near *n, uint64_t band, uint32_t position, uint32_t former)
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

static void remember(weir_near *n, const uint64_t *signature, const uint64_t *band, uint64_t record,
                     uint32_t former)
{
    uint32_t position = (uint32_t)(n->head % n->ring);

    for (int i = 0; i < NEAR_BANDS; i++)
        enter(n, band[i], position, former);
    memmove(n->signature + (size_t)position * SIGNATURE, signature, SIGNATURE * sizeof *signature);
    n->record[position] = record;
    n->stats.evicted += n->head >= n->ring;
    n->head++;
}

/* ---- lookup ---- */

struct best {
    uint32_t position;
    int equal;
};

/* Of equal candidates, the newest: the others are copies left by refresh(). */
static void look_in(const weir_near *n, const struct weir_near_sketch *s, uint64_t band,
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

static bool has_entry(const uint32_t *line, uint32_t entry)
{
    for (int i = 0; i < LINE; i++)
        if (line[i] == entry)
            return true;
    return false;
}

static uint32_t bands_at(const weir_near *n, const struct weir_near_sketch *s, uint32_t position)
{
    uint32_t bands = 0;

    for (int i = 0; i < NEAR_BANDS; i++)
        bands += has_entry(line_of(n, s->band[i]), fingerprint(n, s->band[i]) | (position + 1));
    return bands;
}

/* A text with recent matches is stored again before it is evicted, under the bands of the match,
 * because its own bands are not stored. */
static void refresh(weir_near *n, const struct weir_near_sketch *s, uint32_t position)
{
    if (age_of(n, position) > n->ring / 2)
        remember(n, n->signature + (size_t)position * SIGNATURE, s->band, n->record[position],
                 position);
}

enum weir_verdict weir_near_observe(weir_near *n, const struct weir_near_sketch *sketch,
                                    uint64_t number, struct weir_near_match *match)
{
    struct best best = {.position = UINT32_MAX, .equal = -1};

    for (int i = 0; i < NEAR_BANDS; i++)
        __builtin_prefetch(line_of(n, sketch->band[i]));
    for (int i = 0; i < NEAR_BANDS; i++)
        look_in(n, sketch, sketch->band[i], &best);
    bool similar = best.equal >= (int)n->need;
    bool compared = best.position < n->ring;
    double jaccard = compared ? near_equal_jaccard(best.equal) : 0;
    double error = weir_near_error(jaccard);

    n->stats.observed++;
    n->stats.seen += similar;
    n->stats.unsure += similar && jaccard - error < n->options.threshold;
    if (match)
        *match = (struct weir_near_match){compared ? n->record[best.position] : 0, jaccard, error,
                                          compared ? bands_at(n, sketch, best.position) : 0, 0};
    if (similar)
        refresh(n, sketch, best.position);
    else
        remember(n, sketch->bits, sketch->band, number, UINT32_MAX);
    return similar ? WEIR_SEEN : WEIR_NEW;
}

enum weir_verdict weir_near_observe_text(weir_near *n, const void *text, size_t size,
                                         uint64_t number, struct weir_near_match *match)
{
    struct weir_near_sketch sketch;

    weir_near_sketch_text(n, text, size, &sketch);
    return weir_near_observe(n, &sketch, number, match);
}

/* ---- statistics ---- */

void weir_near_count(weir_near *n, uint64_t records)
{
    n->stats.records = records;
}

void weir_near_measure(const weir_near *n, struct weir_near_stats *out, size_t size)
{
    struct weir_near_stats s = n->stats;

    s.texts = near_used(n);
    s.capacity = n->ring;
    memset(out, 0, size);
    memcpy(out, &s, size < sizeof s ? size : sizeof s);
}

void weir_near_configuration(const weir_near *n, struct weir_near_options *out)
{
    size_t size = out->size;

    memset(out, 0, size);
    memcpy(out, &n->options, size < sizeof n->options ? size : sizeof n->options);
    out->size = size;
}
