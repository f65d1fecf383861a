/* by_screen.c - see ask_store.h. */
#include "verdict/ask_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <weir/hash.h>

#include "cli/print.h"
#include "cli/messages.h"
#include "state/shards.h"
#include "state/files.h"
#include "cli/units.h"
#include "verdict/by_filter.h"

static void learn(void *context, const struct weir_bytes *keys, size_t n)
{
    struct screening *s = context;

    weir_screen_add_members(s->screen, keys, n);
    s->loaded += n;
}

/* ---- the set ---- */

struct gathering {
    weir_builder *builder;
    struct weir_error error;
    enum weir_status status;
    uint64_t keys;
};

static void gather(void *context, const struct weir_bytes *keys, size_t n)
{
    struct gathering *g = context;

    if (g->status == WEIR_OK)
        g->status = weir_build_add_bytes(g->builder, keys, n, &g->error);
    g->keys += n;
}

/* A screen that confirms the hits of its set stores the set in a fixed filter: with as many bits as
 * fit into the memory for the set. */
static bool describe_set(const struct screening *s, char spec[WEIR_SPEC_MAX])
{
    const struct weir_algorithm *about = weir_find_algorithm(WEIR_KIND_SCREEN, s->config);
    uint64_t memory = 0, verdicts = 0, wanted = WEIR_CAN_HOLD_SET | WEIR_CAN_CONFIRM;
    char seed[32], hash[16];

    weir_spec_number(s->config, "memory", &memory);
    weir_spec_number(s->config, "verdicts", &verdicts);
    weir_spec_get(s->config, "seed", seed, sizeof seed);
    weir_spec_get(s->config, "hash", hash, sizeof hash);
    snprintf(spec, WEIR_SPEC_MAX, DEFAULT_FOR_FIXED " memory=%llu seed=%s hash=%s",
             (unsigned long long)(memory - verdicts), seed, hash);
    return (about->traits & wanted) == wanted;
}

/* WEIR_FULL if there is too little memory for that; other errors are reported. */
static enum weir_status hold_apart(struct screening *s, struct store *store)
{
    struct gathering g = {.status = WEIR_OK};
    char spec[WEIR_SPEC_MAX];
    struct spill spill;
    struct weir_spill room;

    if (!describe_set(s, spec) || weir_build_begin(&g.builder, spec, NULL, &g.error) != WEIR_OK)
        return WEIR_FULL;
    spill_open(&spill, SPILL_KEPT);
    room = spill_room(&spill);
    weir_build_spill(g.builder, &room);
    bool listed = store_list(store, gather, &g);
    if (listed && g.status == WEIR_OK)
        g.status = weir_build_finish(g.builder, &s->set, &g.error);
    else
        weir_build_cancel(g.builder);
    if (listed && g.status != WEIR_OK && g.status != WEIR_FULL)
        fail("%s", g.status == WEIR_WRITE_FAILED ? spill_failure(&spill) : g.error.text);
    else if (!listed)
        fail("this screen needs all keys of the store; %s", store_failure(store));
    spill_close(&spill);
    s->loaded = g.keys;
    return listed ? g.status : WEIR_UNSUPPORTED;
}

/* Load all keys of the store into the screen. False after a message. */
static bool load_set(struct screening *s, struct store *store)
{
    enum weir_status status = hold_apart(s, store);
    struct weir_error error;

    if (status == WEIR_OK)
        return weir_screen_attach_set(s->screen, s->set, &error) == WEIR_OK ||
               reject("%s", error.text);
    if (status != WEIR_FULL)
        return false;
    s->loaded = 0;
    return store_list(store, learn, s) ||
           reject("this screen needs all keys of the store; %s", store_failure(store));
}

bool screening_open(struct screening *s, struct asker *asker, weir_screen *screen)
{
    *s = (struct screening){
        .asker = asker, .screen = screen, .before = weir_screen_stats_of(screen)};
    weir_screen_config(screen, s->config, sizeof s->config);
    weir_spec_number(s->config, "span", &s->span);
    /* The set is loaded again, because the store may have changed since an earlier run. */
    weir_screen_clear_set(screen);
    if (!weir_screen_needs_set(screen))
        return true;
    double began = now();
    if (!load_set(s, asker_store(asker)))
        return false;
    s->loading = now() - began;
    return true;
}

void screening_close(struct screening *s)
{
    weir_screen_close(s->screen);
    weir_close(s->set);
}

/* ---- a batch ---- */

static void give(void *context, struct batch *b)
{
    const struct screening *s = context;

    asker_ask_all(s->asker, s->screen, b, s->span);
}

static double fill(void *context)
{
    const struct screening *s = context;

    return weir_screen_stats_of(s->screen).fill;
}

static bool save(void *context, const char *path, const char *note)
{
    const struct screening *s = context;

    return file_save_screen(path, note, s->screen);
}

/* ---- the report ---- */

/* What this run did. */
static struct weir_screen_stats stats_of(const struct screening *s)
{
    struct weir_screen_stats now = weir_screen_stats_of(s->screen);

    now.checked -= s->before.checked;
    now.asked -= s->before.asked;
    now.saved -= s->before.saved;
    now.unanswered -= s->before.unanswered;
    now.members -= s->before.members;
    return now;
}

struct set_spec {
    char text[WEIR_SPEC_MAX];
};

static struct set_spec set_of(const struct screening *s)
{
    struct set_spec set;

    weir_config(s->set, set.text, sizeof set.text);
    return set;
}

static double one_percent(const struct tally *t)
{
    return t->records ? (double)t->records / 100 : 1;
}

static void report_counts(void *context, const struct tally *t)
{
    (void)context;
    fprintf(stderr, ": %llu members (%.2f %%), %llu others", (unsigned long long)t->seen,
            (double)t->seen / one_percent(t),
            (unsigned long long)(t->records - t->seen - t->unanswered));
    if (t->unanswered)
        fprintf(stderr, ", %llu not answered", (unsigned long long)t->unanswered);
}

static json_t *describe_counts(void *context, const struct tally *t)
{
    (void)context;
    return json_pack("{s:I,s:I,s:I}", "members", (json_int_t)t->seen, "others",
                     (json_int_t)(t->records - t->seen - t->unanswered), "unanswered",
                     (json_int_t)t->unanswered);
}

static struct summary_figures figures_of(const struct screening *s,
                                         const struct weir_screen_stats *f)
{
    return (struct summary_figures){"screen", s->config, 0, f->memory, f->fill, f->error};
}

static void report(void *context, const struct tally *t)
{
    const struct screening *s = context;
    struct weir_screen_stats f = stats_of(s);
    struct store_stats o = store_stats(asker_store(s->asker));
    struct summary_figures figures = figures_of(s, &f);

    if (s->loaded)
        fprintf(stderr, "weir: before the run, the %llu keys of the store were loaded in %.2f s\n",
                (unsigned long long)s->loaded, s->loading);
    fprintf(stderr,
            "weir: the store was needed for %llu records (%.2f %%), %llu saved; asked for %llu "
            "different keys in %llu calls, waited %.2f s (%.1f %% of the time)",
            (unsigned long long)f.asked, (double)f.asked / one_percent(t),
            (unsigned long long)f.saved, (unsigned long long)o.keys, (unsigned long long)o.calls,
            o.seconds, 100 * o.seconds / (t->seconds + 1e-9));
    if (o.retries)
        fprintf(stderr, ", %llu retries", (unsigned long long)o.retries);
    fputc('\n', stderr);
    figures_report(&figures);
    if (s->set)
        fprintf(stderr, "weir: set of the screen: %s; false-positive rate %s\n", set_of(s).text,
                show_chance(weir_stats_of(s->set).error).text);
}

static void brief(void *context)
{
    const struct screening *s = context;

    fprintf(stderr, "; the store was asked for %llu keys",
            (unsigned long long)store_stats(asker_store(s->asker)).keys);
}

static json_t *describe(void *context, const struct tally *t)
{
    const struct screening *s = context;
    struct weir_screen_stats f = stats_of(s);
    struct store_stats o = store_stats(asker_store(s->asker));
    struct summary_figures figures = figures_of(s, &f);
    json_t *own = json_pack("{s:I,s:I,s:{s:I,s:f},s:{s:o,s:I,s:I,s:I,s:f,s:f},s:o}", "asked",
                            (json_int_t)f.asked, "saved", (json_int_t)f.saved, "loading", "keys",
                            (json_int_t)s->loaded, "seconds", s->loading, "store", "name",
                            utf8_string(store_name(asker_store(s->asker))), "calls",
                            (json_int_t)o.calls, "keys", (json_int_t)o.keys, "retries",
                            (json_int_t)o.retries, "seconds", o.seconds, "share",
                            o.seconds / (t->seconds + 1e-9), "screen", figures_describe(&figures));

    if (own && s->set)
        json_object_set_new(own, "set", json_string(set_of(s).text));
    return own;
}

static const struct verdict_summary summary = {.passes = true,
                                               .report_counts = report_counts,
                                               .describe_counts = describe_counts,
                                               .brief = brief,
                                               .report = report,
                                               .describe = describe};

void screening_doubt(const struct screening *s, const struct tally *t)
{
    if (s->set)
        asker_doubt(s->asker, t->records - t->seen, weir_stats_of(s->set).error);
}

struct verdict verdict_by_screen(struct screening *s)
{
    static const char *const words[] = {
        "other", "member", [VERDICT_NONE] = "skipped", [VERDICT_UNKNOWN] = "unknown"};

    return (struct verdict){.context = s,
                            .give = give,
                            .fill = fill,
                            .save = save,
                            .summary = &summary,
                            .words = words,
                            .seen = "members",
                            .filled = "screen",
                            .config = s->config,
                            .hash = {WEIR_HASH_XXH3, 0}};
}
