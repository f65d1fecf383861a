/* evaluation.c - see evaluation.h.
 *
 * A pipe whose verdict is the exact truth, and whose further parts are the entrants,
 * which are scored against it. Each takes the batches in order, so that results do
 * not depend on the number of threads. */
#include "eval/evaluation.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_text.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/units.h"

#define BITS_LEAST 4 /* of a key that a filter remembers */

/* ---- opening ---- */

/* Where the universe is known and every arrival comes by once, a bit per key is
 * enough. Who hashes has the seed of all that is random. */
static bool start(struct evaluation *ev, const struct shards *hasher, bool once)
{
    const struct arrivals *a = &ev->arrivals;
    uint64_t limit = ev->request->measures.baseline_memory;

    ev->hashes = hasher;
    weir_spec_number(hasher->config, "seed", &ev->arrivals.replay.rng);
    return a->synthetic && once && a->stream.spec.drift == 0
               ? truth_open_bitmap(&ev->truth, a->stream.spec.universe, limit)
               : truth_open_set(&ev->truth, limit, ev->request->records.time.span);
}

bool evaluation_open(struct evaluation *ev, const struct eval_request *o)
{
    static struct selection selection;

    *ev = (struct evaluation){.request = o};
    if (!signals_watch())
        return reject("the system is short of memory or files");
    return arrivals_open(&ev->arrivals, o) && selection_read(&selection, o, ev->arrivals.weighed) &&
           entrants_add_all(&ev->entrants, &selection) &&
           start(ev, &ev->entrants.entrant[0].filter, o->measures.permutations == 0);
}

void evaluation_close(struct evaluation *ev)
{
    arrivals_close(&ev->arrivals);
    truth_close(&ev->truth);
    entrants_close(&ev->entrants);
    shards_close(&ev->hasher);
}

/* ---- the verdict on a batch: truth, and what each entrant says ---- */

static const struct weir_key *keys_of(const struct batch *b)
{
    return b->dealt ? b->hash : b->raw;
}

/* Of these keys; NULL: they have none. */
static const uint64_t *times_of(const struct batch *b)
{
    return !b->timed ? NULL : b->dealt ? b->at : b->time;
}

static uint8_t *truth_of(const struct batch *b)
{
    return b->dealt ? b->answer : b->verdict;
}

static void hash(void *context, struct batch *b)
{
    const struct evaluation *ev = context;

    if (!ev->arrivals.replayed)
        shards_hash(ev->hashes, b);
}

static void sort(void *context, struct batch *b)
{
    const struct evaluation *ev = context;

    if (!ev->arrivals.replayed)
        shards_deal(ev->hashes, b);
}

static void find_truth(struct evaluation *ev, struct batch *b)
{
    if (ev->truth.bitmap) {
        truth_observe_ids(&ev->truth, arrivals_ids(b), b->n, b->verdict);
    } else if (!truth_observe_keys(&ev->truth, keys_of(b), times_of(b), b->first[1], truth_of(b),
                                   b->failure)) {
        b->failed = true;
        b->n = b->first[1] = 0;
    }
    for (uint32_t i = 0; b->dealt && i < b->first[1]; i++)
        b->verdict[b->origin[i]] = b->answer[i];
}

/* Part 0 is the truth, the others are the entrants. */
static void give(void *context, struct batch *b, uint32_t part)
{
    struct evaluation *ev = context;

    if (part == 0)
        find_truth(ev, b);
    else
        entrant_observe(&ev->entrants.entrant[part - 1], keys_of(b), times_of(b), truth_of(b),
                        b->first[1]);
}

/* ---- keeping a batch ---- */

static void call_new(void *context, struct batch *b, uint32_t part)
{
    (void)context;
    (void)part;
    for (uint32_t i = 0; i < b->n; i++)
        b->verdict[i] = b->bads && b->bad[i] ? VERDICT_NONE : WEIR_NEW;
}

static bool keep(void *context, struct batch *b)
{
    struct evaluation *ev = context;

    if (!b->failed &&
        !replay_add(&ev->arrivals.replay, keys_of(b), b->first[1], &ev->truth, b->failure))
        b->failed = true;
    return true;
}

/* ---- a run of the pipe ---- */

static bool run(struct evaluation *ev, struct verdict verdict, struct sink sink)
{
    struct pipe pipe = {.source = arrivals_source(&ev->arrivals),
                        .clock = arrivals_clock(&ev->arrivals),
                        .verdict = verdict,
                        .sink = sink,
                        .threads = ev->request->threads,
                        .progress = &ev->progress,
                        .tally = ev->tally};
    bool ok = pipe_run(&pipe) && !pipe.failed;

    ev->tally = pipe.tally;
    if (pipe.failed && *pipe.failure) {
        progress_clear(&ev->progress);
        fail("%s", pipe.failure);
    }
    return ok;
}

static void open_progress(struct evaluation *ev)
{
    bool typed = !ev->request->measures.synthetic && inputs_are_typed(&ev->request->inputs);

    progress_open(&ev->progress, ev->request->verbosity.quiet || typed,
                  arrivals_total(&ev->arrivals));
}

static bool gather(struct evaluation *ev)
{
    struct verdict verdict = {
        .context = ev, .parts = 1, .prepare = hash, .sort = sort, .give = call_new};
    struct sink sink = {.context = ev, .take = keep};

    open_progress(ev);
    if (!run(ev, verdict, sink))
        return false;
    progress_clear(&ev->progress);
    ev->records = ev->tally.records;
    ev->tally = (struct tally){.skipped = ev->tally.skipped,
                               .skipped_in = ev->tally.skipped_in,
                               .skipped_line = ev->tally.skipped_line};
    ev->truth.limit -= replay_bytes(&ev->arrivals.replay);
    ev->arrivals.replayed = true;
    return true;
}

static bool show(struct evaluation *ev)
{
    struct verdict verdict = {.context = ev,
                              .parts = ev->entrants.count + 1,
                              .first_leads = true,
                              .prepare = hash,
                              .sort = sort,
                              .give = give};

    return run(ev, verdict, (struct sink){0});
}

static void fill_up_one(struct entrant *e, const struct replay *k)
{
    static struct weir_key key[RECORDS_MAX];
    uint64_t all = 8 * e->memory / BITS_LEAST;

    for (uint64_t i = 0; i < all; i += RECORDS_MAX) {
        uint32_t n = all - i < RECORDS_MAX ? (uint32_t)(all - i) : RECORDS_MAX;

        replay_strangers(k, i, key, n);
        weir_observe_many(e->filter.w[0], key, n, e->answer);
    }
}

/* As a stream without end does: with a key for every few bits of memory. That takes
 * so long that what was before it is nothing to remember. */
static void fill_up(struct evaluation *ev)
{
    for (uint32_t i = 0; i < ev->entrants.count; i++)
        fill_up_one(&ev->entrants.entrant[i], &ev->arrivals.replay);
    truth_clear(&ev->truth);
}

/* Several times on end, of which the last counts. After the first, filters are
 * made as full as they will ever be. */
static bool show_again(struct evaluation *ev)
{
    uint32_t showings = arrivals_showings(&ev->arrivals);
    struct replay *k = &ev->arrivals.replay;

    truth_clear(&ev->truth);
    for (uint32_t i = 0; i < showings && !signals_caught(); i++) {
        struct tally before = ev->tally;
        bool last = i + 1 == showings;

        if (i == 1)
            fill_up(ev);
        entrants_begin_showing(&ev->entrants, i == 0, last);
        replay_rewind(k, i);
        if (!show(ev))
            return false;
        before.bytes = ev->tally.bytes;
        ev->tally = last ? ev->tally : before;
    }
    return true;
}

static bool show_order(struct evaluation *ev)
{
    entrants_begin(&ev->entrants, arrivals_count(&ev->arrivals));
    entrants_begin_showing(&ev->entrants, true, true);
    if (!(ev->arrivals.replayed ? show_again(ev) : show(ev)))
        return false;
    entrants_end(&ev->entrants);
    return true;
}

/* Interrupted orders would make uneven averages: they are left out. */
static bool show_orders(struct evaluation *ev)
{
    uint32_t orders = ev->request->measures.permutations;

    for (uint32_t i = 0; i < (orders ? orders : 1) && !signals_caught(); i++) {
        if (orders)
            replay_shuffle(&ev->arrivals.replay);
        if (arrivals_showings(&ev->arrivals) > 1 && !replay_find_variants(&ev->arrivals.replay))
            return reject("memory is short");
        if (!show_order(ev))
            return false;
    }
    return !signals_caught();
}

bool evaluation_run(struct evaluation *ev)
{
    bool ok;

    if (ev->request->measures.permutations && !ev->arrivals.replayed && !gather(ev))
        return false;
    open_progress(ev);
    ok = ev->arrivals.replayed ? show_orders(ev) : show_order(ev);
    progress_clear(&ev->progress);
    ev->tally.seconds = now() - ev->progress.started;
    return ok;
}

/* Any filter hashes: here the default one, with the hash= asked for. */
static bool open_hasher(struct evaluation *ev)
{
    struct filter_request w = {.memory = "64", .seed = ev->request->filter.seed};
    char spec[SPEC_MAX];
    struct weir_error error;

    for (int i = 0; i < ev->request->filter.sets; i++)
        if (strncmp(ev->request->filter.set[i], "hash=", 5) == 0)
            w.set[w.sets++] = ev->request->filter.set[i];
    if (!request_spec(&w, NULL, NULL, spec))
        return reject("the options of the filter are too long");
    return shards_open(&ev->hasher, spec, 1, &error) == WEIR_OK || reject("%s", error.text);
}

bool evaluation_gather(struct evaluation *ev, const struct eval_request *o, uint64_t most)
{
    *ev = (struct evaluation){.request = o};
    if (!signals_watch())
        return reject("the system is short of memory or files");
    if (!arrivals_open(&ev->arrivals, o) || !open_hasher(ev) || !start(ev, &ev->hasher, false))
        return false;
    ev->arrivals.replay.most = most;
    return gather(ev) && !signals_caught();
}

/* ---- the report ---- */

static void report_text(const struct evaluation *ev)
{
    const struct tally *y = &ev->tally;
    const struct truth *truth = &ev->truth;

    fprintf(stderr, "weir: %llu records, %llu of them new and %llu repeats",
            (unsigned long long)y->records, (unsigned long long)(y->records - y->seen),
            (unsigned long long)y->seen);
    if (ev->request->measures.permutations)
        fprintf(stderr, ", in %u orders", ev->entrants.orders);
    if (y->skipped)
        fprintf(stderr, "; %llu malformed and skipped", (unsigned long long)y->skipped);
    fprintf(stderr, "; %u filter%s in %.2f s\n", ev->entrants.count,
            ev->entrants.count == 1 ? "" : "s", y->seconds);
    fprintf(stderr, "weir: the truth took %s (%s)", show_bytes((double)truth->bytes).text,
            truth->bitmap ? "a bit per key" : "a set of fingerprints");
    if (ev->arrivals.replayed)
        fprintf(stderr, ", the stream in memory %s",
                show_bytes((double)(replay_bytes(&ev->arrivals.replay))).text);
    fprintf(stderr, "; --seed %s repeats this\n", ev->entrants.seed);
}

static void report_json(const struct evaluation *ev)
{
    const struct truth *truth = &ev->truth;
    json_t *all = json_pack(
        "{s:I,s:I,s:I,s:I,s:f,s:{s:s,s:I},s:I,s:s}", "records", (json_int_t)ev->tally.records,
        "repeats", (json_int_t)ev->tally.seen, "skipped", (json_int_t)ev->tally.skipped, "orders",
        (json_int_t)ev->entrants.orders, "seconds", ev->tally.seconds, "truth", "kind",
        truth->bitmap ? "bitmap" : "set", "bytes", (json_int_t)truth->bytes, "kept_bytes",
        (json_int_t)(replay_bytes(&ev->arrivals.replay)), "seed", ev->entrants.seed);
    char *text = json_text(all, JSON_REAL_PRECISION(6));

    if (text)
        fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(all);
}

void evaluation_report(const struct evaluation *ev)
{
    enum stats_style style = stats_style(&ev->request->verbosity);
    struct tally once = ev->tally;

    if (ev->arrivals.replayed)
        once.records = ev->records;
    tell_skipped(&once, &ev->request->verbosity, ev->request->inputs.count > 1);
    if (style == STATS_TEXT)
        report_text(ev);
    else if (style == STATS_JSON)
        report_json(ev);
}
