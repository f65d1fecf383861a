/* evaluation.c - see evaluation.h. The threads' shards are here the filters: each takes the
 * batches in order, so that results do not depend on the number of threads. */
#include "eval/evaluation.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipe/threads.h"
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

/* ---- as the threads calls it ---- */

static enum read_result do_read(void *context, struct batch *b)
{
    struct evaluation *t = context;

    return arrivals_read(&t->arrivals, b);
}

static void do_prepare(void *context, struct batch *b)
{
    struct evaluation *t = context;

    arrivals_prepare(&t->arrivals, b);
}

static void do_judge(void *context, struct batch *b, uint32_t entrant)
{
    struct evaluation *t = context;

    entrant_meet(&t->entrants.entrant[entrant], arrivals_keys(b), b->answer, arrivals_in_batch(b));
}

static void do_keep(void *context, struct batch *b, uint32_t entrant)
{
    struct evaluation *t = context;

    (void)entrant;
    if (!b->failed && !arrivals_keep(&t->arrivals, b, b->failure))
        b->failed = true;
}

static void count(struct evaluation *t, const struct batch *b)
{
    uint32_t n = arrivals_in_batch(b);

    for (uint32_t i = 0; i < n && !t->arrivals.keeping; i++)
        t->tally.seen += b->answer[i];
    t->tally.records += n;
    t->tally.bytes += b->used;
    t->tally.skipped += b->n - n;
}

static bool do_write(void *context, struct batch *b)
{
    struct evaluation *t = context;

    count(t, b);
    if (progress_due(&t->progress))
        progress_draw(&t->progress, &t->tally, -1);
    if (b->failed && !t->failed)
        memcpy(t->failure, b->failure, sizeof t->failure);
    t->failed |= b->failed;
    return !t->failed;
}

static bool never(void *context)
{
    (void)context;
    return false;
}

static const struct threads_work keeping = {do_read, do_prepare, do_keep, do_write, never, never};
static const struct threads_work judging = {do_read, do_prepare, do_judge, do_write, never, never};

/* ---- the whole ---- */

static bool pass(struct evaluation *t, const struct threads_work *work, uint32_t shards)
{
    if (!threads_run(work, t, t->request->threads, shards))
        return reject("memory is short");
    if (t->failed && *t->failure) {
        progress_clear(&t->progress);
        fail("%s", t->failure);
    }
    return !t->failed;
}

static bool show_order(struct evaluation *t)
{
    entrants_begin(&t->entrants, arrivals_count(&t->arrivals));
    if (!pass(t, &judging, t->entrants.count))
        return false;
    entrants_end(&t->entrants);
    return true;
}

static bool gather(struct evaluation *t)
{
    uint64_t skipped;

    progress_open(&t->progress, t->request->verbosity.quiet, arrivals_total(&t->arrivals));
    if (!pass(t, &keeping, 1))
        return false;
    arrivals_kept(&t->arrivals);
    progress_clear(&t->progress);
    skipped = t->tally.skipped + t->arrivals.reader.skipped; /* too long to be in a batch */
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
    t->tally.skipped += t->gathered ? 0 : t->arrivals.reader.skipped;
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
