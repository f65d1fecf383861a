/* by_filter.c - see by_filter.h. */
#include "verdict/by_filter.h"

#include <stdio.h>
#include <string.h>

#include "state/files.h"
#include "cli/messages.h"
#include "cli/units.h"

/* ---- a batch ---- */

static void prepare(void *context, struct batch *b)
{
    const struct filtering *f = context;

    shards_hash(f->shards, b);
}

static void sort(void *context, struct batch *b)
{
    const struct filtering *f = context;

    shards_deal(f->shards, b);
}

/* The answers of a shard, to the records they belong to. */
static void take_back(struct batch *b, uint32_t from, uint32_t to)
{
    const uint32_t *restrict origin = b->origin;
    const uint8_t *restrict answer = b->answer;
    uint8_t *restrict verdict = b->verdict;

    for (uint32_t j = from; j < to; j++)
        verdict[origin[j]] = answer[j];
}

static uint64_t ticket(void *context)
{
    return weir_shared_ticket(((const struct filtering *)context)->shards->shared);
}

/* A batch, and who answers. */
struct to_answer {
    const struct filtering *filtering;
    const struct batch *batch;
};

/* Each key at its time. All shards begin at the same time and go on to the same, so that
 * it does not matter how many they are. */
static void observe_at(weir_filter *w, const struct batch *b, const struct weir_key *keys,
                       const uint64_t *times, size_t n, uint8_t *verdicts)
{
    if (b->begun != NO_TIME)
        weir_advance(w, b->begun);
    weir_observe_many_at(w, keys, times, n, verdicts);
    if (b->clock != NO_TIME)
        weir_advance(w, b->clock);
}

static void answer_shard(void *context, weir_filter *w, const struct weir_key *keys,
                         const uint64_t *times, size_t n, uint8_t *verdicts)
{
    const struct to_answer *q = context;

    if (times) {
        observe_at(w, q->batch, keys, times, n, verdicts);
        return;
    }
    weir_advance(w, q->batch->read_at);
    q->filtering->answer(w, keys, n, verdicts);
}

static void give(void *context, struct batch *b, uint32_t shard)
{
    const struct filtering *f = context;
    struct to_answer q = {f, b};
    uint32_t from = b->first[shard], to = b->first[shard + 1];
    uint8_t *answers = (b->dealt ? b->answer : b->verdict) + from;
    const uint64_t *times = !b->timed ? NULL : b->dealt ? b->at : b->time;

    weir_shared_answer_dealt(f->shards->shared, b->ticket, shard, b->hash + from,
                             times ? times + from : NULL, to - from, answers, answer_shard, &q);
    if (f->watch)
        watch_show(f->watch, shard, b->hash + from, to - from);
    if (b->dealt)
        take_back(b, from, to);
}

static double fill(void *context, uint32_t shard)
{
    const struct filtering *f = context;

    return weir_stats_of(f->shards->w[shard]).fill;
}

void answer_by_asking(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    weir_ask_many(w, keys, n, verdicts);
}

void answer_by_forgetting(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    for (size_t i = 0; i < n; i++) {
        bool was_there = false;

        weir_forget(w, keys[i], &was_there, NULL);
        verdicts[i] = was_there ? WEIR_SEEN : WEIR_NEW;
    }
}

/* ---- is it full? ---- */

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

    return overflow == 0 ||
           reject(
               "%llu of the keys found no room in the filter %s; one of more capacity= is needed, "
               "and no key may come more than eight times",
               (unsigned long long)overflow, f->shards->config);
}

static bool save(void *context, const char *path, const char *note)
{
    const struct filtering *f = context;

    return all_fit(f) && file_save(path, note, f->shards);
}

static void report_fill(const struct shards *s)
{
    struct weir_stats f = shards_stats(s);

    fprintf(stderr,
            "weir: filter %s%s, %.1f %% full; a new key is taken for seen with a chance of %s\n",
            s->config, s->count > 1 ? " in shards" : "", f.fill * 100, show_chance(f.error).text);
    if (f.overflow)
        fprintf(stderr, "weir: %llu records found no room in it, and were not remembered\n",
                (unsigned long long)f.overflow);
}

static void report_time(const struct tally *t, const struct shards *s)
{
    uint64_t lost = s->viewed ? 0 : shards_stats(s).lost;

    verdict_report_late(t);
    if (lost)
        fprintf(stderr,
                "weir: %llu keys fell out of the filter before their time; more memory (-m) keeps "
                "them\n",
                (unsigned long long)lost);
}

static void report(void *context, const struct tally *t)
{
    const struct shards *s = ((const struct filtering *)context)->shards;

    report_time(t, s);
    if (s->viewed) /* how full it is only the whole file tells */
        fprintf(stderr, "weir: filter %s%s\n", s->config, s->count > 1 ? " in shards" : "");
    else
        report_fill(s);
}

static json_t *describe_filter(const struct filtering *filtering)
{
    const struct shards *s = filtering->shards;
    struct weir_stats f = shards_stats(s);
    json_t *filter =
        json_pack("{s:s,s:I,s:I,s:f,s:f,s:I,s:I}", "config", s->config, "shards",
                  (json_int_t)s->count, "memory", (json_int_t)f.memory, "fill", f.fill, "error",
                  f.error, "lost", (json_int_t)f.lost, "overflow", (json_int_t)f.overflow);

    if (filter && filtering->watch) {
        struct watch_figures k = watch_measure(filtering->watch);

        json_object_set_new(filter, "keys", json_integer((json_int_t)k.keys));
        if (k.capacity > 0)
            json_object_set_new(filter, "capacity", json_integer((json_int_t)k.capacity));
        json_object_set_new(filter, "evicted", json_integer((json_int_t)k.evicted));
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

    return (struct verdict){.context = f,
                            .parts = f->shards->count,
                            .ticket = ticket,
                            .prepare = prepare,
                            .sort = sort,
                            .give = give,
                            .fill = f->shards->viewed ? NULL : fill,
                            .is_past = f->watch ? is_past : NULL,
                            .tell_past = tell_past,
                            .save = save,
                            .summary = &summary,
                            .words = words,
                            .seen = "seen",
                            .filled = "filter",
                            .config = f->shards->config,
                            .hash = hash_of_spec(f->shards->config)};
}
