/* contest.c - see contest.h. */
#include "contest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "curve.h"
#include "say.h"

/* ---- who takes part ---- */

struct entry {
    const struct options *options;
    bool weighed;
    char name[RIVALS_MAX][64]; /* of all filters that take part */
    uint32_t names;
};

/* Left out unless asked for: it is there to reproduce the tables of a paper. */
static bool is_default(const char *name)
{
    return strcmp(name, "rsbf-tables") != 0;
}

/* The words of values such as "a,b"; false after a sentence. */
static bool split(const struct list *list, const char *option, char words[RIVALS_MAX][64],
                  uint32_t *count)
{
    for (int i = 0; i < list->n; i++)
        for (const char *at = list->at[i], *next; at; at = next) {
            size_t size = strcspn(at, ",");

            next = at[size] ? at + size + 1 : NULL;
            if (size == 0 || size >= sizeof words[0])
                return fail("%s %s does not fit: it takes words with commas between them", option,
                            list->at[i]) == 0;
            if (*count == RIVALS_MAX)
                return fail("%s has more than %d values", option, RIVALS_MAX) == 0;
            snprintf(words[(*count)++], sizeof words[0], "%.*s", (int)size, at);
        }
    return true;
}

/* A filter that does not exist is the library's to refuse. */
static bool takes(const char *name, const char *knob)
{
    const struct weir_knob *k;
    size_t i = 0, length = strcspn(knob, "=");

    while (weir_about(i) && strcmp(weir_about(i)->name, name) != 0)
        i++;
    if (!weir_about(i))
        return true;
    for (size_t j = 0; (k = weir_about_knob(i, j)); j++)
        if (strlen(k->name) == length && strncmp(k->name, knob, length) == 0)
            return true;
    return false;
}

/* Of several filters each gets the knobs that it has; what none has, all get, and
 * the library refuses it. */
static bool gets(const struct entry *e, const char *name, const char *knob)
{
    bool wanted = takes(name, knob), by_some = false;

    for (uint32_t i = 0; i < e->names; i++)
        by_some |= takes(e->name[i], knob);
    return wanted || !by_some;
}

/* The options as this filter is to have them. */
static struct options fit(const struct entry *e, const char *name, const char *memory)
{
    struct options o = *e->options;

    o.algorithm = name;
    o.memory = memory;
    o.fpr = o.fpr && gets(e, name, "fpr") ? o.fpr : NULL;
    o.sets = 0;
    for (int i = 0; i < e->options->sets; i++)
        if (gets(e, name, e->options->set[i]))
            o.set[o.sets++] = e->options->set[i];
    o.importance = e->weighed && takes(name, "importance") ? "given" : NULL;
    return o;
}

/* ---- opening ---- */

/* "weir memory=64 width=16 seed=1" -> "weir", "width=16" */
static void describe(struct rival *r)
{
    char copy[CONFIG_MAX], *rest = copy;

    snprintf(copy, sizeof copy, "%s", r->filter.config);
    snprintf(r->name, sizeof r->name, "%s", strsep(&rest, " "));
    for (char *word; (word = strsep(&rest, " "));) {
        size_t used = strlen(r->settings);

        if (strncmp(word, "memory=", 7) != 0 && strncmp(word, "seed=", 5) != 0)
            snprintf(r->settings + used, sizeof r->settings - used, "%s%s", used ? " " : "", word);
    }
}

static bool enter(struct contest *c, const struct entry *e, const char *name, const char *memory)
{
    char sentence[SENTENCE_MAX];
    struct rival *r = &c->rival[c->rivals];
    struct options o = fit(e, name, memory);
    struct weir_error error;

    if (c->rivals == RIVALS_MAX)
        return fail("at most %d filters can be measured at once", RIVALS_MAX) == 0;
    if (!shards_sentence(&o, NULL, *c->seed ? c->seed : NULL, sentence))
        return fail("the options of the filter are too long") == 0;
    c->rivals++;
    if (shards_open(&r->filter, sentence, 1, &error) != WEIR_OK)
        return fail("%s", error.text) == 0;
    snprintf(c->seed, sizeof c->seed, "%s", config_value(r->filter.config, "seed").text);
    describe(r);
    r->memory = weir_stats(r->filter.w[0]).memory;
    r->answer = malloc(RECORDS_MAX);
    r->class = o.by_importance ? calloc(CLASSES, sizeof *r->class) : NULL;
    return (r->answer && (r->class || !o.by_importance) && curve_open(&r->curve, o.curve)) ||
           fail("memory is short") == 0;
}

bool contest_open(struct contest *c, const struct options *o, bool weighed)
{
    static char memories[RIVALS_MAX][64];
    static struct entry e;
    uint32_t sizes = 0;

    *c = (struct contest){.rival = calloc(RIVALS_MAX, sizeof *c->rival)};
    if (!c->rival)
        return fail("memory is short") == 0;
    e = (struct entry){.options = o, .weighed = weighed};
    if (!split(&o->algorithms, "-a", e.name, &e.names) ||
        !split(&o->memories, "-m", memories, &sizes))
        return false;
    for (size_t i = 0; o->algorithms.n == 0 && weir_about(i); i++)
        if (is_default(weir_about(i)->name))
            snprintf(e.name[e.names++], sizeof e.name[0], "%s", weir_about(i)->name);
    for (uint32_t i = 0; i < e.names; i++)
        for (uint32_t j = 0; j < (sizes ? sizes : 1); j++)
            if (!enter(c, &e, e.name[i], sizes ? memories[j] : NULL))
                return false;
    return true;
}

void contest_close(struct contest *c)
{
    for (uint32_t i = 0; i < c->rivals; i++) {
        shards_close(&c->rival[i].filter);
        curve_close(&c->rival[i].curve);
        free(c->rival[i].answer);
        free(c->rival[i].class);
    }
    free(c->rival);
}

/* ---- running ---- */

void contest_begin(struct contest *c, uint64_t n)
{
    for (uint32_t i = 0; i < c->rivals; i++) {
        struct rival *r = &c->rival[i];

        weir_clear(r->filter.w[0]);
        r->before = r->score;
        r->shown = 0;
        curve_begin(&r->curve, n);
    }
}

void contest_end(struct contest *c)
{
    c->orders++;
    for (uint32_t i = 0; i < c->rivals; i++) {
        struct rival *r = &c->rival[i];
        struct weir_stats s = weir_stats(r->filter.w[0]);

        r->fill += s.fill;
        r->error += s.error;
        curve_end(&r->curve, r);
    }
}

static double processor_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void meet_some(struct rival *r, const struct weir_key *key, const uint8_t *truth, uint32_t n)
{
    double began = processor_time();

    weir_observe_many(r->filter.w[0], key, n, r->answer);
    r->seconds += processor_time() - began;
    r->shown += n;
    score_count(&r->score, key, truth, r->answer, n);
    if (r->class)
        score_count_classes(r->class, key, truth, r->answer, n);
}

void rival_meet(struct rival *r, const struct weir_key *key, const uint8_t *truth, uint32_t n)
{
    while (n > 0) {
        uint64_t left = curve_left(&r->curve, r->shown);
        uint32_t now = left < n ? (uint32_t)left : n;

        meet_some(r, key, truth, now);
        if (now == left)
            curve_mark(&r->curve, r);
        key += now;
        truth += now;
        n -= now;
    }
}
