/* by_remote.c - see by_remote.h. A batch is sent where others give their verdicts, in the order of
 * reading, and its answers are waited for just before it is written: so as many batches are under
 * way as the pipe has. */
#include "verdict/by_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/json_text.h"
#include "state/under_way.h"
#include "verdict/deal.h"

bool remoting_open(struct remoting *r, uint32_t threads)
{
    r->hash = hash_of_spec(r->filter->spec);
    r->slots = 2 * (uint64_t)threads + 2; /* the pipe has one less */
    r->failed = UINT64_MAX;
    r->skip = malloc(RECORDS_MAX);
    r->taken_before = calloc(r->slots, sizeof *r->taken_before);
    r->under_way = calloc(r->slots, sizeof(struct remote_batch *));
    for (uint64_t i = 0; r->under_way && i < r->slots; i++)
        if (!(r->under_way[i] = remote_batch_open(r->remote)))
            return reject("memory is short");
    return (r->under_way && r->taken_before && r->skip) || reject("memory is short");
}

void remoting_close(struct remoting *r)
{
    for (uint64_t i = 0; r->under_way && i < r->slots; i++)
        remote_batch_close(r->under_way[i]);
    free(r->under_way);
    free(r->taken_before);
    free(r->settled.list);
    free(r->skip);
    free(r->note);
    r->under_way = NULL;
}

/* ---- a batch ---- */

static uint64_t ticket(void *context)
{
    return ((struct remoting *)context)->tickets++;
}

static struct remote_batch *commands_of(const struct remoting *r, const struct batch *b)
{
    return r->under_way[b->ticket % r->slots];
}

static void prepare(void *context, struct batch *b)
{
    const struct remoting *r = context;

    hash_keys(r->hash, b);
}

/* What a run before has sent already has its verdict. False: these are other records. */
static bool take_settled(struct remoting *r, struct batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct remote_verdict *v = &r->settled.list[r->taken];

        r->skip[i] = b->bads && b->bad[i];
        if (r->skip[i] || r->taken == r->settled.n)
            continue;
        if (v->lo != b->raw[i].lo || v->hi != b->raw[i].hi) {
            batch_fault(b, i, false,
                        "this is not the record that was here when the run before ended");
            return false;
        }
        r->skip[i] = 1;
        b->verdict[i] = v->verdict;
        r->taken++;
    }
    return true;
}

static void give(void *context, struct batch *b, uint32_t part)
{
    struct remoting *r = context;
    struct remote_keys keys = {.keys = b->raw,
                               .skip = b->bads ? b->bad : NULL,
                               .weighted = r->weighted,
                               .ask = r->ask,
                               .times = b->timed && b->begun != NO_TIME ? b->time : NULL,
                               .begun = b->begun};

    (void)part;
    memset(b->verdict, VERDICT_NONE, b->n);
    r->taken_before[b->ticket % r->slots] = r->taken;
    if (r->taken < r->settled.n) {
        take_settled(r, b);
        keys.skip = r->skip;
    }
    keys.n = b->n;
    if (remote_batch_fill(commands_of(r, b), &keys))
        remote_batch_send(commands_of(r, b));
    else
        batch_fault(b, 0, false, "memory is short");
    r->given = b->ticket + 1;
}

/* The run ends before this batch; after a signal that needs no words. */
static void stop_before(struct remoting *r, struct batch *b)
{
    r->failed = b->ticket;
    batch_fault(b, 0, false, "not passed, nor any record after it: %.400s",
                remote_failure(r->remote));
    if (signals_caught())
        *b->failure = '\0';
}

static void complete(void *context, struct batch *b)
{
    struct remoting *r = context;

    if (b->n > 0 && !remote_batch_take(commands_of(r, b), b->verdict))
        stop_before(r, b);
}

/* ---- the state ---- */

static bool save_as(const struct remoting *r, bool going)
{
    struct remote_kept kept = {.data = NULL};
    size_t passed = r->failed < r->given ? r->taken_before[r->failed % r->slots] : r->taken;
    bool good = remote_keep_settled(&kept, &r->settled, passed);

    for (uint64_t i = r->failed; i < r->given && good; i++)
        good = remote_keep(&kept, r->under_way[i % r->slots]);
    good = good ? under_way_save(r->path, r->note, &(struct under_way){kept.data, kept.size, going})
                : reject("cannot save %s: memory is short", r->path);
    free(kept.data);
    return good;
}

static bool save(void *context, const char *path, const char *note)
{
    struct remoting *r = context;

    free(r->note);
    r->note = strdup(note);
    r->path = path;
    r->saved = r->given;
    return r->note ? save_as(r, true) : reject("cannot save %s: memory is short", path);
}

bool remoting_end(struct remoting *r)
{
    return !r->note || r->saved != r->given || save_as(r, false);
}

/* ---- the report ---- */

/* All shards together; false if they cannot be asked any more. */
static bool measure(const struct remoting *r, struct remote_shard *sum)
{
    uint32_t n = r->filter->shards;
    struct remote_shard *all = calloc(n, sizeof *all);
    bool good = all && remote_measure(r->remote, all);

    *sum = (struct remote_shard){.memory = 0};
    for (uint32_t i = 0; good && i < n; i++) {
        sum->memory += all[i].memory;
        sum->fill += all[i].fill / n;
        sum->error += all[i].error / n;
    }
    free(all);
    return good;
}

static void report(void *context, const struct tally *t)
{
    const struct remoting *r = context;
    struct remote_figures f = remote_figures(r->remote);
    struct remote_shard sum;

    (void)t;
    fprintf(stderr,
            "weir: %s: %llu commands, %llu sent again, %llu redirected, %llu connections lost\n",
            remote_name(r->remote), (unsigned long long)f.commands, (unsigned long long)f.retries,
            (unsigned long long)f.redirections, (unsigned long long)f.reconnects);
    if (measure(r, &sum))
        fprintf(stderr,
                "weir: filter %s, shards: %u, %.1f %% full; a new key is taken for seen with "
                "chance %.2g\n",
                r->filter->spec, r->filter->shards, sum.fill * 100, sum.error);
}

static json_t *describe(void *context, const struct tally *t)
{
    const struct remoting *r = context;
    struct remote_figures f = remote_figures(r->remote);
    struct remote_shard sum;
    json_t *own =
        json_pack("{s:{s:o,s:I,s:I,s:I,s:I,s:I}}", "servers", "name",
                  utf8_string(remote_name(r->remote)), "commands", (json_int_t)f.commands,
                  "retries", (json_int_t)f.retries, "redirections", (json_int_t)f.redirections,
                  "reconnects", (json_int_t)f.reconnects, "lost", (json_int_t)f.lost);

    (void)t;
    if (own && measure(r, &sum))
        json_object_set_new(own, "filter",
                            json_pack("{s:s,s:I,s:I,s:f,s:f}", "config", r->filter->spec, "shards",
                                      (json_int_t)r->filter->shards, "memory",
                                      (json_int_t)sum.memory, "fill", sum.fill, "error",
                                      sum.error));
    return own;
}

static const struct verdict_summary summary = {
    .passes = true, .rates_both = true, .report = report, .describe = describe};

struct verdict verdict_by_remote(struct remoting *r)
{
    static const char *const words[] = {
        "new", "seen", [VERDICT_NONE] = "skipped", [VERDICT_UNKNOWN] = "unknown"};

    return (struct verdict){.context = r,
                            .completer = r,
                            .parts = 1,
                            .ticket = ticket,
                            .prepare = prepare,
                            .give = give,
                            .complete = complete,
                            .save = save,
                            .summary = &summary,
                            .words = words,
                            .seen = "seen",
                            .config = r->filter->spec,
                            .hash = r->hash};
}
