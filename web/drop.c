/* drop.c - advice for a file: the evaluator of `weir eval --report` (eval/, report/choice.h) with
 * the lines of a file as keys.
 *
 * The file is fed in pieces of whole lines. What is kept is bounded: all records of a share of the
 * keys, as in the command, so that long files are sampled and not cut. The measurement is divided
 * into steps, so that the page can show its progress. */
#include <stdlib.h>
#include <string.h>

#include "report/choice.h"
#include "web.h"

#define BATCH 4096
#define KEPT_MOST ((uint64_t)1 << 18)          /* records, if the file is all there is */
#define KEPT_GOING_ON_MOST ((uint64_t)1 << 16) /* HORIZON times as many keys follow */
#define BASELINE_MOST ((uint64_t)1 << 30)      /* bytes of the exact baseline */

static struct drop {
    struct evaluation ev;        /* only its records are used, not its pipe */
    struct truth all;            /* distinct keys of the file */
    struct options request; /* defaults */
    struct candidates list;
    struct entrants entrants;
    struct growth growth;
    struct limits limits;
    struct choice choice;
    bool going_on, sampled;
    uint32_t next;  /* entrant to be measured */
    uint8_t *truth; /* of the kept records */
    char failure[512];
} d;

static struct weir_bytes line[BATCH];
static struct weir_key key[BATCH];
static uint8_t verdict[BATCH];

/* ---- records ---- */

/* Forget the last file and begin with the next. 0, or 1 if memory is short. */
EXPORT(web_drop_begin) int web_drop_begin(int going_on, double lost, double passed)
{
    struct weir_error error;

    entrants_close(&d.entrants);
    truth_close(&d.all);
    truth_close(&d.ev.truth);
    replay_close(&d.ev.arrivals.replay);
    shards_close(&d.ev.hasher);
    free(d.truth);
    d = (struct drop){.limits = {lost, passed}, .going_on = going_on};
    d.ev.arrivals.replay =
        (struct replay){.most = going_on ? KEPT_GOING_ON_MOST : KEPT_MOST, .because = "this page"};
    if (!truth_open_set(&d.all, BASELINE_MOST, 0) ||
        !truth_open_set(&d.ev.truth, BASELINE_MOST, 0) ||
        shards_open(&d.ev.hasher, "memory=64 seed=1", 1, &error) != WEIR_OK)
        return answer_error("out of memory");
    return 0;
}

static bool add(uint32_t n)
{
    weir_hash_many(d.ev.hasher.w[0], line, n, key);
    d.ev.records += n;
    if (!truth_observe_keys(&d.all, key, NULL, n, verdict, d.failure))
        return false;
    for (uint32_t i = 0; i < n; i++)
        d.ev.tally.seen += verdict[i];
    return replay_add(&d.ev.arrivals.replay, key, n, &d.ev.truth, d.failure);
}

static size_t refuse(void)
{
    answer_error(d.failure);
    return SIZE_MAX;
}

/* Lines that end within these bytes are records. Returns how many bytes they have; SIZE_MAX after
 * an error. */
EXPORT(web_drop_feed) size_t web_drop_feed(const char *bytes, size_t size)
{
    size_t from = 0;
    uint32_t n = 0;

    for (const char *end; (end = memchr(bytes + from, '\n', size - from));) {
        size_t length = (size_t)(end - bytes) - from;

        line[n++] = (struct weir_bytes){bytes + from, length - (length && end[-1] == '\r')};
        from += length + 1;
        if (n == BATCH && !add(n))
            return refuse();
        n = n == BATCH ? 0 : n;
    }
    return n && !add(n) ? refuse() : from;
}

/* ---- measurement ---- */

/* Which of the kept records are repeats. */
static bool find_truth(void)
{
    struct replay *k = &d.ev.arrivals.replay;
    bool ok = replay_count_new(k, &d.ev.truth, d.ev.fresh, d.failure);

    d.truth = malloc(k->count + 1);
    for (uint64_t i = 0; d.truth && ok && i < k->count; i += BATCH) {
        uint64_t left = k->count - i;

        ok = truth_observe_keys(&d.ev.truth, k->key + i, NULL,
                                left < BATCH ? (uint32_t)left : BATCH, d.truth + i, d.failure);
    }
    return ok && d.truth;
}

/* Choose the filters and memories to measure: how many, or -1 after an error. */
EXPORT(web_drop_plan) int web_drop_plan(void)
{
    struct replay *k = &d.ev.arrivals.replay;

    if (k->count == 0)
        return -answer_error("the file has no lines");
    if (d.going_on && (d.ev.records < 1000 || d.all.used == d.ev.records))
        return -answer_error("too little to advise for a stream that goes on: it needs 1,000 lines "
                             "and a repeat; choose \"this is all\"");
    if (!find_truth())
        return -answer_error(*d.failure ? d.failure : "out of memory");
    d.growth = growth_of(&d.ev, d.going_on);
    d.ev.continuation = (struct continuation){
        .replay = k,
        .step = (uint64_t)(d.growth.horizon / (double)(UINT64_C(1) << k->halvings) / HORIZON) + 1};
    if (!candidates_open(&d.list, &d.entrants, &d.request, false, &d.growth, d.limits, k->halvings,
                         0, "1"))
        return -answer_error("no filter can be opened");
    entrants_begin(&d.entrants, k->count);
    return (int)d.entrants.count;
}

static void observe_all(struct entrant *e)
{
    struct replay *k = &d.ev.arrivals.replay;

    for (uint64_t i = 0; i < k->count; i += BATCH) {
        uint64_t left = k->count - i;

        entrant_observe(e, k->key + i, NULL, d.truth + i, left < BATCH ? (uint32_t)left : BATCH);
    }
}

/* Measure the next one. */
EXPORT(web_drop_step) void web_drop_step(void)
{
    struct entrants one = {.entrant = &d.entrants.entrant[d.next++], .count = 1};

    observe_all(one.entrant);
    entrants_end(&one);
    if (!d.going_on)
        return;
    entrants_begin_second(&one, &d.ev.continuation);
    observe_all(one.entrant);
}

static void add_range(const char *name, struct range range)
{
    answer("\"%s\":[", name);
    for (int i = 0; i < 2; i++) {
        double value = i ? range.high : range.low;

        if (value == value)
            answer("%.6g,", value);
        else
            answer("null,");
    }
    answer_close(']');
    answer(",");
}

static void add_entrant(uint32_t i)
{
    const struct outlook *o = &d.choice.outlook[i];
    const struct candidate *c = &d.list.candidate[i];

    answer("{");
    answer_text("name", c->name);
    answer_text("set", c->set ? c->set : "");
    answer_text("fpr", c->fpr && filter_takes(c->name, "fpr") ? c->fpr : "");
    answer_number("memory", (double)d.list.memory[c->memory]);
    add_range("lost", o->lost);
    add_range("passed", o->passed);
    answer("\"meets\":%s", o->meets ? "true" : "false");
    answer("},");
}

/* The answer: the file, the advice, and the best filter of each memory. */
EXPORT(web_drop_end) int web_drop_end(void)
{
    choose(&d.choice, d.going_on, &d.growth, d.limits, false, &d.list, &d.entrants);
    answer_begin();
    answer("{");
    answer_number("records", (double)d.ev.records);
    answer_number("distinct", (double)d.all.used);
    answer_number("repeats", (double)d.ev.tally.seen);
    answer_number("share", 1 / (double)(UINT64_C(1) << d.ev.arrivals.replay.halvings));
    answer("\"cut\":%s,\"meets\":%s,\"advice\":", d.ev.arrivals.replay.cut ? "true" : "false",
           d.choice.meets ? "true" : "false");
    add_entrant(d.choice.best);
    answer("\"memories\":[");
    for (uint32_t m = 0; m < d.list.memories; m++)
        if (d.choice.at[m] != UINT32_MAX)
            add_entrant(d.choice.at[m]);
    answer_close(']');
    answer("}");
    return 0;
}
