/* by_filter.c - see by_filter.h. */
#include "verdict/by_filter.h"

#include <stdio.h>
#include <string.h>
#include <weir/hash.h>

#include "state/files.h"
#include "cli/messages.h"

/* ---- a batch ---- */

static uint64_t ticket(void *context)
{
    return weir_shared_ticket(((const struct filtering *)context)->shards->shared);
}

static void prepare(void *context, struct batch *b)
{
    const struct filtering *f = context;

    if (f->prefixes)
        networks_convert(f->prefixes, b);
    keys_hash(f->hash, b);
}

/* All shards start at the same time and advance to the same time, so that the result does not
 * depend on their number. */
static void give(void *context, struct batch *b)
{
    const struct filtering *f = context;
    const struct shards *s = f->shards;
    const struct good_keys *good = keys_select(b);
    const uint64_t *begin = b->event.timed ? &b->event.begun : &b->read_at, *end = &b->event.clock;
    struct weir_shared_batch request = {.size = sizeof request,
                                        .operation = f->operation,
                                        .keys = good->key,
                                        .times = good->time,
                                        .ttls = good->ttl,
                                        .n = good->n,
                                        .begin = *begin != NO_TIME ? begin : NULL,
                                        .end = b->event.timed && *end != NO_TIME ? end : NULL,
                                        .verdicts = good->verdict};

    if (s->viewed)
        view_ask(NULL, s->shared, good->key, good->n, good->verdict);
    else
        weir_shared_process(s->shared, b->ticket, &request);
    keys_return(b);
}

/* ---- a batch of addresses ---- */

struct address_lookups {
    const struct filtering *f;
    struct batch *b;
    struct network_lookups keys;
    struct weir_key hash[NETWORK_LOOKUPS];
    uint8_t verdict[NETWORK_LOOKUPS];
};

static void look_up(void *context)
{
    struct address_lookups *l = context;
    const struct shards *s = l->f->shards;
    uint32_t n = l->keys.n;

    weir_hash_bytes_many(l->f->hash.kind, l->f->hash.seed, l->keys.key, n, l->hash);
    if (s->viewed)
        view_ask(NULL, s->shared, l->hash, n, l->verdict);
    else
        weir_shared_ask_many(s->shared, l->hash, n, l->verdict);
    for (uint32_t i = 0; i < n; i++)
        if (l->verdict[i] == WEIR_SEEN)
            l->b->verdict[l->keys.record[i]] = WEIR_SEEN;
    l->keys.n = 0;
}

/* An address is seen if the filter has one of its prefixes. */
static void give_addresses(void *context, struct batch *b)
{
    const struct filtering *f = context;
    struct address_lookups l; /* large, and most of it is filled before it is read */

    l.f = f;
    l.b = b;
    l.keys.n = 0;
    if (!f->shards->viewed)
        weir_shared_advance(f->shards->shared, b->read_at);
    for (uint32_t i = 0; i < b->n; i++) {
        bool bad = b->bads && b->bad[i];

        b->verdict[i] = bad ? VERDICT_NONE : WEIR_NEW;
        if (!bad)
            networks_look_up(&l.keys, f->prefixes, &b->key[i], i, look_up, &l);
    }
    look_up(&l);
}

static void watch_batch(void *context, struct batch *b)
{
    watch_show(((const struct filtering *)context)->watch, b->good.key, b->good.n);
}

static double fill(void *context)
{
    return shards_stats(((const struct filtering *)context)->shards).fill;
}

/* The false-positive rate of a record: an address is looked up once per prefix length. */
static double error_of(const struct filtering *filtering, const struct weir_stats *f)
{
    return filtering->prefixes ? prefixes_error(filtering->prefixes, f->error) : f->error;
}

static struct error_point error(void *context)
{
    const struct filtering *f = context;
    struct weir_stats stats = shards_stats(f->shards);

    return (struct error_point){error_of(f, &stats), stats.fill, stats.new_keys,
                                f->operation == WEIR_SHARED_OBSERVE};
}

/* ---- is it full? ---- */

static uint64_t evicted_from(void *context)
{
    const struct watch *w = ((const struct filtering *)context)->watch;

    return w->misses ? w->misses_from + 1 : 0;
}

static bool is_past(void *context, bool last)
{
    return watch_is_past(((const struct filtering *)context)->watch, last);
}

static void tell_past(void *context, char text[VERDICT_MESSAGE])
{
    watch_describe(((const struct filtering *)context)->watch, text);
}

/* ---- the whole ---- */

static bool all_fit(const struct filtering *f)
{
    uint64_t overflow = f->must_fit ? shards_stats(f->shards).overflow - f->overflow : 0;

    return overflow == 0 || reject("%llu keys do not fit into the filter %s; increase capacity=, "
                                   "and add no key more than "
                                   "eight times",
                                   (unsigned long long)overflow, f->shards->config);
}

static bool save(void *context, const char *path, const char *note)
{
    const struct filtering *f = context;
    char with_prefixes[NOTE_MAX];

    snprintf(with_prefixes, sizeof with_prefixes, "%s", note);
    if (f->prefixes)
        prefixes_write(f->prefixes, with_prefixes, sizeof with_prefixes);
    return all_fit(f) && file_save(path, with_prefixes, f->shards);
}

static struct summary_figures figures_of(const struct filtering *filtering,
                                         const struct weir_stats *f)
{
    const struct shards *s = filtering->shards;

    return (struct summary_figures){"filter",  s->config, s->count,
                                    f->memory, f->fill,   error_of(filtering, f)};
}

static void report_fill(const struct filtering *filtering)
{
    struct weir_stats f = shards_stats(filtering->shards);
    struct summary_figures figures = figures_of(filtering, &f);

    figures_report(&figures);
    if (f.overflow)
        fprintf(stderr, "weir: %llu records did not fit into the filter, and were not added\n",
                (unsigned long long)f.overflow);
}

static void report_lost(const struct shards *s)
{
    uint64_t lost = s->viewed ? 0 : shards_stats(s).lost;

    if (lost)
        fprintf(stderr, "weir: %llu keys were evicted early; more memory (-m) keeps them\n",
                (unsigned long long)lost);
}

static void report(void *context, const struct tally *t)
{
    const struct shards *s = ((const struct filtering *)context)->shards;

    (void)t;
    report_lost(s);
    if (s->viewed) /* its fill would require reading the whole file */
        fprintf(stderr, "weir: filter %s%s\n", s->config, s->count > 1 ? " in shards" : "");
    else
        report_fill(context);
}

static json_t *describe_filter(const struct filtering *filtering)
{
    const struct shards *s = filtering->shards;
    struct weir_stats f = shards_stats(s);
    struct summary_figures figures = figures_of(filtering, &f);
    json_t *filter = figures_describe(&figures);

    json_object_set_new(filter, "lost", json_integer((json_int_t)f.lost));
    json_object_set_new(filter, "overflow", json_integer((json_int_t)f.overflow));
    if (filter && filtering->watch) {
        struct watch_figures k = watch_measure(filtering->watch);

        json_object_set_new(filter, "keys", json_integer((json_int_t)k.keys));
        if (k.capacity > 0)
            json_object_set_new(filter, "capacity", json_integer((json_int_t)k.capacity));
        json_object_set_new(filter, "evicted", json_integer((json_int_t)k.evicted));
        json_object_set_new(filter, "needed_memory", json_integer((json_int_t)k.needed));
        json_object_set_new(filter, "records_after_eviction",
                            json_integer((json_int_t)k.records_after));
    }
    return filter;
}

static json_t *describe(void *context, const struct tally *t)
{
    (void)t;
    return json_pack("{s:o}", "filter", describe_filter(context));
}

static const struct verdict_summary summary = {
    .passes = true, .rates_both = true, .report = report, .describe = describe};

struct verdict verdict_by_filter(struct filtering *f)
{
    static const char *const words[] = {
        "new", "seen", [VERDICT_NONE] = "skipped", [VERDICT_UNKNOWN] = "unknown"};

    f->hash = hash_of_spec(f->shards->config);
    struct verdict v = {.context = f,
                        .completer = f,
                        .error = f->shards->viewed ? NULL : error,
                        .save = save,
                        .summary = &summary,
                        .words = words,
                        .seen = "seen",
                        .filled = "filter",
                        .config = f->shards->config,
                        .hash = f->hash};
    if (f->prefixes && f->operation == WEIR_SHARED_ASK) {
        v.parallel = f->threads;
        v.give = give_addresses;
        return v;
    }
    v.parallel = f->shards->count;
    v.ticket = f->shards->viewed ? NULL : ticket;
    v.prepare = prepare;
    v.give = give;
    v.complete = f->watch ? watch_batch : NULL;
    v.fill = f->shards->viewed ? NULL : fill;
    v.is_past = f->watch ? is_past : NULL;
    v.tell_past = tell_past;
    v.evicted_from = f->watch ? evicted_from : NULL;
    return v;
}
