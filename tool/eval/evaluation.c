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

bool evaluation_open(struct evaluation *t, const struct request *o)
{
    static struct field field;

    *t = (struct evaluation){.request = o};
    if (!signals_watch())
        return reject("the system is short of memory or files");
    return arrivals_open(&t->arrivals, o) && field_read(&field, o, t->arrivals.weighed) &&
           entrants_open(&t->entrants, &field) &&
           arrivals_start(&t->arrivals, &t->entrants.entrant[0].filter);
}

void evaluation_close(struct evaluation *t)
{
    arrivals_close(&t->arrivals);
    entrants_close(&t->entrants);
    shards_close(&t->hasher);
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
    struct evaluation *t = context;

    entrant_meet(&t->entrants.entrant[entrant], arrivals_keys(b), b->answer, arrivals_in_batch(b));
}

static bool keep(void *context, struct batch *b)
{
    struct evaluation *t = context;

    if (!b->failed && !arrivals_keep(&t->arrivals, b, b->failure))
        b->failed = true;
    return true;
}

/* To the filters, each a part of the verdict, or into memory. */
static bool pass(struct evaluation *t, bool keeping)
{
    struct pipe pipe = {.source = arrivals_source(&t->arrivals),
                        .threads = t->request->threads,
                        .progress = &t->progress,
                        .tally = t->tally};
    bool ok;

    if (keeping)
        pipe.sink = (struct sink){.context = t, .take = keep};
    else
        pipe.verdict = (struct verdict){
            .context = t, .parts = t->entrants.count, .prepare = set_truth, .give = show};
    ok = pipe_run(&pipe) && !pipe.failed;
    t->tally = pipe.tally;
    if (pipe.failed && *pipe.failure) {
        progress_clear(&t->progress);
        fail("%s", pipe.failure);
    }
    return ok;
}

static bool show_order(struct evaluation *t)
{
    entrants_begin(&t->entrants, arrivals_count(&t->arrivals));
    if (!pass(t, false))
        return false;
    entrants_end(&t->entrants);
    return true;
}

static bool gather(struct evaluation *t)
{
    uint64_t skipped;

    progress_open(&t->progress, t->request->verbosity.quiet, arrivals_total(&t->arrivals));
    if (!pass(t, true))
        return false;
    arrivals_kept(&t->arrivals);
    progress_clear(&t->progress);
    skipped = t->tally.skipped + t->arrivals.files.reader.skipped; /* too long to be in a batch */
    t->records = t->tally.records;
    t->tally = (struct tally){.skipped = skipped};
    t->gathered = true;
    return true;
}

/* Interrupted orders would make uneven averages: they are not told. */
static bool show_orders(struct evaluation *t)
{
    uint32_t orders = t->request->measures.permutations;

    for (uint32_t i = 0; i < (orders ? orders : 1) && !signals_caught(); i++) {
        if (orders)
            arrivals_shuffle(&t->arrivals);
        else
            arrivals_rewind(&t->arrivals);
        if (!show_order(t))
            return false;
    }
    return !signals_caught();
}

bool evaluation_run(struct evaluation *t)
{
    bool ok;

    if (t->request->measures.permutations && !t->gathered && !gather(t))
        return false;
    progress_open(&t->progress, t->request->verbosity.quiet, arrivals_total(&t->arrivals));
    ok = t->gathered ? show_orders(t) : show_order(t);
    progress_clear(&t->progress);
    t->tally.skipped += t->gathered ? 0 : t->arrivals.files.reader.skipped;
    t->tally.seconds = now() - t->progress.started;
    return ok;
}

/* Any filter hashes; one of the hash= asked for. */
static bool open_hasher(struct evaluation *t)
{
    struct wanted w = {.algorithm = "bloom", .memory = "64", .seed = t->request->wanted.seed};
    char sentence[SENTENCE_MAX];
    struct weir_error error;

    for (int i = 0; i < t->request->wanted.sets; i++)
        if (strncmp(t->request->wanted.set[i], "hash=", 5) == 0)
            w.set[w.sets++] = t->request->wanted.set[i];
    if (!wanted_sentence(&w, NULL, NULL, sentence))
        return reject("the options of the filter are too long");
    return shards_open(&t->hasher, sentence, 1, &error) == WEIR_OK || reject("%s", error.text);
}

bool evaluation_gather(struct evaluation *t, const struct request *o, uint64_t most)
{
    *t = (struct evaluation){.request = o};
    if (!signals_watch())
        return reject("the system is short of memory or files");
    if (!arrivals_open(&t->arrivals, o) || !open_hasher(t) ||
        !arrivals_start(&t->arrivals, &t->hasher))
        return false;
    t->arrivals.most = most;
    return gather(t) && !signals_caught();
}

/* ---- the report ---- */

static void report_text(const struct evaluation *t)
{
    const struct tally *y = &t->tally;
    const struct truth *truth = &t->arrivals.truth;

    fprintf(stderr, "weir: %llu records, %llu of them new and %llu repeats",
            (unsigned long long)y->records, (unsigned long long)(y->records - y->seen),
            (unsigned long long)y->seen);
    if (t->request->measures.permutations)
        fprintf(stderr, ", in %u orders", t->entrants.orders);
    if (y->skipped)
        fprintf(stderr, "; %llu malformed and skipped", (unsigned long long)y->skipped);
    fprintf(stderr, "; %u filter%s in %.2f s\n", t->entrants.count,
            t->entrants.count == 1 ? "" : "s", y->seconds);
    fprintf(stderr, "weir: the truth took %s (%s)", show_bytes((double)truth->bytes).text,
            truth->bitmap ? "a bit per key" : "a set of fingerprints");
    if (t->arrivals.kept)
        fprintf(stderr, ", the stream in memory %s",
                show_bytes((double)(t->arrivals.room * sizeof *t->arrivals.kept)).text);
    fprintf(stderr, "; --seed %s repeats this\n", t->entrants.seed);
}

static void report_json(const struct evaluation *t)
{
    const struct truth *truth = &t->arrivals.truth;
    json_t *all = json_pack(
        "{s:I,s:I,s:I,s:I,s:f,s:{s:s,s:I},s:I,s:s}", "records", (json_int_t)t->tally.records,
        "repeats", (json_int_t)t->tally.seen, "skipped", (json_int_t)t->tally.skipped, "orders",
        (json_int_t)t->entrants.orders, "seconds", t->tally.seconds, "truth", "kind",
        truth->bitmap ? "bitmap" : "set", "bytes", (json_int_t)truth->bytes, "kept_bytes",
        (json_int_t)(t->arrivals.room * sizeof *t->arrivals.kept), "seed", t->entrants.seed);
    char *text = all ? json_dumps(all, JSON_REAL_PRECISION(6)) : NULL;

    if (text)
        fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(all);
}

void evaluation_report(const struct evaluation *t)
{
    enum stats_style style = stats_style(&t->request->verbosity);

    if (style == STATS_TEXT)
        report_text(t);
    else if (style == STATS_JSON)
        report_json(t);
}
