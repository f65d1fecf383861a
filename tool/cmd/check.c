/* check.c - weir check: pass the records whose key is in a set that a slow,
 * exact store knows, and ask that store as rarely as possible. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "state/lock.h"
#include "cmd/commands.h"
#include "pipe/pipe.h"
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

/* ---- the set, for those that hold it ---- */

static void learn(void *context, const struct weir_bytes *keys, size_t n)
{
    weir_screen_learn_set(context, keys, n);
}

/* Screens of that kind want it, whatever they know from an earlier run: what was
 * added to the store since would be missed. */
static bool holds_set(const char *config)
{
    weir_screen *same;
    bool holds;

    if (weir_screen_open(&same, config, NULL) != WEIR_OK)
        return false;
    holds = weir_screen_wants_set(same);
    weir_screen_close(same);
    return holds;
}

static bool load_set(struct consult *store)
{
    char config[CONFIG_MAX];

    weir_screen_config(store->screen, config, sizeof config);
    return !holds_set(config) || store_list(store->oracle, learn, store->screen) ||
           fail("this screen needs all keys of the store; %s", store_failure(store->oracle)) == 0;
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

static bool load(const struct options *o, const char *keys, struct stored_screen *s)
{
    const char *path = o->state.path;

    if (!state_looks_right(path) || !file_load_screen(s, path))
        return false;
    return (s->has_state || fail("%s is not a state of 'weir check'", path) == 0) &&
           same_screen(o, s) && state_same_records(path, keys, &s->state);
}

/* ---- the whole ---- */

static int run(const struct options *o, struct consult *store, const char *keys,
               const struct state *resume)
{
    bool others = o->output.emit == EMIT_OTHERS;
    struct screening screening;
    struct tally tally = {0};
    int status = EXIT_ERROR;

    if (screening_open(&screening, store)) {
        struct job job = {
            .command = o->command,
            .inputs = options_inputs(o, 0),
            .records = &o->records,
            .verbosity = o->verbosity,
            .threads = 2, /* one reads and writes while the other waits */
            .linger = o->check.max_wait,
            .judge = judge_screening(&screening),
            .output = &o->output,
            .passes = passing(&o->output, others ? WEIR_NEW : WEIR_SEEN, o->patience.silence),
            .save = o->state.path,
            .state = o->state.path ? &o->state : NULL,
            .keys = keys,
            .resume = resume};

        status = flow_run(&job, &tally);
        consult_tell(store, tally.unanswered);
    }
    screening_close(&screening);
    return status;
}

/* How keys are made, and the store that knows them, without its password. */
static void describe_keys(const struct options *o, const char *store, char *text, size_t size)
{
    records_describe(&o->records, text, size);
    snprintf(text + strlen(text), size - strlen(text), " --oracle %s", store);
}

int cmd_check(const struct options *o)
{
    static struct stored_screen stored;
    const char *path = o->state.path, *url = o->check.oracle;
    char keys[1024];
    struct consult *store;
    int status = EXIT_ERROR;
    bool there;

    if (!url)
        return fail("'weir check' needs --oracle URL, the store that knows the set; 'weir filter "
                    "--keys FILE' does without");
    if (path && !lock_file(path))
        return EXIT_ERROR;
    there = path && access(path, F_OK) == 0;
    store = consult_open(url, &o->patience, o->records.nul, o->records.ignore_case);
    if (!store)
        return EXIT_ERROR;
    describe_keys(o, store_name(store->oracle), keys, sizeof keys);
    if (!there || load(o, keys, &stored)) {
        weir_screen_close(store->screen);
        store->screen = there ? stored.screen : open_asked(o, store->oracle);
        if (store->screen && load_set(store))
            status = run(o, store, keys, there && o->state.resume ? &stored.state : NULL);
    } else {
        weir_screen_close(stored.screen);
    }
    consult_close(store);
    return status;
}
