/* evaluation.c - see evaluation.h. The parts of the verdict are here the filters: each
 * takes the batches in order, so that results do not depend on the number of threads. */
#include "eval/evaluation.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/units.h"

bool evaluation_open(struct evaluation *ev, const struct request *o)
{
    static struct selection selection;

    *ev = (struct evaluation){.request = o};
    if (!signals_watch())
        return reject("the system is short of memory or files");
    return arrivals_open(&ev->arrivals, o) && selection_read(&selection, o, ev->arrivals.weighed) &&
           entrants_add_all(&ev->entrants, &selection) &&
           arrivals_start(&ev->arrivals, &ev->entrants.entrant[0].filter);
}

void evaluation_close(struct evaluation *ev)
{
    arrivals_close(&ev->arrivals);
    entrants_close(&ev->entrants);
    shards_close(&ev->hasher);
}

/* ---- a pass through the arrivals ---- */

/* The truth is what the records count as. */
static void set_truth(void *context, struct batch *b)
{
    (void)context;
    if (!b->dealt)
        memcpy(b->verdict, b->answer, b->n);
    for (uint32_t i = 0; b->dealt && i < arrivals_in_batch(b); i++)
        b->verdict[b->origin[i]] = b->answer[i];
}

static void show(void *context, struct batch *b, uint32_t entrant)
{
    struct evaluation *ev = context;

    entrant_observe(&ev->entrants.entrant[entrant], arrivals_keys(b), b->answer,
                    arrivals_in_batch(b));
}

static bool keep(void *context, struct batch *b)
{
    struct evaluation *ev = context;

    if (!b->failed && !arrivals_keep(&ev->arrivals, b))
        b->failed = true;
    return true;
}

/* To the filters, each a part of the verdict, or into memory. */
static bool pass(struct evaluation *ev, bool keeping)
{
    struct pipe pipe = {.source = arrivals_source(&ev->arrivals),
                        .threads = ev->request->threads,
                        .progress = &ev->progress,
                        .tally = ev->tally};
    bool ok;

    if (keeping)
        pipe.sink = (struct sink){.context = ev, .take = keep};
    else
        pipe.verdict = (struct verdict){
            .context = ev, .parts = ev->entrants.count, .prepare = set_truth, .give = show};
    ok = pipe_run(&pipe) && !pipe.failed;
    ev->tally = pipe.tally;
    if (pipe.failed && *pipe.failure) {
        progress_clear(&ev->progress);
        fail("%s", pipe.failure);
    }
    return ok;
}

/* Once, or several times on end: the last counts. */
static bool show_order(struct evaluation *ev)
{
    uint32_t showings = arrivals_showings(&ev->arrivals);

    entrants_begin(&ev->entrants, arrivals_count(&ev->arrivals));
    for (uint32_t i = 0; i < showings && !signals_caught(); i++) {
        struct tally before = ev->tally;
        bool last = i + 1 == showings;

        entrants_begin_showing(&ev->entrants, i == 0, last);
        if (ev->gathered)
            arrivals_rewind(&ev->arrivals, i);
        if (!pass(ev, false))
            return false;
        if (!last)
            ev->tally = (struct tally){.records = before.records,
                                       .seen = before.seen,
                                       .skipped = before.skipped,
                                       .bytes = ev->tally.bytes};
    }
    entrants_end(&ev->entrants);
    return true;
}

static bool gather(struct evaluation *ev)
{
    uint64_t skipped;

    progress_open(&ev->progress, ev->request->verbosity.quiet, arrivals_total(&ev->arrivals));
    if (!pass(ev, true))
        return false;
    arrivals_end_keeping(&ev->arrivals);
    progress_clear(&ev->progress);
    skipped = ev->tally.skipped + ev->arrivals.files.reader.skipped; /* too long to be in a batch */
    ev->records = ev->tally.records;
    ev->tally = (struct tally){.skipped = skipped};
    ev->gathered = true;
    return true;
}

/* Interrupted orders would make uneven averages: they are left out. */
static bool show_orders(struct evaluation *ev)
{
    uint32_t orders = ev->request->measures.permutations;

    for (uint32_t i = 0; i < (orders ? orders : 1) && !signals_caught(); i++) {
        if (orders)
            kept_shuffle(&ev->arrivals.kept);
        if (arrivals_showings(&ev->arrivals) > 1 && !kept_find_staying(&ev->arrivals.kept))
            return reject("memory is short");
        if (!show_order(ev))
            return false;
    }
    return !signals_caught();
}

bool evaluation_run(struct evaluation *ev)
{
    bool ok;

    if (ev->request->measures.permutations && !ev->gathered && !gather(ev))
        return false;
    progress_open(&ev->progress, ev->request->verbosity.quiet, arrivals_total(&ev->arrivals));
    ok = ev->gathered ? show_orders(ev) : show_order(ev);
    progress_clear(&ev->progress);
    ev->tally.skipped += ev->gathered ? 0 : ev->arrivals.files.reader.skipped;
    ev->tally.seconds = now() - ev->progress.started;
    return ok;
}

/* Any filter hashes; one of the hash= asked for. */
static bool open_hasher(struct evaluation *ev)
{
    struct wanted w = {.algorithm = "bloom", .memory = "64", .seed = ev->request->wanted.seed};
    char sentence[SENTENCE_MAX];
    struct weir_error error;

    for (int i = 0; i < ev->request->wanted.sets; i++)
        if (strncmp(ev->request->wanted.set[i], "hash=", 5) == 0)
            w.set[w.sets++] = ev->request->wanted.set[i];
    if (!wanted_sentence(&w, NULL, NULL, sentence))
        return reject("the options of the filter are too long");
    return shards_open(&ev->hasher, sentence, 1, &error) == WEIR_OK || reject("%s", error.text);
}

bool evaluation_gather(struct evaluation *ev, const struct request *o, uint64_t most)
{
    *ev = (struct evaluation){.request = o};
    if (!signals_watch())
        return reject("the system is short of memory or files");
    if (!arrivals_open(&ev->arrivals, o) || !open_hasher(ev) ||
        !arrivals_start(&ev->arrivals, &ev->hasher))
        return false;
    ev->arrivals.kept.most = most;
    return gather(ev) && !signals_caught();
}

/* ---- the report ---- */

static void report_text(const struct evaluation *ev)
{
    const struct tally *y = &ev->tally;
    const struct truth *truth = &ev->arrivals.truth;

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
    if (ev->arrivals.kept.key)
        fprintf(stderr, ", the stream in memory %s",
                show_bytes((double)(kept_bytes(&ev->arrivals.kept))).text);
    fprintf(stderr, "; --seed %s repeats this\n", ev->entrants.seed);
}

static void report_json(const struct evaluation *ev)
{
    const struct truth *truth = &ev->arrivals.truth;
    json_t *all = json_pack(
        "{s:I,s:I,s:I,s:I,s:f,s:{s:s,s:I},s:I,s:s}", "records", (json_int_t)ev->tally.records,
        "repeats", (json_int_t)ev->tally.seen, "skipped", (json_int_t)ev->tally.skipped, "orders",
        (json_int_t)ev->entrants.orders, "seconds", ev->tally.seconds, "truth", "kind",
        truth->bitmap ? "bitmap" : "set", "bytes", (json_int_t)truth->bytes, "kept_bytes",
        (json_int_t)(kept_bytes(&ev->arrivals.kept)), "seed", ev->entrants.seed);
    char *text = all ? json_dumps(all, JSON_REAL_PRECISION(6)) : NULL;

    if (text)
        fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(all);
}

void evaluation_report(const struct evaluation *ev)
{
    enum stats_style style = stats_style(&ev->request->verbosity);

    if (style == STATS_TEXT)
        report_text(ev);
    else if (style == STATS_JSON)
        report_json(ev);
}
