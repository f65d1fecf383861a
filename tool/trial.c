/* trial.c - see trial.h. The crew's shards are here the filters: each takes the
 * batches in order, so that results do not depend on the number of threads. */
#include "trial.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "say.h"
#include "signals.h"
#include "units.h"

bool trial_open(struct trial *t, const struct options *o)
{
    static struct field field;

    *t = (struct trial){.options = o};
    if (!signals_watch())
        return fail("the system is short of memory or files") == 0;
    return supply_open(&t->supply, o) && field_read(&field, o, t->supply.weighed) &&
           contest_open(&t->contest, &field) &&
           supply_start(&t->supply, &t->contest.rival[0].filter);
}

void trial_close(struct trial *t)
{
    supply_close(&t->supply);
    contest_close(&t->contest);
    shards_close(&t->hasher);
}

/* ---- as the crew calls it ---- */

static enum read_result do_read(void *context, struct batch *b)
{
    struct trial *t = context;

    return supply_read(&t->supply, b);
}

static void do_prepare(void *context, struct batch *b)
{
    struct trial *t = context;

    supply_prepare(&t->supply, b);
}

static void do_judge(void *context, struct batch *b, uint32_t rival)
{
    struct trial *t = context;

    rival_meet(&t->contest.rival[rival], supply_keys(b), b->answer, supply_count(b));
}

static void do_keep(void *context, struct batch *b, uint32_t rival)
{
    struct trial *t = context;

    (void)rival;
    if (!b->failed && !supply_keep(&t->supply, b, b->failure))
        b->failed = true;
}

static void count(struct trial *t, const struct batch *b)
{
    uint32_t n = supply_count(b);

    for (uint32_t i = 0; i < n && !t->supply.keeping; i++)
        t->tally.seen += b->answer[i];
    t->tally.records += n;
    t->tally.bytes += b->used;
    t->tally.skipped += b->n - n;
}

static bool do_write(void *context, struct batch *b)
{
    struct trial *t = context;

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

static const struct crew_work keeping = {do_read, do_prepare, do_keep, do_write, never, never};
static const struct crew_work judging = {do_read, do_prepare, do_judge, do_write, never, never};

/* ---- the whole ---- */

static bool pass(struct trial *t, const struct crew_work *work, uint32_t shards)
{
    if (!crew_run(work, t, t->options->threads, shards))
        return fail("memory is short") == 0;
    if (t->failed && *t->failure) {
        progress_clear(&t->progress);
        fail("%s", t->failure);
    }
    return !t->failed;
}

static bool show_order(struct trial *t)
{
    contest_begin(&t->contest, supply_arrivals(&t->supply));
    if (!pass(t, &judging, t->contest.rivals))
        return false;
    contest_end(&t->contest);
    return true;
}

static bool gather(struct trial *t)
{
    uint64_t skipped;

    progress_open(&t->progress, t->options, supply_total(&t->supply));
    if (!pass(t, &keeping, 1))
        return false;
    supply_kept(&t->supply);
    progress_clear(&t->progress);
    skipped = t->tally.skipped + t->supply.reader.skipped; /* too long to be in a batch */
    t->records = t->tally.records;
    t->tally = (struct tally){.skipped = skipped};
    t->gathered = true;
    return true;
}

/* Interrupted orders would make uneven averages: they are not told. */
static bool show_orders(struct trial *t)
{
    uint32_t orders = t->options->permutations;

    for (uint32_t i = 0; i < (orders ? orders : 1) && !signals_caught(); i++) {
        if (orders)
            supply_shuffle(&t->supply);
        else
            supply_rewind(&t->supply);
        if (!show_order(t))
            return false;
    }
    return !signals_caught();
}

bool trial_run(struct trial *t)
{
    bool ok;

    if (t->options->permutations && !t->gathered && !gather(t))
        return false;
    progress_open(&t->progress, t->options, supply_total(&t->supply));
    ok = t->gathered ? show_orders(t) : show_order(t);
    progress_clear(&t->progress);
    t->tally.skipped += t->gathered ? 0 : t->supply.reader.skipped;
    t->tally.seconds = now() - t->progress.started;
    return ok;
}

/* Any filter hashes; one of the hash= asked for. */
static bool open_hasher(struct trial *t)
{
    struct options o = {.algorithm = "bloom", .memory = "64", .seed = t->options->seed};
    char sentence[SENTENCE_MAX];
    struct weir_error error;

    for (int i = 0; i < t->options->sets; i++)
        if (strncmp(t->options->set[i], "hash=", 5) == 0)
            o.set[o.sets++] = t->options->set[i];
    if (!shards_sentence(&o, NULL, NULL, sentence))
        return fail("the options of the filter are too long") == 0;
    return shards_open(&t->hasher, sentence, 1, &error) == WEIR_OK || fail("%s", error.text) == 0;
}

bool trial_gather(struct trial *t, const struct options *o, uint64_t most)
{
    *t = (struct trial){.options = o};
    if (!signals_watch())
        return fail("the system is short of memory or files") == 0;
    if (!supply_open(&t->supply, o) || !open_hasher(t) || !supply_start(&t->supply, &t->hasher))
        return false;
    t->supply.most = most;
    return gather(t) && !signals_caught();
}

/* ---- the report ---- */

static void report_text(const struct trial *t)
{
    const struct tally *y = &t->tally;
    const struct truth *truth = &t->supply.truth;

    fprintf(stderr, "weir: %llu records, %llu of them new and %llu repeats",
            (unsigned long long)y->records, (unsigned long long)(y->records - y->seen),
            (unsigned long long)y->seen);
    if (t->options->permutations)
        fprintf(stderr, ", in %u orders", t->contest.orders);
    if (y->skipped)
        fprintf(stderr, "; %llu malformed and skipped", (unsigned long long)y->skipped);
    fprintf(stderr, "; %u filter%s in %.2f s\n", t->contest.rivals,
            t->contest.rivals == 1 ? "" : "s", y->seconds);
    fprintf(stderr, "weir: the truth took %s (%s)", show_bytes((double)truth->bytes).text,
            truth->bitmap ? "a bit per key" : "a set of fingerprints");
    if (t->supply.kept)
        fprintf(stderr, ", the stream in memory %s",
                show_bytes((double)(t->supply.room * sizeof *t->supply.kept)).text);
    fprintf(stderr, "; --seed %s repeats this\n", t->contest.seed);
}

static void report_json(const struct trial *t)
{
    const struct truth *truth = &t->supply.truth;
    json_t *all = json_pack(
        "{s:I,s:I,s:I,s:I,s:f,s:{s:s,s:I},s:I,s:s}", "records", (json_int_t)t->tally.records,
        "repeats", (json_int_t)t->tally.seen, "skipped", (json_int_t)t->tally.skipped, "orders",
        (json_int_t)t->contest.orders, "seconds", t->tally.seconds, "truth", "kind",
        truth->bitmap ? "bitmap" : "set", "bytes", (json_int_t)truth->bytes, "kept_bytes",
        (json_int_t)(t->supply.room * sizeof *t->supply.kept), "seed", t->contest.seed);
    char *text = all ? json_dumps(all, JSON_REAL_PRECISION(6)) : NULL;

    if (text)
        fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(all);
}

void trial_report(const struct trial *t)
{
    enum stats_style style = stats_style(t->options);

    if (style == STATS_TEXT)
        report_text(t);
    else if (style == STATS_JSON)
        report_json(t);
}
