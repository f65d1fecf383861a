/* entrants.c - see entrants.h. */
#include "eval/entrants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "eval/curve.h"
#include "cli/messages.h"

/* ---- who takes part ---- */

/* Left out unless asked for: it is there to reproduce the tables of a paper. */
static bool is_default(const char *name)
{
    return strcmp(name, "rsbf-tables") != 0;
}

/* The words of values such as "a,b"; false after a sentence. */
static bool split(const struct list *list, const char *option, char words[ENTRANTS_MAX][64],
                  uint32_t *count)
{
    for (int i = 0; i < list->n; i++)
        for (const char *at = list->at[i], *next; at; at = next) {
            size_t size = strcspn(at, ",");

            next = at[size] ? at + size + 1 : NULL;
            if (size == 0 || size >= sizeof words[0])
                return reject("%s %s does not fit: it takes words with commas between them", option,
                              list->at[i]);
            if (*count == ENTRANTS_MAX)
                return reject("%s has more than %d values", option, ENTRANTS_MAX);
            snprintf(words[(*count)++], sizeof words[0], "%.*s", (int)size, at);
        }
    return true;
}

/* A filter that does not exist is the library's to refuse. */
bool filter_takes(const char *name, const char *knob)
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
static bool gets(const struct field *f, const char *name, const char *knob)
{
    bool wanted = filter_takes(name, knob), by_some = false;

    for (uint32_t i = 0; i < f->names; i++)
        by_some |= filter_takes(f->name[i], knob);
    return wanted || !by_some;
}

/* The options as this filter is to have them. */
static struct wanted fit(const struct field *f, const char *name, const char *memory,
                         const char *fpr)
{
    struct wanted w = f->request->wanted;

    w.algorithm = name;
    w.memory = memory;
    w.fpr = fpr ? fpr : w.fpr;
    w.fpr = w.fpr && gets(f, name, "fpr") ? w.fpr : NULL;
    w.sets = 0;
    for (int i = 0; i < f->request->wanted.sets; i++)
        if (gets(f, name, f->request->wanted.set[i]))
            w.set[w.sets++] = f->request->wanted.set[i];
    w.importance = f->weighed && filter_takes(name, "importance");
    return w;
}

/* ---- opening ---- */

/* "weir memory=64 width=16 seed=1" -> "weir", "width=16" */
static void describe(struct entrant *r)
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

static bool equip(struct entrant *r, const struct measures *m)
{
    describe(r);
    r->memory = weir_stats(r->filter.w[0]).memory;
    r->answer = malloc(RECORDS_MAX);
    r->class = m->by_importance ? calloc(CLASSES, sizeof *r->class) : NULL;
    return (r->answer && (r->class || !m->by_importance) && curve_open(&r->curve, m->curve)) ||
           reject("memory is short");
}

bool entrants_enter(struct entrants *c, const struct field *f, const char *name, const char *memory,
                    const char *fpr, struct weir_error *refused)
{
    char sentence[SENTENCE_MAX];
    struct entrant *r = &c->entrant[c->count];
    struct wanted w = fit(f, name, memory, fpr);
    struct weir_error error = {0};

    if (c->count == ENTRANTS_MAX)
        return reject("at most %d filters can be measured at once", ENTRANTS_MAX);
    if (!wanted_sentence(&w, NULL, *c->seed ? c->seed : NULL, sentence))
        return reject("the options of the filter are too long");
    *r = (struct entrant){0};
    shards_open(&r->filter, sentence, 1, &error);
    if (refused)
        *refused = error;
    if (error.status != WEIR_OK) {
        shards_close(&r->filter);
        return refused || reject("%s", error.text);
    }
    c->count++;
    snprintf(c->seed, sizeof c->seed, "%s", config_value(r->filter.config, "seed").text);
    return equip(r, &f->request->measures);
}

static void dismiss(struct entrant *r)
{
    shards_close(&r->filter);
    curve_close(&r->curve);
    free(r->answer);
    free(r->class);
}

void entrants_leave(struct entrants *c)
{
    dismiss(&c->entrant[--c->count]);
}

/* ---- all of a field ---- */

bool field_read(struct field *f, const struct request *o, bool weighed)
{
    *f = (struct field){.request = o, .weighed = weighed};
    if (!split(&o->measures.algorithms, "-a", f->name, &f->names) ||
        !split(&o->measures.memories, "-m", f->memory, &f->memories))
        return false;
    for (size_t i = 0; o->measures.algorithms.n == 0 && weir_about(i); i++)
        if (is_default(weir_about(i)->name))
            snprintf(f->name[f->names++], sizeof f->name[0], "%s", weir_about(i)->name);
    return true;
}

bool entrants_prepare(struct entrants *c)
{
    *c = (struct entrants){.entrant = calloc(ENTRANTS_MAX, sizeof *c->entrant)};
    return c->entrant || reject("memory is short");
}

bool entrants_open(struct entrants *c, const struct field *f)
{
    if (!entrants_prepare(c))
        return false;
    for (uint32_t i = 0; i < f->names; i++)
        for (uint32_t j = 0; j < (f->memories ? f->memories : 1); j++)
            if (!entrants_enter(c, f, f->name[i], f->memories ? f->memory[j] : NULL, NULL, NULL))
                return false;
    return true;
}

void entrants_close(struct entrants *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        dismiss(&c->entrant[i]);
    free(c->entrant);
}

/* ---- running ---- */

void entrants_begin(struct entrants *c, uint64_t n)
{
    for (uint32_t i = 0; i < c->count; i++) {
        struct entrant *r = &c->entrant[i];

        weir_clear(r->filter.w[0]);
        r->before = r->score;
        r->shown = 0;
        curve_begin(&r->curve, n);
    }
}

void entrants_end(struct entrants *c)
{
    c->orders++;
    for (uint32_t i = 0; i < c->count; i++) {
        struct entrant *r = &c->entrant[i];
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

static void meet_some(struct entrant *r, const struct weir_key *key, const uint8_t *truth,
                      uint32_t n)
{
    double began = processor_time();

    weir_observe_many(r->filter.w[0], key, n, r->answer);
    r->seconds += processor_time() - began;
    r->shown += n;
    score_count(&r->score, key, truth, r->answer, n);
    if (r->class)
        score_count_classes(r->class, key, truth, r->answer, n);
}

void entrant_meet(struct entrant *r, const struct weir_key *key, const uint8_t *truth, uint32_t n)
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
