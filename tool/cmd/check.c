/* check.c - weir check: pass the records whose key is in a set that a slow, exact store contains,
 * with as few lookups in the store as possible. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "state/replace.h"
#include "cmd/commands.h"
#include "cmd/run.h"
#include "pipe/write.h"
#include "cli/messages.h"
#include "cli/units.h"
#include "verdict/ask_store.h"
#include "state/files.h"

/* ---- which screen ---- */

/* The parameters that follow from the options and the store. members: the size of the set, if
 * known, for screens that are sized by it; `text` is for that parameter. */
static struct filter_request request(const struct options *o, const char *name, const char *members,
                                     char text[PARAMETER_MAX])
{
    struct filter_request w = o->filter;

    w.algorithm = name;
    if (!weir_find_parameter(WEIR_KIND_SCREEN, name, "memory"))
        w.memory = NULL; /* it needs none */
    if (members)
        request_add(&w, text, "set", members);
    return w;
}

static weir_screen *open_screen(const struct options *o, const char *name, const char *members)
{
    char spec[WEIR_SPEC_MAX], text[PARAMETER_MAX];
    struct filter_request w = request(o, name, members, text);
    struct weir_error error;
    weir_screen *s = NULL;

    if (request_complete(&w, WEIR_KIND_SCREEN, NULL, NULL, spec) &&
        weir_screen_open(&s, spec, &error) != WEIR_OK)
        fail("%s", error.text);
    return s;
}

/* Choose the screen for the store: the library chooses the type, the options the size. */
static weir_screen *choose(const struct options *o, bool known, uint64_t keys, const char *members,
                           struct weir_screen_choice *choice)
{
    struct filter_request some = {.memory = o->filter.memory};
    char spec[WEIR_SPEC_MAX];
    uint64_t memory = 0;
    /* With span=, the store is asked again, so verdicts are cached even if the list is short. */
    bool by_time = request_sets(&o->filter, "span") && !request_sets(&o->filter, "verdicts");

    if (!request_complete(&some, WEIR_KIND_SCREEN, NULL, NULL, spec))
        return NULL;
    weir_spec_number(spec, "memory", &memory);
    weir_screen_choose(choice, sizeof *choice, memory, known && !by_time, keys);
    choice->spec[strcspn(choice->spec, " ")] = '\0'; /* its name */
    if (by_time)
        snprintf(choice->reason, sizeof choice->reason,
                 "it keeps verdicts, which span= lets grow old");
    if (!weir_find_parameter(WEIR_KIND_SCREEN, choice->spec, "set"))
        members = NULL;
    return open_screen(o, choice->spec, members);
}

static bool is_automatic(const struct options *o)
{
    return !o->check.screen || strcmp(o->check.screen, "auto") == 0;
}

/* Print the choice, and for a filter of the set, how often it asks the store for non-members. */
static void report_choice(const struct weir_screen_choice *choice, const struct screening *s)
{
    char rate[64] = "";

    if (s->set && s->loaded)
        snprintf(rate, sizeof rate, ": the store is asked for %s of the others",
                 show_chance(weir_stats_of(s->set).error).text);
    note("screen %s: %s%s", choice->spec, choice->reason, rate);
}

static weir_screen *open_asked(const struct options *o, const struct asker *asker,
                               struct weir_screen_choice *choice)
{
    bool automatic = is_automatic(o), known;
    char text[24], *members = NULL;
    uint64_t keys = 0;

    if (automatic && o->filter.sets == 0 && store_is_hashed(asker_store(asker)))
        return open_screen(o, "none", NULL);
    known = (automatic || weir_find_parameter(WEIR_KIND_SCREEN, o->check.screen, "set")) &&
            asker_size(asker, &keys);
    if (known && !request_sets(&o->filter, "set")) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)(keys ? keys : 1));
        members = text;
    }
    if (automatic && o->records.cidr) /* the file is in memory: a screen saves nothing */
        return open_screen(o, "none", NULL);
    return automatic ? choose(o, known, keys, members, choice)
                     : open_screen(o, o->check.screen, members);
}

/* ---- a state ---- */

/* Do the options match the screen in the state? */
static bool is_held(const struct options *o, const weir_screen *s)
{
    char held[WEIR_SPEC_MAX], name[32], members[64], text[PARAMETER_MAX];
    bool automatic = is_automatic(o);

    if (automatic && !request_anything(&o->filter))
        return true; /* the state contains the choice */
    weir_screen_config(s, held, sizeof held);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(held, " "), held);
    bool sized =
        weir_spec_get(held, "set", members, sizeof members) && !request_sets(&o->filter, "set");
    struct filter_request w =
        request(o, automatic ? name : o->check.screen, sized ? members : NULL, text);
    return request_is_held(&w, WEIR_KIND_SCREEN, NULL, held, o->state.path);
}

/* The screen of the state; NULL after a message. */
static weir_screen *load(const struct options *o, const char *keys, struct stored_screen *s)
{
    const char *path = o->state.path;

    if (!state_looks_right(path) || !file_load_screen(s, path))
        return NULL;
    if (!s->has_state)
        fail("%s is not a state of 'weir check'", path);
    else if (is_held(o, s->screen) && state_same_records(path, keys, &s->state))
        return s->screen;
    weir_screen_close(s->screen);
    return NULL;
}

/* ---- the whole ---- */

/* The span of the screen, for the clock. */
static bool set_span(struct records *r, const struct screening *s)
{
    r->time.span = s->span;
    return !r->time.field || s->span ||
           reject(
               "--time: nothing here uses time; add -S span=1h, the time after which the store is "
               "asked again, for a screen that has it ('weir list')");
}

/* before: the state of an earlier run, or NULL. */
static int pass(const struct options *o, struct screening *s, const char *keys,
                const struct state *before)
{
    enum weir_verdict verdict = o->output.emit == EMIT_OTHERS ? WEIR_NEW : WEIR_SEEN;
    struct run r = run_continued(o, keys, before);
    struct tally tally = {0};
    int status;

    if (!set_span(&r.records, s))
        return EXIT_ERROR;
    run_tell_clock(&r, "the span");
    if (!write_answers_all(&r.output) ||
        o->check.waits) /* else a program may wait for the answer */
        r.linger = o->check.max_wait;
    r.verdict = verdict_by_screen(s);
    r.passes = write_passes(&r.output, verdict, o->patience.silence == SILENCE_PASSES);
    status = run(&r, &tally);
    asker_report(s->asker, tally.unanswered);
    screening_doubt(s, &tally);
    return status;
}

/* How keys are made, and the URL of the store without its password. */
static void describe_keys(const struct options *o, const char *store, char *text, size_t size)
{
    records_describe(&o->records, text, size);
    snprintf(text + strlen(text), size - strlen(text), " --store %s", store);
}

static int check(const struct options *o, struct asker *asker)
{
    static struct stored_screen stored;
    const char *path = o->state.path;
    bool there = path && access(path, F_OK) == 0;
    struct store *store = asker_store(asker);
    struct screening screening = {0};
    struct weir_screen_choice choice = {.spec = ""}; /* none */
    char keys[1024];
    weir_screen *screen;
    int status = EXIT_ERROR;

    describe_keys(o, store_name(store), keys, sizeof keys);
    screen = there ? load(o, keys, &stored) : open_asked(o, asker, &choice);
    if (screen && screening_open(&screening, asker, screen)) {
        if (*choice.spec && !o->verbosity.quiet)
            report_choice(&choice, &screening);
        status = pass(o, &screening, keys, there ? &stored.state : NULL);
    }
    screening_close(&screening);
    return status;
}

int cmd_check(struct options *o)
{
    const char *url = o->check.store;
    struct asker *asker;
    int status;

    if (!url)
        return fail("'weir check' needs --store URL, the store that contains the set; 'weir filter "
                    "--keys FILE' needs none");
    if (o->state.path && !lock_file(o->state.path))
        return EXIT_ERROR;
    asker = asker_open(url, &o->patience, &o->records);
    if (asker && !o->verbosity.quiet) {
        asker_tell_list(asker);
        if (!o->records.cidr)
            networks_report_store(url);
    }
    status = asker ? check(o, asker) : EXIT_ERROR;
    asker_close(asker);
    return status;
}
