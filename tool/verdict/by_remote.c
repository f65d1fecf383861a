/* by_remote.c - see by_remote.h.
 *
 * A batch is sent in the order of reading, in the stage in which other verdicts are computed.
 * Its replies are awaited just before it is written. So as many batches are in flight as the
 * pipe has. */
#include "verdict/by_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/print.h"
#include "state/state.h"

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
            return reject("out of memory");
    return (r->under_way && r->taken_before && r->skip) || reject("out of memory");
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

    keys_hash(r->hash, b);
}

/* Use the verdicts of records that an earlier run sent. False: these are other records. */
static bool take_settled(struct remoting *r, struct batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const struct remote_verdict *v = &r->settled.list[r->taken];

        r->skip[i] = b->bads && b->bad[i];
        if (r->skip[i] || r->taken == r->settled.n)
            continue;
        if (v->lo != b->hash[i].lo || v->hi != b->hash[i].hi) {
            batch_fault(b, i, false,
                        "differs from the record at this position in the previous run");
            return false;
        }
        r->skip[i] = 1;
        b->verdict[i] = v->verdict;
        r->taken++;
    }
    return true;
}

static void give(void *context, struct batch *b)
{
    struct remoting *r = context;
    struct remote_keys keys = {.keys = b->hash,
                               .skip = b->bads ? b->bad : NULL,
                               .weighted = r->weighted,
                               .ask = r->ask,
                               .times = b->event.timed && b->event.begun != NO_TIME ? b->event.time
                                                                                    : NULL,
                               .begun = b->event.begun,
                               .ttls = b->event.has_ttl ? b->event.ttl : NULL};

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
        batch_fault(b, 0, false, "out of memory");
    r->given = b->ticket + 1;
}

/* The run ends before this batch; without a message after a signal. */
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
    good =
        good ? state_save_remote(r->path, r->note, &(struct in_flight){kept.data, kept.size, going})
             : reject("cannot save %s: out of memory", r->path);
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
    return r->note ? save_as(r, true) : reject("cannot save %s: out of memory", path);
}

bool remoting_end(struct remoting *r)
{
    return !r->note || r->saved != r->given || save_as(r, false);
}

/* ---- the report ---- */

/* Sums of all shards; false if the servers do not answer any more. */
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

static struct summary_figures figures_of(const struct remoting *r, const struct remote_shard *sum)
{
    return (struct summary_figures){"filter",    r->filter->spec, r->filter->shards,
                                    sum->memory, sum->fill,       sum->error};
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
    if (measure(r, &sum)) {
        struct summary_figures figures = figures_of(r, &sum);

        figures_report(&figures);
    }
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
    if (own && measure(r, &sum)) {
        struct summary_figures figures = figures_of(r, &sum);

        json_object_set_new(own, "filter", figures_describe(&figures));
    }
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
