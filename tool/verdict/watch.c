/* watch.c - see watch.h.
 *
 * Keys are kept whose hash ends in so many zeros that the list never holds more than its room: when
 * it is full one zero more is asked for. So it is an even sample of all different keys so far,
 * however often they came and whatever the filter said of them: its size tells how many there were,
 * and the share of it that the filter does not know any more is the share that it has forgotten. */
#include "verdict/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define WEIR_UNSTABLE
#include <weir/plan.h>

#include "cli/units.h"

#define KEPT 4096        /* keys of all shards together, half of that at least: 1 % within 0.2 % */
#define SAMPLE_LEAST 256 /* to judge by */
#define CEILING 0.01     /* of the error, where none was asked for */
#define TOLERANCE 1.1    /* the error is measured, and as chance has it */
#define FORGOTTEN 0.01   /* share of the keys that may be forgotten before a word is said */
#define BYTES_PER_KEY 8  /* with more than that for each key none errs much or forgets */
#define FIRST_LOOK 1024
#define ASKED_AT_ONCE 256
#define SOON 0.0625        /* of the records so far, at least, between the first two measurements */
#define GROWTH 1.125       /* of the records between two looks at the keys that are kept */
#define COUNTED_SHORT 1.06 /* the count of keys may be too low by so much */
#define ROOM_TO_SPARE 1.15 /* of memory that is advised: lines fill unevenly */

struct watched_shard {
    struct weir_key
        *kept; /* a table, of as many places again as keys; those of origin 0 are free */
    uint32_t n, room;
    uint64_t mask;         /* of the bits that are zero in the hash of a key that is kept */
    uint64_t observed;     /* records of this run */
    uint64_t next_look;    /* as many of them: at the keys that are kept, */
    uint64_t next_measure; /* and at the figures of the filter, which may take milliseconds */
    uint32_t measured;     /* so often */
    bool missed;           /* keys were missing */
    uint64_t before;       /* keys that were new in earlier runs */
    /* for the writer: */
    _Atomic double error, asked, missing, keys, fresh, records;
    _Atomic uint64_t lost;
};

/* ---- what was asked for ---- */

/* The error of a set of that capacity, once it has so many keys. */
static double error_of_set(const char *config, uint64_t capacity)
{
    struct weir_stream stream = {.size = sizeof stream, .kind = WEIR_STREAM_ENDLESS, .n = capacity};
    struct weir_prediction *p = malloc(sizeof *p);
    bool known = p && weir_predict(p, sizeof *p, config, &stream, NULL) == WEIR_OK && p->error > 0;
    double error = known ? p->error : CEILING;

    free(p);
    return error;
}

static double ceiling_of(const char *config, const char *fpr, uint64_t capacity, bool *asked)
{
    char parameter[32];
    double rate;

    *asked = true;
    if (fpr && read_rate(fpr, &rate) && rate > 0)
        return rate;
    if (weir_spec_get(config, "fpr", parameter, sizeof parameter) && read_rate(parameter, &rate) &&
        rate > 0)
        return rate;
    *asked = capacity;
    return capacity ? error_of_set(config, capacity) : CEILING;
}

/* Records before which it cannot be full: to ask for the keys that are kept, and to measure. */
static void plan_looks(const struct watch *w, struct watched_shard *one, const weir_filter *filter)
{
    uint64_t cell = 1, bytes = weir_saved_size(filter), capacity = w->capacity / w->shards->count;

    weir_spec_number(w->shards->config, "cell", &cell);
    one->next_look = w->loaded || w->windows ? FIRST_LOOK : bytes / (cell * BYTES_PER_KEY);
    one->next_measure = w->loaded || w->windows ? FIRST_LOOK
                        : w->capacity           ? capacity - capacity / 8
                                                : 2 * one->next_look;
    if (one->next_look < FIRST_LOOK)
        one->next_look = FIRST_LOOK;
    if (one->next_measure < FIRST_LOOK)
        one->next_measure = FIRST_LOOK;
}

bool watch_open(struct watch *w, const struct shards *s, const struct filter_request *wanted,
                bool loaded)
{
    bool window = loaded || request_sets(wanted, "window") || request_sets(wanted, "span");
    uint64_t traits = 0;

    *w = (struct watch){.shards = s, .loaded = loaded};
    weir_spec_traits(WEIR_KIND_FILTER, s->config, &traits, NULL);
    weir_spec_number(s->config, "capacity", &w->capacity);
    w->ceiling = ceiling_of(s->config, wanted->fpr, w->capacity, &w->asked);
    w->keeps = traits & WEIR_CAN_KEEP_ALL;
    /* Some always have a window; where nobody asked for one it is how much they hold. */
    w->windows = window && traits & (WEIR_CAN_WINDOW | WEIR_CAN_TIME);
    w->forgets = !w->windows; /* also sets that forget none by themselves may have no room */
    w->shard = calloc(s->count, sizeof *w->shard);
    for (uint32_t i = 0; w->shard && i < s->count; i++) {
        struct watched_shard *one = &w->shard[i];

        plan_looks(w, one, s->w[i]);
        one->room = KEPT / s->count > SAMPLE_LEAST ? KEPT / s->count : SAMPLE_LEAST;
        one->kept = calloc((size_t)3 * one->room, sizeof *one->kept);
        one->before = loaded ? weir_stats_of(s->w[i]).new_keys : 0;
        if (!one->kept) {
            watch_close(w);
            return false;
        }
    }
    return w->shard;
}

void watch_close(struct watch *w)
{
    for (uint32_t i = 0; w->shard && i < w->shards->count; i++)
        free(w->shard[i].kept);
    free(w->shard);
    w->shard = NULL;
}

/* ---- keys are shown ---- */

/* Bits that choose neither a shard nor a line. */
static bool is_kept(const struct watched_shard *s, struct weir_key key)
{
    return (key.hi >> 4 & s->mask) == 0;
}

static void put(struct watched_shard *s, struct weir_key key)
{
    const uint32_t places = 2 * s->room;
    uint32_t at = (uint32_t)((key.lo >> 32) * places >> 32);

    for (; s->kept[at].origin; at = at + 1 < places ? at + 1 : 0)
        if (s->kept[at].lo == key.lo && s->kept[at].hi == key.hi)
            return;
    key.origin = 1;
    s->kept[at] = key;
    s->n++;
}

static void halve(struct watched_shard *s, struct weir_key *scratch)
{
    uint32_t n = 0;

    s->mask = 2 * s->mask + 1;
    for (uint32_t i = 0; i < 2 * s->room; i++)
        if (s->kept[i].origin && is_kept(s, s->kept[i]))
            scratch[n++] = s->kept[i];
    memset(s->kept, 0, 2 * s->room * sizeof *s->kept);
    s->n = 0;
    for (uint32_t i = 0; i < n; i++)
        put(s, scratch[i]);
}

static void keep_few(struct watched_shard *s, const struct weir_key *keys, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!is_kept(s, keys[i]))
            continue;
        put(s, keys[i]);
        while (s->n == s->room)
            halve(s, s->kept + (size_t)2 * s->room);
    }
}

/* Hardly any is kept: several are looked at at once. What is not zero stays so, less one,
 * below 2^63. */
static void keep_some(struct watched_shard *s, const struct weir_key *keys, uint32_t n)
{
    for (; n >= 8; n -= 8, keys += 8) {
        const uint64_t mask = s->mask << 4;
        uint64_t any = 0;

        for (uint32_t j = 0; j < 8; j++)
            any |= (keys[j].hi & mask) - 1;
        if (any >> 63)
            keep_few(s, keys, 8);
    }
    keep_few(s, keys, n);
}

/* Of the keys in so many places of the table: how many there are, and how many it does not know
 * any more. */
static uint32_t count_missing(const struct watched_shard *s, const weir_filter *w, uint32_t places,
                              uint32_t *asked)
{
    struct weir_key keys[ASKED_AT_ONCE];
    uint8_t verdicts[ASKED_AT_ONCE];
    uint32_t missing = 0;

    *asked = 0;
    for (uint32_t i = 0; i < places;) {
        uint32_t n = 0;

        for (; i < places && n < ASKED_AT_ONCE; i++)
            if (s->kept[i].origin) {
                keys[n] = s->kept[i];
                keys[n++].origin = 0;
            }
        weir_ask_many(w, keys, n, verdicts);
        for (uint32_t j = 0; j < n; j++)
            missing += verdicts[j] == WEIR_NEW;
        *asked += n;
    }
    return missing;
}

/* As the share of a quarter of them, unless that is near what may be forgotten. */
static double share_missing(const struct watched_shard *s, const weir_filter *w)
{
    uint32_t asked, missing = count_missing(s, w, s->room / 2, &asked);

    if (missing > FORGOTTEN / 2 * asked || asked < SAMPLE_LEAST)
        missing = count_missing(s, w, 2 * s->room, &asked);
    return asked ? (double)missing / asked : 0;
}

/* Of this run and those before, among which some may be the same: no more than were said to be
 * new, unless most are said to be seen. */
static double all_keys(const struct watched_shard *s, const struct weir_stats *f)
{
    double counted = (double)s->n * (double)(s->mask + 1);
    double fresh = (double)(f->new_keys - s->before) / (1 - fmin(f->error, 0.5));

    return (double)s->before + (s->before && fresh < counted && f->error < 0.5 ? fresh : counted);
}

/* How much longer until the error may pass the ceiling, if cells fill as those of a Bloom filter
 * do: most do so at first. Others are measured ever more rarely: one that keeps its error near the
 * ceiling, as ours does by design, is not to be measured again and again. */
static double time_left(const struct watch *w, const struct watched_shard *s,
                        const struct weir_stats *f)
{
    double most = w->windows ? 1.25 : 4, told_at = w->ceiling * TOLERANCE, k, full;
    double least = 1 + ldexp(SOON, (int)(s->measured < 6 ? s->measured : 6));

    if (f->error <= 0 || f->error >= told_at || f->fill <= 0 || f->fill >= 1)
        return most;
    k = log(f->error) / log(f->fill);
    full = pow(told_at, 1 / k);
    return full < 1 ? fmin(fmax(most, least), fmax(least, log1p(-full) / log1p(-f->fill))) : most;
}

static struct weir_stats read_filter(struct watched_shard *s, const weir_filter *filter)
{
    struct weir_stats f = weir_stats_of(filter);

    s->keys = all_keys(s, &f);
    s->error = f.error;
    s->fresh = (double)f.new_keys;
    s->lost = f.lost;
    return f;
}

static void measure(struct watch *w, struct watched_shard *s, const weir_filter *filter)
{
    struct weir_stats f = read_filter(s, filter);

    s->measured++;
    s->next_measure = 1 + (uint64_t)((double)s->observed * time_left(w, s, &f));
}

/* missing: share of the sample. */
static void read_sample(struct watched_shard *s, double missing)
{
    s->asked = s->n;
    s->records = (double)s->observed;
    s->missing = s->n * fmin(1, missing / (1 - fmin(s->error, 0.999)));
}

static void look(struct watch *w, uint32_t shard, bool last)
{
    struct watched_shard *s = &w->shard[shard];
    const weir_filter *filter = w->shards->w[shard];
    double missing = w->forgets ? share_missing(s, filter) : 0;
    bool misses = missing > FORGOTTEN;

    if (last || (misses && !s->missed) || s->observed >= s->next_measure)
        measure(w, s, filter);
    s->missed |= misses;
    read_sample(s, missing);
    s->next_look = s->next_measure;
    if (w->forgets && !s->missed && (double)s->observed * GROWTH < (double)s->next_measure)
        s->next_look = 1 + (uint64_t)((double)s->observed * GROWTH);
    w->changes++;
}

void watch_show(struct watch *w, uint32_t shard, const struct weir_key *keys, uint32_t n)
{
    struct watched_shard *s = &w->shard[shard];

    keep_some(s, keys, n);
    s->observed += n;
    if (s->observed >= s->next_look)
        look(w, shard, false);
}

/* ---- all together ---- */

struct figures {
    double error, asked, missing, keys, fresh, records;
    uint64_t lost;
};

static struct figures sum_of(const struct watch *w)
{
    struct figures f = {0};

    for (uint32_t i = 0; i < w->shards->count; i++) {
        f.error += w->shard[i].error / w->shards->count;
        f.asked += w->shard[i].asked;
        f.missing += w->shard[i].missing;
        f.keys += w->shard[i].keys;
        f.records += w->shard[i].records;
        f.fresh += w->shard[i].fresh;
        f.lost += w->shard[i].lost;
    }
    return f;
}

static void decide(struct watch *w)
{
    struct figures f = sum_of(w);
    bool errs = f.error > w->ceiling * TOLERANCE && f.keys > (double)w->capacity;
    bool misses = (f.asked >= SAMPLE_LEAST && f.missing > FORGOTTEN * f.asked) ||
                  (double)f.lost > FORGOTTEN * f.fresh;

    if (errs && !w->errs)
        w->errs_from = (uint64_t)f.records;
    if (misses && !w->misses) {
        w->misses_from = (uint64_t)f.records;
        w->keys_then = f.keys;
    }
    w->errs |= errs;
    w->misses |= misses;
}

bool watch_is_past(struct watch *w, bool last)
{
    /* Where it was not past at the last look it is not now, but for what was loaded. */
    bool again = last && (w->loaded || w->errs || w->misses);

    for (uint32_t i = 0; again && i < w->shards->count; i++)
        look(w, i, true);
    if (w->known != w->changes) {
        w->known = w->changes;
        decide(w);
    }
    return w->errs || w->misses;
}

/* ---- as figures ---- */

static double capacity_of(const struct watch *w)
{
    struct weir_stream endless = {.size = sizeof endless, .kind = WEIR_STREAM_ENDLESS};
    struct weir_prediction *p = w->capacity ? NULL : malloc(sizeof *p);
    double capacity = (double)w->capacity;

    if (p && weir_predict(p, sizeof *p, w->shards->config, &endless, NULL) == WEIR_OK &&
        p->remembered > 0)
        capacity = p->remembered;
    free(p);
    return capacity;
}

/* Does not change when the next looks are due. The sample has no keys of earlier runs: of a loaded
 * filter, what exceeds its capacity counts as evicted. */
struct watch_figures watch_measure(struct watch *w)
{
    struct watch_figures out = {.capacity = capacity_of(w)};
    double evicted = 0;

    for (uint32_t i = 0; i < w->shards->count; i++) {
        struct watched_shard *s = &w->shard[i];

        read_filter(s, w->shards->w[i]);
        read_sample(s, share_missing(s, w->shards->w[i]));
        evicted += s->missing * (double)(s->mask + 1);
        if (!w->forgets)
            s->missing = 0;
    }
    decide(w);

    struct figures f = sum_of(w);
    double excess = w->loaded && w->forgets && out.capacity > 0 ? f.keys - out.capacity : 0;

    out.keys = f.keys;
    out.evicted = fmax(evicted, excess);
    if (w->misses)
        out.records_after = (uint64_t)f.records - w->misses_from;
    else if (excess > FORGOTTEN * f.keys)
        out.records_after = (uint64_t)f.records;
    return out;
}

/* ---- in words ---- */

/* A size as -m takes it, rounded up. */
static struct shown size_of(double bytes)
{
    static const char units[] = "KMGT";
    struct shown s;
    int unit = 0;

    for (bytes /= 1024; bytes >= 10240 && unit < 3; unit++)
        bytes /= 1024;
    snprintf(s.text, sizeof s.text, "%.0f%c", ceil(bytes), units[unit]);
    return s;
}

/* A count as capacity= takes it, rounded up to three digits. */
static struct shown count_of(double n)
{
    double step = pow(10, fmax(0, floor(log10(n)) - 2));

    return show_count(ceil(n / step) * step);
}

static double memory_of(const struct watch *w)
{
    uint64_t memory = 0;

    weir_spec_number(w->shards->config, "memory", &memory);
    return (double)memory;
}

/* What a set of so many keys would take, or the parameter to say so. */
static void advise_set(const struct watch *w, double keys, char *text, size_t size)
{
    char name[32], spec[WEIR_SPEC_MAX], completed[WEIR_SPEC_MAX];
    uint64_t memory = 0;

    snprintf(name, sizeof name, "%.*s", (int)strcspn(w->shards->config, " "), w->shards->config);
    if (w->capacity) {
        snprintf(text, size, "-S capacity=%s would hold all so far", count_of(keys).text);
        return;
    }
    snprintf(spec, sizeof spec, "%s capacity=%.0f fpr=%.9g", name, ceil(keys), w->ceiling);
    if (weir_find_parameter(WEIR_KIND_FILTER, name, "capacity") &&
        weir_spec_complete(WEIR_KIND_FILTER, spec, completed, sizeof completed, NULL) == WEIR_OK &&
        weir_spec_number(completed, "memory", &memory))
        snprintf(text, size, "-m %s -e %.3g%% would hold all so far",
                 size_of((double)memory * 1.02).text, w->ceiling * 100);
    else
        snprintf(text, size, "'weir plan' tells which filter would not");
}

static void describe_error(const struct watch *w, const struct figures *f, char *text, size_t size)
{
    char advice[96];

    advise_set(w, f->keys * COUNTED_SHORT, advice, sizeof advice);
    snprintf(
        text, size,
        "the filter passed the error of %.3g %%%s after %llu records: about %s keys have come, "
        "and %.3g %% of new ones are now taken for seen; %s",
        w->ceiling * 100, w->asked ? " that was asked for" : " (-e sets another)",
        (unsigned long long)w->errs_from, show_count(f->keys).text, f->error * 100, advice);
}

/* Memory in proportion to the keys: as many as it had when it began to forget; small filters are
 * looked at late, and what they hold in the end tells too, of which they use some six tenths
 * before keys fall out. */
static double memory_for_all(const struct watch *w, const struct figures *f, double holds)
{
    return memory_of(w) * ROOM_TO_SPARE * f->keys / fmin(w->keys_then, 0.6 * holds);
}

static void describe_loss(const struct watch *w, const struct figures *f, char *text, size_t size)
{
    double holds = f->keys * fmax(1e-3, 1 - f->missing / fmax(1, f->asked));
    struct shown memory = show_bytes(memory_of(w));

    if (f->lost)
        snprintf(text, size,
                 "the window does not fit into %s: %llu keys fell out of it before their time, "
                 "from record %llu on; more memory (-m) keeps them",
                 memory.text, (unsigned long long)f->lost, (unsigned long long)w->misses_from);
    else
        snprintf(text, size,
                 "%s hold about %s keys, and about %s have come: %s from record %llu on; -m %s "
                 "would hold all so far",
                 memory.text, show_count(holds).text, show_count(f->keys).text,
                 w->keeps ? "others find no room" : "older ones are forgotten",
                 (unsigned long long)w->misses_from, size_of(memory_for_all(w, f, holds)).text);
}

void watch_describe(const struct watch *w, char text[WATCH_SPEC])
{
    struct figures f = sum_of(w);

    if (!w->errs) {
        describe_loss(w, &f, text, WATCH_SPEC);
        return;
    }
    describe_error(w, &f, text, WATCH_SPEC);
    size_t used = strlen(text);
    if (w->misses)
        snprintf(text + used, WATCH_SPEC - used, "; older keys are forgotten from record %llu on",
                 (unsigned long long)w->misses_from);
}
