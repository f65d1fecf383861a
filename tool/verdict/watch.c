/* watch.c - see watch.h.
 *
 * The sample contains the keys whose hash ends in a number of zero bits. When it is full, one more
 * zero is required. So it is a uniform sample of the distinct keys, independent of their frequency
 * and of the filter's verdicts. Its size gives the number of distinct keys. The share of it that
 * the filter does not contain is the share that was evicted. */
#include "verdict/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define WEIR_UNSTABLE
#include <weir/plan.h>

#include "cli/units.h"

#define KEPT 4096        /* keys, half of that at least: 1 % within 0.2 % */
#define SAMPLE_LEAST 256 /* fewer give no verdict */
#define LIMIT 0.01       /* of the error, if none was given */
#define TOLERANCE 1.1    /* the error is measured, and random */
#define FORGOTTEN 0.01   /* share of the keys that may be evicted before a warning */
#define BYTES_PER_KEY 8  /* with more, no filter has errors or evicts */
#define FIRST_LOOK 1024
#define ASKED_AT_ONCE 256
#define SOON 0.0625        /* of the records so far, at least, between the first two measurements */
#define GROWTH 1.125       /* of the records between two looks at the keys that are kept */
#define COUNTED_SHORT 1.06 /* the count of keys may be too low by so much */
#define ROOM_TO_SPARE 1.5  /* times the memory at which 1 % was evicted: lines fill unevenly */
#define SET_TO_SPARE 1.02  /* the same, of sets */

struct figures {
    double error, asked, missing, keys, fresh, records;
    uint64_t lost;
};

struct key_sample {
    struct weir_key kept[2 * KEPT]; /* a hash table; those of origin 0 are free */
    struct weir_key scratch[KEPT];
    uint32_t n;
    uint64_t mask;         /* the bits that are zero in the hash of a sampled key */
    uint64_t observed;     /* records of this run */
    uint64_t next_look;    /* record at which the sampled keys are looked up */
    uint64_t next_measure; /* and the filter is measured, which may take milliseconds */
    uint32_t measured;     /* times */
    bool missed;           /* keys were missing */
    uint64_t before;       /* keys that were new in earlier runs */
    struct figures figures;
};

/* ---- the limit ---- */

/* The error of a set at its capacity. */
static double error_of_set(const char *config, uint64_t capacity)
{
    struct weir_stream stream = {.size = sizeof stream, .kind = WEIR_STREAM_ENDLESS, .n = capacity};
    struct weir_prediction *p = malloc(sizeof *p);
    bool known = p && weir_predict(p, sizeof *p, config, &stream, NULL) == WEIR_OK && p->error > 0;
    double error = known ? p->error : LIMIT;

    free(p);
    return error;
}

static double limit_of(const char *config, const char *fpr, uint64_t capacity, bool *asked)
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
    return capacity ? error_of_set(config, capacity) : LIMIT;
}

/* Before these records it cannot be full. */
static void plan_looks(const struct watch *w, struct key_sample *one)
{
    uint64_t cell = 1, bytes = 0;

    for (uint32_t i = 0; i < w->shards->count; i++)
        bytes += weir_saved_size(w->shards->w[i]);

    weir_spec_number(w->shards->config, "cell", &cell);
    one->next_look = w->loaded || w->windows ? FIRST_LOOK : bytes / (cell * BYTES_PER_KEY);
    one->next_measure = w->loaded || w->windows ? FIRST_LOOK
                        : w->capacity           ? w->capacity - w->capacity / 8
                                                : 2 * one->next_look;
    if (one->next_look < FIRST_LOOK)
        one->next_look = FIRST_LOOK;
    if (one->next_measure < FIRST_LOOK)
        one->next_measure = FIRST_LOOK;
}

bool watch_open(struct watch *w, const struct shards *s, const struct filter_request *wanted,
                bool loaded)
{
    bool window = loaded || request_sets(wanted, "window") || request_sets(wanted, "span") ||
                  request_sets(wanted, "ttl");
    uint64_t traits = 0;

    *w = (struct watch){.shards = s, .loaded = loaded};
    weir_spec_traits(WEIR_KIND_FILTER, s->config, &traits, NULL);
    weir_spec_number(s->config, "capacity", &w->capacity);
    w->limit = limit_of(s->config, wanted->fpr, w->capacity, &w->asked);
    w->keeps = traits & WEIR_CAN_KEEP_ALL;
    /* Some always have a window. If none was given, it is the number of keys they hold. */
    w->expires = traits & WEIR_CAN_TTL;
    w->windows = window && traits & (WEIR_CAN_WINDOW | WEIR_CAN_TIME);
    w->forgets = !w->windows; /* sets too: a full one does not store new keys */
    w->sample = calloc(1, sizeof *w->sample);
    if (!w->sample)
        return false;
    plan_looks(w, w->sample);
    w->sample->before = loaded ? shards_stats(s).new_keys : 0;
    return true;
}

void watch_close(struct watch *w)
{
    free(w->sample);
    w->sample = NULL;
}

/* ---- observing keys ---- */

/* Uses bits that choose neither a shard nor a line. */
static bool is_kept(const struct key_sample *s, struct weir_key key)
{
    return (key.hi >> 4 & s->mask) == 0;
}

static void put(struct key_sample *s, struct weir_key key)
{
    const uint32_t places = 2 * KEPT;
    uint32_t at = (uint32_t)((key.lo >> 32) * places >> 32);

    for (; s->kept[at].origin; at = at + 1 < places ? at + 1 : 0)
        if (s->kept[at].lo == key.lo && s->kept[at].hi == key.hi)
            return;
    key.origin = 1;
    s->kept[at] = key;
    s->n++;
}

static void halve(struct key_sample *s)
{
    uint32_t n = 0;

    s->mask = 2 * s->mask + 1;
    for (uint32_t i = 0; i < 2 * KEPT; i++)
        if (s->kept[i].origin && is_kept(s, s->kept[i]))
            s->scratch[n++] = s->kept[i];
    memset(s->kept, 0, sizeof s->kept);
    s->n = 0;
    for (uint32_t i = 0; i < n; i++)
        put(s, s->scratch[i]);
}

static void keep_few(struct key_sample *s, const struct weir_key *keys, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!is_kept(s, keys[i]))
            continue;
        put(s, keys[i]);
        while (s->n == KEPT)
            halve(s);
    }
}

/* Few keys are sampled, so eight are tested at once: only 0 - 1 sets the top bit. */
static void keep_some(struct key_sample *s, const struct weir_key *keys, uint32_t n)
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

/* Look up the keys in the first places of the table: how many there are, and how many the filter
 * does not contain. */
static uint32_t count_missing(const struct key_sample *s, weir_shared *shared, uint32_t places,
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
        weir_shared_ask_many(shared, keys, n, verdicts);
        for (uint32_t j = 0; j < n; j++)
            missing += verdicts[j] == WEIR_NEW;
        *asked += n;
    }
    return missing;
}

/* Of a quarter of the sample, unless that is near the limit. */
static double share_missing(const struct key_sample *s, weir_shared *shared)
{
    uint32_t asked, missing = count_missing(s, shared, KEPT / 2, &asked);

    if (missing > FORGOTTEN / 2 * asked || asked < SAMPLE_LEAST)
        missing = count_missing(s, shared, 2 * KEPT, &asked);
    return asked ? (double)missing / asked : 0;
}

/* Of this run and earlier ones. Some keys may be the same: then the number that the filter reported
 * as new is the maximum, unless it reports most as seen. */
static double all_keys(const struct key_sample *s, const struct weir_stats *f)
{
    double counted = (double)s->n * (double)(s->mask + 1);
    double fresh = (double)(f->new_keys - s->before) / (1 - fmin(f->error, 0.5));

    return (double)s->before + (s->before && fresh < counted && f->error < 0.5 ? fresh : counted);
}

/* How many times the records so far until the error may exceed the limit, if cells fill as in a
 * Bloom filter; most do at first. Other filters are measured less and less often, because a filter
 * with fpr= stays near its limit. */
static double time_left(const struct watch *w, const struct key_sample *s,
                        const struct weir_stats *f)
{
    double most = w->windows ? 1.25 : 4, warned_at = w->limit * TOLERANCE, k, full;
    double least = 1 + ldexp(SOON, (int)(s->measured < 6 ? s->measured : 6));

    /* The filter may be some batches ahead of the sample. */
    if (f->error >= warned_at && s->figures.keys <= (double)w->capacity)
        return least;
    if (f->error <= 0 || f->error >= warned_at || f->fill <= 0 || f->fill >= 1)
        return most;
    k = log(f->error) / log(f->fill);
    full = pow(warned_at, 1 / k);
    return full < 1 ? fmin(fmax(most, least), fmax(least, log1p(-full) / log1p(-f->fill))) : most;
}

static struct weir_stats read_filter(const struct watch *w)
{
    struct key_sample *s = w->sample;
    struct weir_stats f = shards_stats(w->shards);

    s->figures.keys = all_keys(s, &f);
    s->figures.error = f.error;
    s->figures.fresh = (double)f.new_keys;
    s->figures.lost = f.lost;
    return f;
}

static void measure(struct watch *w)
{
    struct key_sample *s = w->sample;
    struct weir_stats f = read_filter(w);

    s->measured++;
    s->next_measure = 1 + (uint64_t)((double)s->observed * time_left(w, s, &f));
}

/* missing: share of the sample */
static void read_sample(struct key_sample *s, double missing)
{
    s->figures.asked = s->n;
    s->figures.records = (double)s->observed;
    s->figures.missing = s->n * fmin(1, missing / (1 - fmin(s->figures.error, 0.999)));
}

static void look(struct watch *w, bool last)
{
    struct key_sample *s = w->sample;
    double missing = w->forgets ? share_missing(s, w->shards->shared) : 0;
    bool misses = missing > FORGOTTEN;

    if (last || (misses && !s->missed) || s->observed >= s->next_measure)
        measure(w);
    s->missed |= misses;
    read_sample(s, missing);
    s->next_look = s->next_measure;
    if (w->forgets && !s->missed && (double)s->observed * GROWTH < (double)s->next_measure)
        s->next_look = 1 + (uint64_t)((double)s->observed * GROWTH);
}

static void decide(struct watch *w)
{
    struct figures f = w->sample->figures;
    bool errs = f.error > w->limit * TOLERANCE && f.keys > (double)w->capacity;
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

void watch_show(struct watch *w, const struct weir_key *keys, uint32_t n)
{
    struct key_sample *s = w->sample;

    keep_some(s, keys, n);
    s->observed += n;
    if (s->observed < s->next_look)
        return;
    look(w, false);
    decide(w);
}

bool watch_is_past(struct watch *w, bool last)
{
    /* If it did not exceed the limit at the last check, it does not now, unless the filter was
     * loaded. */
    if (last && (w->loaded || w->errs || w->misses)) {
        look(w, true);
        decide(w);
    }
    return w->errs || w->misses;
}

/* ---- figures ---- */

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

static double memory_of(const struct watch *w)
{
    uint64_t memory = 0;

    weir_spec_number(w->shards->config, "memory", &memory);
    return (double)memory;
}

static double keys_held(const struct figures *f)
{
    return f->keys * fmax(1e-3, 1 - f->missing / fmax(1, f->asked));
}

/* Of this filter with one parameter, such as capacity; 0: it does not have the parameter. */
static double memory_with(const struct watch *w, const char *parameter, double value)
{
    char name[32], spec[WEIR_SPEC_MAX], completed[WEIR_SPEC_MAX];
    uint64_t memory = 0;

    snprintf(name, sizeof name, "%.*s", (int)strcspn(w->shards->config, " "), w->shards->config);
    int used = snprintf(spec, sizeof spec, "%s %s=%.0f", name, parameter, ceil(value));
    if (w->asked || w->errs)
        snprintf(spec + used, sizeof spec - (size_t)used, " fpr=%.9g", w->limit);
    if (!weir_find_parameter(WEIR_KIND_FILTER, name, parameter) ||
        weir_spec_complete(WEIR_KIND_FILTER, spec, completed, sizeof completed, NULL) != WEIR_OK)
        return 0;
    weir_spec_number(completed, "memory", &memory);
    return SET_TO_SPARE * (double)memory;
}

/* The memory that would have been enough for the records so far; 0: unknown, or it is enough. A
 * filter that evicts needs memory in proportion to the keys that it had when it began, which is at
 * some six tenths of those it holds when it is full. Small filters are looked at late. */
static double needed_memory(const struct watch *w, const struct figures *f)
{
    uint64_t window = 0;

    if (w->errs)
        return memory_with(w, "capacity", f->keys * COUNTED_SHORT);
    if (!w->misses)
        return 0;
    if (!f->lost)
        return memory_of(w) * ROOM_TO_SPARE * f->keys / fmin(w->keys_then, 0.6 * keys_held(f));
    return weir_spec_number(w->shards->config, "window", &window)
               ? memory_with(w, "window", (double)window)
               : 0;
}

/* Does not change the next looks. The sample has no keys of earlier runs, so of a loaded filter the
 * keys above its capacity count as evicted. */
struct watch_figures watch_measure(struct watch *w)
{
    struct watch_figures out = {.capacity = capacity_of(w)};
    struct key_sample *s = w->sample;
    double evicted;

    read_filter(w);
    read_sample(s, share_missing(s, w->shards->shared));
    evicted = s->figures.missing * (double)(s->mask + 1);
    if (!w->forgets)
        s->figures.missing = 0;
    decide(w);

    struct figures f = w->sample->figures;
    double excess = w->loaded && w->forgets && out.capacity > 0 ? f.keys - out.capacity : 0;

    out.keys = f.keys;
    out.needed = needed_memory(w, &f);
    out.evicted = fmax(evicted, excess);
    if (w->misses)
        out.records_after = (uint64_t)f.records - w->misses_from;
    else if (excess > FORGOTTEN * f.keys)
        out.records_after = (uint64_t)f.records;
    return out;
}

/* ---- the message ---- */

/* A size as -m accepts it, rounded up. */
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

/* A count as capacity= accepts it, rounded up to three digits. */
static struct shown count_of(double n)
{
    double step = pow(10, fmax(0, floor(log10(n)) - 2));

    return show_count(ceil(n / step) * step);
}

/* The option that would have been enough. */
static void describe_enough(const struct watch *w, const struct figures *f, char *text, size_t size)
{
    double needed = needed_memory(w, f);

    if (w->capacity)
        snprintf(text, size, "-S capacity=%s would hold all so far",
                 count_of(f->keys * COUNTED_SHORT).text);
    else if (needed > 0)
        snprintf(text, size, "-m %s%s would hold all so far", size_of(needed).text,
                 w->errs && !w->asked ? " -e 1%" : "");
    else if (w->expires)
        snprintf(text, size, "a larger -m keeps them");
    else
        snprintf(text, size, "'weir plan' finds a filter that is large enough");
}

static void describe_error(const struct watch *w, const struct figures *f, char *text, size_t size)
{
    snprintf(text, size,
             "the filter exceeds its maximum error of %.3g %%%s since record %llu: about %s "
             "distinct keys so far, and %.3g %% of new records are now lost",
             w->limit * 100, w->asked ? "" : " (set another with -e)",
             (unsigned long long)w->errs_from, show_count(f->keys).text, f->error * 100);
}

static void describe_loss(const struct watch *w, const struct figures *f, char *text, size_t size)
{
    struct shown memory = show_bytes(memory_of(w));

    if (f->lost)
        snprintf(text, size, "%s into %s: %llu keys were evicted early, since record %llu",
                 w->expires ? "not all keys fit for their TTL" : "the window does not fit",
                 memory.text, (unsigned long long)f->lost, (unsigned long long)w->misses_from);
    else
        snprintf(text, size,
                 "%s holds about %s keys, and about %s distinct keys have arrived: %s since record "
                 "%llu",
                 memory.text, show_count(keys_held(f)).text, show_count(f->keys).text,
                 w->keeps ? "further ones are not stored" : "the oldest are evicted",
                 (unsigned long long)w->misses_from);
}

void watch_describe(const struct watch *w, char text[WATCH_SPEC])
{
    struct figures f = w->sample->figures;

    (w->errs ? describe_error : describe_loss)(w, &f, text, WATCH_SPEC);
    size_t used = strlen(text);
    if (w->errs && w->misses)
        used += (size_t)snprintf(text + used, WATCH_SPEC - used,
                                 "; old keys are evicted since record %llu",
                                 (unsigned long long)w->misses_from);
    used += (size_t)snprintf(text + used, WATCH_SPEC - used, "; ");
    describe_enough(w, &f, text + used, WATCH_SPEC - used);
}
