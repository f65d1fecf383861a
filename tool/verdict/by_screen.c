/* by_screen.c - see by_screen.h. */
#include "verdict/by_screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <weir/hash.h>

#include "cli/utf8.h"
#include "cli/messages.h"
#include "state/files.h"
#include "cli/units.h"

static void learn(void *context, const struct weir_bytes *keys, size_t n)
{
    struct screening *s = context;

    weir_screen_learn_set(s->screen, keys, n);
    s->loaded += n;
}

bool screening_open(struct screening *s, struct asker *asker, weir_screen *screen)
{
    struct store *store = asker_store(asker);

    *s = (struct screening){
        .asker = asker, .screen = screen, .before = weir_screen_stats_of(screen)};
    weir_screen_config(screen, s->config, sizeof s->config);
    /* The set is told anew, whatever the screen knows from an earlier run: what the store
     * has got or dropped since would be missed. */
    weir_screen_forget_set(screen);
    if (!weir_screen_wants_set(screen))
        return true;
    double began = now();
    if (!store_list(store, learn, s))
        return reject("this screen needs all keys of the store; %s", store_failure(store));
    s->loading = now() - began;
    return true;
}

void screening_close(struct screening *s)
{
    weir_screen_close(s->screen);
}

/* ---- a batch ---- */

static void give(void *context, struct batch *b, uint32_t part)
{
    const struct screening *s = context;

    (void)part;
    asker_ask_all(s->asker, s->screen, b);
}

static double fill(void *context, uint32_t part)
{
    const struct screening *s = context;

    (void)part;
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

static void report(void *context, const struct tally *t)
{
    const struct screening *s = context;
    struct weir_screen_stats f = stats_of(s);
    struct store_stats o = store_stats(asker_store(s->asker));
    double all = t->records ? (double)t->records / 100 : 1;

    fprintf(stderr, "weir: %llu records: %llu members (%.2f %%), %llu others",
            (unsigned long long)t->records, (unsigned long long)t->seen, (double)t->seen / all,
            (unsigned long long)(t->records - t->seen - t->unanswered));
    if (t->unanswered)
        fprintf(stderr, ", %llu not answered", (unsigned long long)t->unanswered);
    if (t->skipped)
        fprintf(stderr, ", %llu malformed and skipped", (unsigned long long)t->skipped);
    fprintf(stderr, "; %s in %.2f s: %s records/s\n", show_bytes((double)t->bytes).text, t->seconds,
            show_count((double)t->records / (t->seconds + 1e-9)).text);
    if (s->loaded)
        fprintf(stderr, "weir: before that, the store's %llu keys were loaded in %.2f s\n",
                (unsigned long long)s->loaded, s->loading);
    fprintf(stderr,
            "weir: the store was needed for %llu records (%.2f %%), %llu saved; asked for %llu "
            "different keys in %llu calls, waited %.2f s (%.1f %% of the time)",
            (unsigned long long)f.asked, (double)f.asked / all, (unsigned long long)f.saved,
            (unsigned long long)o.keys, (unsigned long long)o.calls, o.seconds,
            100 * o.seconds / (t->seconds + 1e-9));
    if (o.retries)
        fprintf(stderr, ", %llu retries", (unsigned long long)o.retries);
    fprintf(stderr,
            "\nweir: screen %s, %.1f %% full; a key it was never told of is taken for known "
            "with chance %.2g\n",
            s->config, f.fill * 100, f.error);
}

static json_t *describe(void *context, const struct tally *t)
{
    const struct screening *s = context;
    struct weir_screen_stats f = stats_of(s);
    struct store_stats o = store_stats(asker_store(s->asker));
    json_t *all = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:I,s:I}", "records",
                            (json_int_t)t->records, "members", (json_int_t)t->seen, "others",
                            (json_int_t)(t->records - t->seen - t->unanswered), "unanswered",
                            (json_int_t)t->unanswered, "passed", (json_int_t)t->passed, "skipped",
                            (json_int_t)t->skipped, "bytes", (json_int_t)t->bytes, "seconds",
                            t->seconds, "asked", (json_int_t)f.asked, "saved", (json_int_t)f.saved);

    if (all) {
        json_object_set_new(
            all, "loading",
            json_pack("{s:I,s:f}", "keys", (json_int_t)s->loaded, "seconds", s->loading));
        json_object_set_new(all, "store",
                            json_pack("{s:o,s:I,s:I,s:I,s:f,s:f}", "name",
                                      utf8_string(store_name(asker_store(s->asker))), "calls",
                                      (json_int_t)o.calls, "keys", (json_int_t)o.keys, "retries",
                                      (json_int_t)o.retries, "seconds", o.seconds, "share",
                                      o.seconds / (t->seconds + 1e-9)));
        json_object_set_new(all, "screen",
                            json_pack("{s:s,s:I,s:f,s:f}", "config", s->config, "memory",
                                      (json_int_t)f.memory, "fill", f.fill, "error", f.error));
    }
    return all;
}

struct verdict verdict_by_screen(struct screening *s)
{
    static const char *const words[] = {
        "other", "member", [VERDICT_NONE] = "skipped", [VERDICT_UNKNOWN] = "unknown"};

    return (struct verdict){.context = s,
                            .parts = 1,
                            .give = give,
                            .fill = fill,
                            .save = save,
                            .report = report,
                            .describe = describe,
                            .words = words,
                            .seen = "members",
                            .filled = "screen",
                            .config = s->config,
                            .hash = {WEIR_HASH_XXH3, 0}};
}
