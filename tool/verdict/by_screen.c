/* by_screen.c - see by_screen.h. */
#include "verdict/by_screen.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/messages.h"
#include "state/files.h"
#include "cli/units.h"

bool screening_open(struct screening *s, struct consult *store)
{
    *s = (struct screening){.store = store, .before = weir_screen_stats(store->screen)};
    weir_screen_config(store->screen, s->config, sizeof s->config);
    return weir_open(&s->hasher, "bloom memory=64 seed=0", NULL) == WEIR_OK ||
           fail("memory is short") == 0;
}

void screening_close(struct screening *s)
{
    weir_close(s->hasher);
    s->hasher = NULL;
}

/* ---- a batch ---- */

static void prepare(const struct judge *j, struct batch *b, bool important)
{
    (void)j, (void)b, (void)important; /* keys go as they are */
}

static void judge(const struct judge *j, struct batch *b, uint32_t part)
{
    const struct screening *s = j->context;

    (void)part;
    consult_all(s->store, b);
}

static double fill(const struct judge *j, uint32_t part)
{
    const struct screening *s = j->context;

    (void)part;
    return weir_screen_stats(s->store->screen).fill;
}

static bool save(const struct judge *j, const char *path, const char *note)
{
    const struct screening *s = j->context;

    return file_save_screen(path, note, s->store->screen);
}

/* ---- the report ---- */

/* What this run did. */
static struct weir_screen_stats stats_of(const struct screening *s)
{
    struct weir_screen_stats now = weir_screen_stats(s->store->screen);

    now.checked -= s->before.checked;
    now.asked -= s->before.asked;
    now.saved -= s->before.saved;
    now.unanswered -= s->before.unanswered;
    now.members -= s->before.members;
    return now;
}

static void report(const struct judge *j, const struct tally *t)
{
    const struct screening *s = j->context;
    struct weir_screen_stats f = stats_of(s);
    struct store_stats o = store_stats(s->store->oracle);
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

static json_t *describe(const struct judge *j, const struct tally *t)
{
    const struct screening *s = j->context;
    struct weir_screen_stats f = stats_of(s);
    struct store_stats o = store_stats(s->store->oracle);
    json_t *all = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:I,s:I}", "records",
                            (json_int_t)t->records, "members", (json_int_t)t->seen, "others",
                            (json_int_t)(t->records - t->seen - t->unanswered), "unanswered",
                            (json_int_t)t->unanswered, "passed", (json_int_t)t->passed, "skipped",
                            (json_int_t)t->skipped, "bytes", (json_int_t)t->bytes, "seconds",
                            t->seconds, "asked", (json_int_t)f.asked, "saved", (json_int_t)f.saved);

    if (all) {
        json_object_set_new(all, "store",
                            json_pack("{s:s,s:I,s:I,s:I,s:f,s:f}", "name",
                                      store_name(s->store->oracle), "calls", (json_int_t)o.calls,
                                      "keys", (json_int_t)o.keys, "retries", (json_int_t)o.retries,
                                      "seconds", o.seconds, "share",
                                      o.seconds / (t->seconds + 1e-9)));
        json_object_set_new(all, "screen",
                            json_pack("{s:s,s:I,s:f,s:f}", "config", s->config, "memory",
                                      (json_int_t)f.memory, "fill", f.fill, "error", f.error));
    }
    return all;
}

static const char *const words[] = {"other", "member", [VERDICT_UNKNOWN] = "unknown"};

struct judge judge_screening(struct screening *s)
{
    return (struct judge){.context = s,
                          .parts = 1,
                          .config = s->config,
                          .hasher = s->hasher,
                          .words = words,
                          .seen = "members",
                          .holder = "screen",
                          .prepare = prepare,
                          .judge = judge,
                          .fill = fill,
                          .save = save,
                          .report = report,
                          .describe = describe};
}
