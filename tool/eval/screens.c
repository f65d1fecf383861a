/* screens.c - see screens.h. The store answers each batch once. Screens then find its answers in a
 * table, by the hashes of their keys. */
#include "eval/screens.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "eval/entrants.h"

#define SLOTS (2 * RECORDS_MAX)
#define ASK_ALL "none"      /* the screen that asks for every key */
#define MEMORY_DEFAULT "1M" /* as of weir check */

struct screened_batch {
    struct weir_bytes key[RECORDS_MAX]; /* the valid ones */
    uint64_t time[RECORDS_MAX];
    uint8_t truth[RECORDS_MAX], answer[RECORDS_MAX];
    uint32_t n;
    uint32_t slot[SLOTS]; /* 1 + the key that is there */
    struct weir_key hash[RECORDS_MAX];
};

/* ---- opening ---- */

static weir_screen *open_screen(const struct screens *s, const struct selection *c,
                                const char *name, const char *memory)
{
    struct filter_request w = selection_request(c, name, memory, NULL, NULL);
    char spec[WEIR_SPEC_MAX], parameter[PARAMETER_MAX], number[24];
    struct weir_error error;
    weir_screen *screen = NULL;
    uint64_t keys;

    if (weir_find_parameter(WEIR_KIND_SCREEN, name, "set") && !request_sets(&w, "set") &&
        asker_size(s->asker, &keys)) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)(keys ? keys : 1));
        request_add(&w, parameter, "set", number);
    }
    if (request_complete(&w, WEIR_KIND_SCREEN, NULL, NULL, spec) &&
        weir_screen_open(&screen, spec, &error) != WEIR_OK)
        fail("%s", error.text);
    return screen;
}

static bool add(struct screens *s, const struct selection *c, const char *name, const char *memory)
{
    weir_screen *screen;

    if (s->count == SCREENS_MAX)
        return reject("at most %d screens can be measured at once", SCREENS_MAX);
    if (!(screen = open_screen(s, c, name, memory)))
        return false;
    if (!screening_open(&s->screening[s->count++], s->asker, screen))
        return false;
    struct screen_row *row = &s->row[s->count - 1];
    selection_describe(s->screening[s->count - 1].config, row->name, row->settings);
    row->memory = weir_screen_stats_of(screen).memory;
    return true;
}

static bool add_all(struct screens *s, const struct selection *c)
{
    for (uint32_t m = 0; m < c->memories; m++)
        for (uint32_t i = 0; i < c->names; i++)
            if ((m == 0 || /* otherwise it is there already */
                 weir_find_parameter(WEIR_KIND_SCREEN, c->name[i], "memory")) &&
                !add(s, c, c->name[i], c->memory[m]))
                return false;
    return true;
}

bool screens_open(struct screens *s, const struct options *o)
{
    static struct selection choices;

    *s = (struct screens){.request = o, .batch = calloc(1, sizeof *s->batch)};
    if (!s->batch)
        return reject("out of memory");
    if (!signals_watch() || !selection_read(&choices, o, WEIR_KIND_SCREEN, false) ||
        !arrivals_open(&s->arrivals, o))
        return false;
    if (choices.memories == 0)
        snprintf(choices.memory[choices.memories++], sizeof choices.memory[0], MEMORY_DEFAULT);
    s->asker = asker_open(o->check.store, &o->patience, &o->records);
    if (!s->asker)
        return false;
    if (weir_screen_open(&s->none, ASK_ALL, NULL) != WEIR_OK)
        return reject("out of memory");
    return add_all(s, &choices);
}

void screens_close(struct screens *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        screening_close(&s->screening[i]);
    weir_screen_close(s->none);
    asker_close(s->asker);
    if (s->arrivals.request)
        arrivals_close(&s->arrivals);
    free(s->batch);
}

/* ---- a batch ---- */

/* The slot of a key, or its free slot. */
static uint32_t *slot_of(struct screened_batch *t, const struct weir_key *key)
{
    uint32_t at = (uint32_t)key->lo % SLOTS;

    while (t->slot[at] &&
           (t->hash[t->slot[at] - 1].lo != key->lo || t->hash[t->slot[at] - 1].hi != key->hi))
        at = (at + 1) % SLOTS;
    return &t->slot[at];
}

/* A weir_screen_store: the store's answers. */
static bool look_up(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    struct screened_batch *t = context;

    for (size_t i = 0; i < n; i++) {
        struct weir_key key = weir_hash_bytes(WEIR_HASH_XXH3, 0, keys[i].data, keys[i].size);
        uint32_t found = *slot_of(t, &key);

        answers[i] = found ? t->truth[found - 1] : WEIR_UNANSWERED;
    }
    return true;
}

static void take_truth(struct screened_batch *t, const struct batch *b)
{
    t->n = 0;
    memset(t->slot, 0, sizeof t->slot);
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->verdict[i] == VERDICT_NONE)
            continue;
        t->key[t->n] = b->key[i];
        t->time[t->n] = b->event.timed ? b->event.time[i] : 0;
        t->truth[t->n] = b->verdict[i] == WEIR_SEEN ? WEIR_MEMBER : WEIR_OTHER;
        t->hash[t->n] = weir_hash_bytes(WEIR_HASH_XXH3, 0, b->key[i].data, b->key[i].size);
        *slot_of(t, &t->hash[t->n]) = t->n + 1;
        t->n++;
    }
}

static void count(struct screen_row *row, const struct screened_batch *t)
{
    row->n += t->n;
    for (uint32_t i = 0; i < t->n; i++) {
        bool is = t->truth[i] == WEIR_MEMBER, said = t->answer[i] == WEIR_MEMBER;

        row->members += is;
        row->right += is && said;
        row->wrong += !is && said;
    }
}

static void give(void *context, struct batch *b)
{
    struct screens *s = context;

    asker_ask_all(s->asker, s->none, b, 0);
    take_truth(s->batch, b);
    struct timed_keys keys = {s->batch->n, s->batch->key, s->batch->time};
    for (uint32_t i = 0; i < s->count; i++) {
        screen_check_at(s->screening[i].screen, &keys, s->screening[i].span, look_up, s->batch,
                        s->batch->answer);
        count(&s->row[i], s->batch);
    }
}

/* ---- the run ---- */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static void finish(struct screen_row *row, const struct screening *screening)
{
    row->precision = share(row->right, row->right + row->wrong);
    row->recall = share(row->right, row->members);
    row->fpr = share(row->wrong, row->n - row->members);
    row->fnr = share(row->members - row->right, row->members);
    row->calls = weir_screen_stats_of(screening->screen).asked;
    row->share = share(row->calls, row->n);
}

bool screens_run(struct screens *s)
{
    struct progress progress;
    struct pipe pipe = {.source = arrivals_source(&s->arrivals),
                        .verdict = {.context = s, .give = give},
                        .clock = arrivals_clock(&s->arrivals),
                        .threads = 2, /* one reads while the other asks */
                        .progress = &progress};
    bool ok;

    arrivals_progress(&s->arrivals, &progress);
    progress.seen = "members";
    ok = pipe_run(&pipe) && !pipe.failed && !signals_caught();
    progress_clear(&progress);
    if (pipe.failed && *pipe.failure)
        fail("%s", pipe.failure);
    s->tally = pipe.tally;
    s->tally.seconds = now() - progress.started;
    for (uint32_t i = 0; i < s->count; i++)
        finish(&s->row[i], &s->screening[i]);
    return ok;
}

#define COLUMN(name, kind, member) TABLE_COLUMN(screen_row, name, kind, member)
#define REST(name, kind, member) TABLE_REST(screen_row, name, kind, member)

struct table screens_table(const struct screens *s)
{
    static const struct table_column columns[] = {
        COLUMN("screen", CHARS, name),
        REST("settings", CHARS, settings),
        COLUMN("memory_bytes", BYTES, memory),
        REST("n", COUNT, n),
        REST("members", COUNT, members),
        COLUMN("precision", RATE, precision),
        COLUMN("recall", RATE, recall),
        REST("fpr", RATE, fpr),
        REST("fnr", RATE, fnr),
        COLUMN("calls", COUNT, calls),
        REST("calls_share", RATE, share),
        {NULL},
    };

    return (struct table){columns, s->row, sizeof *s->row, s->count};
}

void screens_report(const struct screens *s)
{
    enum stats_style style = stats_style(&s->request->verbosity);
    const struct tally *t = &s->tally;

    tell_skipped(t, &s->request->verbosity, s->request->operands > 1);
    if (style == STATS_TEXT || style == STATS_LINE) {
        fprintf(stderr, "weir: %llu records, %llu of them of members",
                (unsigned long long)t->records, (unsigned long long)t->seen);
        if (t->skipped)
            fprintf(stderr, "; %llu malformed and skipped", (unsigned long long)t->skipped);
        fprintf(stderr, "; %u screen%s in %.2f s\n", s->count, s->count == 1 ? "" : "s",
                t->seconds);
    } else if (style == STATS_JSON) {
        fprintf(stderr,
                "{\"records\": %llu, \"members\": %llu, \"skipped\": %llu, \"screens\": %u, "
                "\"seconds\": %.6g}\n",
                (unsigned long long)t->records, (unsigned long long)t->seen,
                (unsigned long long)t->skipped, s->count, t->seconds);
    }
}
