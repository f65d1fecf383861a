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
 * known, for those that are laid out by it. seed: as in shards_sentence(). */
static weir_screen *open_screen(const struct options *o, const char *name, const char *members,
                                const char *seed)
{
    struct options asked = *o;
    char knob[3][80], sentence[SENTENCE_MAX];
    struct weir_error error = {.text = "the options of the screen are too long"};
    const char *values[][2] = {{"window", o->window}, {"theta", o->theta}, {"set", members}};
    weir_screen *s = NULL;

    asked.algorithm = name;
    if (!has_knob(name, "memory"))
        asked.memory = NULL; /* it needs none */
    for (int i = 0; i < 3; i++) {
        if (!values[i][1] || asked.sets == SETS_MAX)
            continue;
        snprintf(knob[i], sizeof knob[i], "%s=%.60s", values[i][0], values[i][1]);
        asked.set[asked.sets++] = knob[i];
    }
    if (!shards_sentence(&asked, NULL, seed, sentence) ||
        weir_screen_open(&s, sentence, &error) != WEIR_OK)
        fail("%s", error.text);
    return s;
}

static bool sets_members(const struct options *o)
{
    for (int i = 0; i < o->sets; i++)
        if (strncmp(o->set[i], "set=", 4) == 0)
            return true;
    return false;
}

/* The one that suits the store; the library knows which, the options how large. */
static weir_screen *choose(const struct options *o, bool known, uint64_t keys, const char *members)
{
    weir_screen *some = open_screen(&(struct options){.memory = o->memory}, "strict", NULL, NULL);
    struct weir_screen_choice choice;

    if (!some)
        return NULL;
    choice = weir_screen_choose(weir_screen_stats(some).memory, known, keys);
    weir_screen_close(some);
    choice.sentence[strcspn(choice.sentence, " ")] = '\0'; /* its name */
    if (!o->quiet)
        note("screen %s: %s", choice.sentence, choice.reason);
    return open_screen(o, choice.sentence, has_knob(choice.sentence, "set") ? members : NULL, NULL);
}

static weir_screen *open_asked(const struct options *o, struct store *oracle)
{
    bool automatic = !o->screen || strcmp(o->screen, "auto") == 0;
    bool wanted = automatic || has_knob(o->screen, "set");
    char text[24], *members = NULL;
    uint64_t keys = 0;
    bool known = wanted && store_size(oracle, &keys);

    if (known && !sets_members(o)) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)(keys ? keys : 1));
        members = text;
    }
    return automatic ? choose(o, known, keys, members) : open_screen(o, o->screen, members, NULL);
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
    bool automatic = !o->screen || strcmp(o->screen, "auto") == 0;
    weir_screen *asked;

    if (automatic && !o->memory && !o->sets && !o->seed && !o->window && !o->theta)
        return true; /* the state knows */
    weir_screen_config(s->screen, held, sizeof held);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(held, " "), held);
    struct value members = config_value(held, "set");
    asked = open_screen(o, automatic ? name : o->screen,
                        *members.text && !sets_members(o) ? members.text : NULL,
                        config_value(held, "seed").text);
    if (!asked)
        return false;
    weir_screen_config(asked, now, sizeof now);
    weir_screen_close(asked);
    return strcmp(held, now) == 0 ||
           fail("%s was saved by another screen, '%s', where now '%s' is asked for; leave the "
                "options out to go on with it, or remove the file to start anew",
                o->state, held, now) == 0;
}

static bool load(const struct options *o, struct stored_screen *s)
{
    if (!state_looks_right(o->state) || !file_load_screen(s, o->state))
        return false;
    return (s->has_state || fail("%s is not a state of 'weir check'", o->state) == 0) &&
           same_screen(o, s) && state_same_records(o, &s->state);
}

/* ---- the whole ---- */

static int run(const struct options *o, struct consult *store, const struct state *resume)
{
    struct screening screening;
    struct tally tally = {0};
    int status = EXIT_ERROR;

    if (screening_open(&screening, store)) {
        struct job job = {.options = o,
                          .files = o->operand,
                          .count = o->operands,
                          .judge = judge_screening(&screening),
                          .passes = o->emit == EMIT_OTHERS ? WEIR_NEW : WEIR_SEEN,
                          .save = o->state,
                          .stateful = o->state != NULL,
                          .resume = resume};

        status = flow_run(&job, &tally);
        consult_tell(store, tally.unanswered);
    }
    screening_close(&screening);
    return status;
}

int cmd_check(const struct options *o)
{
    static struct stored_screen stored;
    struct options told = *o;
    struct consult *store;
    int status = EXIT_ERROR;
    bool there;

    if (!o->oracle)
        return fail("'weir check' needs --oracle URL, the store that knows the set; 'weir filter "
                    "--keys FILE' does without");
    if (o->state && !lock_file(o->state))
        return EXIT_ERROR;
    there = o->state && access(o->state, F_OK) == 0;
    store = consult_open(o, o->oracle);
    if (!store)
        return EXIT_ERROR;
    told.threads = 2; /* one reads and writes while the other waits for the store */
    told.oracle = store_name(store->oracle); /* what may be shown, and saved */
    if (!there || load(&told, &stored)) {
        weir_screen_close(store->screen);
        store->screen = there ? stored.screen : open_asked(&told, store->oracle);
        if (store->screen && load_set(store))
            status = run(&told, store, there && o->resume ? &stored.state : NULL);
    } else {
        weir_screen_close(stored.screen);
    }
    consult_close(store);
    return status;
}
