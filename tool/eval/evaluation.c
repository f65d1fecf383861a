/* evaluation.c - see evaluation.h.
 *
 * A pipe whose ordered stage is the exact baseline, and whose verdict stage runs every entrant and
 * scores it against the baseline. Each entrant takes the batches in order, so results do not
 * depend on the number of threads. */
#include "eval/evaluation.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/units.h"

/* ---- opening ---- */

/* If the universe is known and the stream is read once, one bit per key is enough. */
static bool start(struct evaluation *ev, const struct shards *hasher, bool once)
{
    const struct arrivals *a = &ev->arrivals;
    uint64_t limit = ev->request->measures.baseline_memory;

    ev->hash = hash_of_spec(hasher->config);
    weir_spec_number(hasher->config, "seed", &ev->arrivals.replay.rng);
    return a->synthetic && once && a->stream.spec.drift == 0
               ? truth_open_bitmap(&ev->truth, a->stream.spec.universe, limit)
               : truth_open_set(&ev->truth, limit, ev->request->records.time.span);
}

bool evaluation_open(struct evaluation *ev, const struct options *o)
{
    static struct selection selection;

    *ev = (struct evaluation){
        .request = o, .line = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    return signals_watch() && arrivals_open(&ev->arrivals, o) &&
           selection_read(&selection, o, WEIR_KIND_FILTER, ev->arrivals.weighed) &&
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

/* ---- a batch: the baseline, then every entrant ---- */

static void hash(void *context, struct batch *b)
{
    const struct evaluation *ev = context;

    if (!ev->arrivals.replayed)
        keys_hash(ev->hash, b);
}

static void find_truth(void *context, struct batch *b)
{
    struct evaluation *ev = context;
    const struct good_keys *good = keys_select(b);

    if (ev->truth.bitmap) {
        truth_observe_ids(&ev->truth, arrivals_ids(b), b->n, b->verdict);
    } else if (!truth_observe_keys(&ev->truth, good->key, good->time, good->n, good->verdict,
                                   b->failure)) {
        b->failed = true;
        b->n = b->good.n = 0;
    }
    keys_return(b);
}

/* Each entrant takes the batches in order, and several entrants work at once. */
static void give(void *context, struct batch *b)
{
    struct evaluation *ev = context;
    const struct good_keys *good = &b->good;

    for (uint32_t i = 0; i < ev->entrants.count; i++) {
        struct entrant *e = &ev->entrants.entrant[i];

        pthread_mutex_lock(&ev->line);
        while (e->turn != b->number)
            pthread_cond_wait(&ev->moved, &ev->line);
        pthread_mutex_unlock(&ev->line);
        entrant_observe(e, good->key, good->time, good->verdict, good->n);
        pthread_mutex_lock(&ev->line);
        e->turn++;
        pthread_cond_broadcast(&ev->moved);
        pthread_mutex_unlock(&ev->line);
    }
}

/* ---- keeping a batch ---- */

static bool keep(void *context, struct batch *b)
{
    struct evaluation *ev = context;

    const struct good_keys *good = keys_select(b);

    if (!b->failed && !replay_add(&ev->arrivals.replay, good->key, good->n, &ev->truth, b->failure))
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
    arrivals_progress(&ev->arrivals, &ev->progress);
}

static bool gather(struct evaluation *ev)
{
    struct verdict verdict = {.context = ev, .prepare = hash};
    struct sink sink = {.context = ev, .take = keep};
    char failure[512];

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
    return replay_count_new(&ev->arrivals.replay, &ev->truth, ev->fresh, failure) ||
           reject("%s", failure);
}

static bool run_verdict(struct evaluation *ev)
{
    struct verdict verdict = {.context = ev,
                              .parallel = ev->entrants.count,
                              .prepare = hash,
                              .order = find_truth,
                              .give = give};

    for (uint32_t i = 0; i < ev->entrants.count; i++)
        ev->entrants.entrant[i].turn = 0;
    return run(ev, verdict, (struct sink){0});
}

static bool run_pass(struct evaluation *ev)
{
    truth_clear(&ev->truth);
    ev->arrivals.replay.next = 0;
    return run_verdict(ev);
}

/* The second pass is not counted as records of the stream. */
static bool run_order(struct evaluation *ev)
{
    bool replayed = ev->arrivals.replayed;

    entrants_begin(&ev->entrants, arrivals_count(&ev->arrivals));
    if (!(replayed ? run_pass(ev) : run_verdict(ev)))
        return false;
    entrants_end(&ev->entrants);
    if (ev->arrivals.passes < 2 || signals_caught())
        return true;

    struct tally first = ev->tally;
    entrants_begin_second(&ev->entrants, &ev->continuation);
    bool ok = run_pass(ev);
    first.bytes = ev->tally.bytes;
    ev->tally = first;
    return ok;
}

/* An interrupted order is not averaged. */
static bool run_orders(struct evaluation *ev)
{
    uint32_t orders = ev->request->measures.permutations;

    for (uint32_t i = 0; i < (orders ? orders : 1) && !signals_caught(); i++) {
        if (orders)
            replay_shuffle(&ev->arrivals.replay);
        if (!run_order(ev))
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
    ok = ev->arrivals.replayed ? run_orders(ev) : run_order(ev);
    progress_clear(&ev->progress);
    ev->tally.seconds = now() - ev->progress.started;
    return ok;
}

/* Keys are hashed by the default filter, with the given hash=. */
static bool open_hasher(struct evaluation *ev)
{
    struct filter_request w = {.memory = "64", .seed = ev->request->filter.seed};
    char spec[SPEC_MAX];
    struct weir_error error;

    for (int i = 0; i < ev->request->filter.sets; i++)
        if (strncmp(ev->request->filter.set[i], "hash=", 5) == 0)
            w.set[w.sets++] = ev->request->filter.set[i];
    if (!request_spec(&w, NULL, NULL, spec))
        return reject("the filter's options are too long");
    return shards_open(&ev->hasher, spec, 1, &error) == WEIR_OK || reject("%s", error.text);
}

bool evaluation_gather(struct evaluation *ev, const struct options *o, uint64_t most)
{
    *ev = (struct evaluation){
        .request = o, .line = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    if (!signals_watch() || !arrivals_open(&ev->arrivals, o) || !open_hasher(ev) ||
        !start(ev, &ev->hasher, false))
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
    fprintf(stderr, "weir: the exact baseline took %s (%s)", show_bytes((double)truth->bytes).text,
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
    tell_skipped(&once, &ev->request->verbosity, ev->request->operands > 1);
    if (style == STATS_TEXT || style == STATS_LINE)
        report_text(ev);
    else if (style == STATS_JSON)
        report_json(ev);
}
