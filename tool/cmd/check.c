/* check.c - weir check: pass the records whose key is in a set that a slow,
 * exact store knows, and ask that store as rarely as possible. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "state/lock.h"
#include "cmd/run.h"
#include "pipe/write.h"
#include "cli/messages.h"
#include "verdict/by_screen.h"
#include "state/files.h"

static bool has_knob(const char *screen, const char *name)
{
    const struct weir_knob *knob;

    for (size_t i = 0; weir_screen_about(i); i++)
        for (size_t j = 0; (knob = weir_screen_about_knob(i, j)); j++)
            if (strcmp(weir_screen_about(i)->name, screen) == 0 && strcmp(knob->name, name) == 0)
                return true;
    return false;
}

/* ---- which screen ---- */

/* Open the one that the options ask for under this name. members: of the set, if
 * known, for those that are laid out by it. seed: as in wanted_sentence(). */
static weir_screen *open_screen(const struct options *o, const char *name, const char *members,
                                const char *seed)
{
    struct wanted w = o->wanted;
    char knob[3][80], sentence[SENTENCE_MAX];
    struct weir_error error = {.text = "the options of the screen are too long"};
    const char *values[][2] = {
        {"window", o->check.window}, {"theta", o->check.theta}, {"set", members}};
    weir_screen *s = NULL;

    w.algorithm = name;
    if (!has_knob(name, "memory"))
        w.memory = NULL; /* it needs none */
    for (int i = 0; i < 3; i++) {
        if (!values[i][1] || w.sets == SETS_MAX)
            continue;
        snprintf(knob[i], sizeof knob[i], "%s=%.60s", values[i][0], values[i][1]);
        w.set[w.sets++] = knob[i];
    }
    if (!wanted_sentence(&w, NULL, seed, sentence) ||
        weir_screen_open(&s, sentence, &error) != WEIR_OK)
        fail("%s", error.text);
    return s;
}

/* Bytes that --memory, or the lack of it, gives to a screen; 0 after a sentence. */
static uint64_t memory_of(const char *memory)
{
    struct wanted w = {.algorithm = "strict", .memory = memory};
    char sentence[SENTENCE_MAX];
    struct weir_error error = {.text = "the options of the screen are too long"};
    uint64_t bytes = 0;
    weir_screen *some;

    if (!wanted_sentence(&w, NULL, NULL, sentence) ||
        weir_screen_open(&some, sentence, &error) != WEIR_OK) {
        fail("%s", error.text);
        return 0;
    }
    bytes = weir_screen_stats(some).memory;
    weir_screen_close(some);
    return bytes;
}

/* The one that suits the store; the library knows which, the options how large. */
static weir_screen *choose(const struct options *o, bool known, uint64_t keys, const char *members)
{
    uint64_t memory = memory_of(o->wanted.memory);
    struct weir_screen_choice choice;

    if (!memory)
        return NULL;
    choice = weir_screen_choose(memory, known, keys);
    choice.sentence[strcspn(choice.sentence, " ")] = '\0'; /* its name */
    if (!o->verbosity.quiet)
        note("screen %s: %s", choice.sentence, choice.reason);
    return open_screen(o, choice.sentence, has_knob(choice.sentence, "set") ? members : NULL, NULL);
}

static bool is_automatic(const struct options *o)
{
    return !o->check.screen || strcmp(o->check.screen, "auto") == 0;
}

static weir_screen *open_asked(const struct options *o, struct store *oracle)
{
    bool automatic = is_automatic(o), asks = automatic || has_knob(o->check.screen, "set");
    char text[24], *members = NULL;
    uint64_t keys = 0;
    bool known = asks && store_size(oracle, &keys);

    if (known && !wanted_sets(&o->wanted, "set")) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)(keys ? keys : 1));
        members = text;
    }
    return automatic ? choose(o, known, keys, members)
                     : open_screen(o, o->check.screen, members, NULL);
}

/* ---- a state ---- */

/* Would these options make the screen that the state holds? */
static bool same_screen(const struct options *o, const struct stored_screen *s)
{
    char held[CONFIG_MAX], name[32], now[CONFIG_MAX];
    bool automatic = is_automatic(o);
    weir_screen *asked;

    if (automatic && !wanted_anything(&o->wanted) && !o->check.window && !o->check.theta)
        return true; /* the state knows */
    weir_screen_config(s->screen, held, sizeof held);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(held, " "), held);
    struct value members = config_value(held, "set");
    asked = open_screen(o, automatic ? name : o->check.screen,
                        *members.text && !wanted_sets(&o->wanted, "set") ? members.text : NULL,
                        config_value(held, "seed").text);
    if (!asked)
        return false;
    weir_screen_config(asked, now, sizeof now);
    weir_screen_close(asked);
    return strcmp(held, now) == 0 ||
           fail("%s was saved by another screen, '%s', where now '%s' is asked for; leave the "
                "options out to go on with it, or remove the file to start anew",
                o->state.path, held, now) == 0;
}

/* The screen of the state; NULL after a sentence. */
static weir_screen *load(const struct options *o, const char *keys, struct stored_screen *s)
{
    const char *path = o->state.path;

    if (!state_looks_right(path) || !file_load_screen(s, path))
        return NULL;
    if (!s->has_state)
        fail("%s is not a state of 'weir check'", path);
    else if (same_screen(o, s) && state_same_records(path, keys, &s->state))
        return s->screen;
    weir_screen_close(s->screen);
    return NULL;
}

/* ---- the whole ---- */

static int pass(const struct options *o, struct screening *s, const char *keys,
                const struct state *resume)
{
    enum weir_verdict verdict = o->output.emit == EMIT_OTHERS ? WEIR_NEW : WEIR_SEEN;
    struct run r = run_asked(o, 0);
    struct tally tally = {0};
    int status;

    r.threads = 2; /* one reads and writes while the other waits for the store */
    r.linger = o->check.max_wait;
    r.verdict = verdict_by_screen(s);
    r.passes = write_passes(&r.output, verdict, o->patience.silence == SILENCE_PASSES);
    r.save = o->state.path;
    r.state = o->state;
    r.keys = keys;
    r.resume = resume;
    status = run(&r, &tally);
    asker_report(s->asker, tally.unanswered);
    return status;
}

/* How keys are made, and the store that knows them, without its password. */
static void describe_keys(const struct options *o, const char *store, char *text, size_t size)
{
    records_describe(&o->records, text, size);
    snprintf(text + strlen(text), size - strlen(text), " --oracle %s", store);
}

static int check(const struct options *o, struct asker *asker)
{
    static struct stored_screen stored;
    const char *path = o->state.path;
    bool there = path && access(path, F_OK) == 0;
    struct store *store = asker_store(asker);
    struct screening screening = {0};
    char keys[1024];
    weir_screen *screen;
    int status = EXIT_ERROR;

    describe_keys(o, store_name(store), keys, sizeof keys);
    screen = there ? load(o, keys, &stored) : open_asked(o, store);
    if (screen && screening_open(&screening, asker, screen))
        status = pass(o, &screening, keys, there && o->state.resume ? &stored.state : NULL);
    screening_close(&screening);
    return status;
}

int cmd_check(const struct options *o)
{
    const char *url = o->check.oracle;
    struct asker *asker;
    int status;

    if (!url)
        return fail("'weir check' needs --oracle URL, the store that knows the set; 'weir filter "
                    "--keys FILE' does without");
    if (o->state.path && !lock_file(o->state.path))
        return EXIT_ERROR;
    asker = asker_open(url, &o->patience, &o->records);
    status = asker ? check(o, asker) : EXIT_ERROR;
    asker_close(asker);
    return status;
}
