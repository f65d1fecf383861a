/* by_sketch.c - see by_sketch.h. */
#include "verdict/by_sketch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"
#include "state/files.h"
#include "state/replace.h"

/* ---- which sketch ---- */

static bool can(const char *spec, enum weir_trait trait)
{
    const struct weir_algorithm *about = weir_find_algorithm(WEIR_KIND_SKETCH, spec);

    return about && (about->traits & trait);
}

/* The first sketch with this trait. */
static const char *find_default(enum weir_trait trait)
{
    size_t i = 0;

    while (!can(weir_algorithm_at(WEIR_KIND_SKETCH, i)->name, trait))
        i++;
    return weir_algorithm_at(WEIR_KIND_SKETCH, i)->name;
}

static weir_sketch *open_asked(const struct filter_request *w, enum weir_trait trait)
{
    char spec[WEIR_SPEC_MAX];
    struct weir_error error;
    weir_sketch *s = NULL;

    if (request_complete(w, WEIR_KIND_SKETCH, find_default(trait), NULL, spec) &&
        weir_sketch_open(&s, spec, &error) != WEIR_OK)
        fail("%s", error.text);
    return s;
}

/* If no sketch is requested, use the state's. */
static weir_sketch *open_state(const char *command, const char *path,
                               const struct filter_request *w, enum weir_trait trait)
{
    weir_sketch *s = file_load_sketch(path);
    char held[WEIR_SPEC_MAX];

    if (!s)
        return NULL;
    weir_sketch_config(s, held, sizeof held);
    if (!can(held, trait))
        fail("%s holds '%s', not a sketch of 'weir %s'", path, held, command);
    else if (!request_anything(w) ||
             request_is_held(w, WEIR_KIND_SKETCH, weir_find_algorithm(WEIR_KIND_SKETCH, held)->name,
                             held, path))
        return s;
    weir_sketch_close(s);
    return NULL;
}

weir_sketch *sketch_open(const char *command, const char *state, const struct filter_request *w,
                         enum weir_trait trait)
{
    if (w->algorithm && !can(w->algorithm, trait)) {
        const char *near = wanted_nearest(WEIR_KIND_SKETCH, w->algorithm);

        if (near && can(near, trait))
            fail("'weir %s' has no sketch '%s'; did you mean %s?", command, w->algorithm, near);
        else
            fail("'weir %s' has no sketch '%s'; 'weir list' shows them", command, w->algorithm);
        return NULL;
    }
    if (state && !(lock_file(state) && replace_possible(state)))
        return NULL;
    return state && access(state, F_OK) == 0 ? open_state(command, state, w, trait)
                                             : open_asked(w, trait);
}

void sketch_span(const weir_sketch *s, struct event_time *time)
{
    char config[WEIR_SPEC_MAX];
    uint64_t traits = 0;

    weir_sketch_config(s, config, sizeof config);
    weir_spec_traits(WEIR_KIND_SKETCH, config, &traits, NULL);
    if (traits & WEIR_CAN_TIME)
        weir_spec_number(config, "half-life", &time->span);
}

bool sketch_uses_time(const weir_sketch *s, struct event_time *time)
{
    sketch_span(s, time);
    return !time->field || time->span ||
           reject("--time: nothing here uses time; add -S half-life=1h, the time in which a count "
                  "is halved");
}

/* ---- records into it ---- */

static void give(struct counting *c, const struct weir_bytes *keys, const uint64_t *amounts,
                 const uint64_t *times, size_t n)
{
    if (c->sketch && c->timed)
        weir_sketch_add_many_at(c->sketch, keys, amounts, times, n);
    else if (c->sketch)
        weir_sketch_add_many(c->sketch, keys, amounts, n);
    else
        c->visit(c->context, keys, n);
}

static void drain(struct counting *c)
{
    give(c, c->key, c->amount, c->at, c->held);
    c->held = 0;
}

/* The amount to count for a record. */
struct share {
    uint64_t amount, at;
};

static void hold(struct counting *c, struct weir_bytes key, struct share of)
{
    c->key[c->held] = key;
    c->amount[c->held] = of.amount;
    c->at[c->held] = of.at;
    if (++c->held == HELD)
        drain(c);
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Every sequence of `ngrams` words, with one space between them. */
static bool hold_grams(struct counting *c, struct arena *a, struct weir_bytes text, struct share of)
{
    uint32_t n = c->ngrams, words = 0;
    const char *at = text.data, *end = at + text.size;
    char *to = arena_take(a, text.size + 1), *first[GRAM_MAX];

    if (!to)
        return false;
    while (at < end) {
        if (is_blank(*at)) {
            at++;
            continue;
        }
        first[words++ % n] = to;
        while (at < end && !is_blank(*at))
            *to++ = *at++;
        if (words >= n) {
            char *from = first[words % n];

            hold(c, (struct weir_bytes){from, (size_t)(to - from)}, of);
        }
        *to++ = ' ';
    }
    return true;
}

bool counting_take(void *context, struct batch *b)
{
    struct counting *c = context;

    c->timed = b->event.timed && !c->untimed;
    if (c->sketch && !b->event.timed)
        weir_sketch_advance(c->sketch, b->read_at);
    if (!b->bads && !c->ngrams && !b->important) {
        give(c, b->key, NULL, b->event.time, b->n);
        return true;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        struct share of = {b->important ? b->importance[i] : 1,
                           b->event.timed ? b->event.time[i] : 0};

        if (b->bads && b->bad[i])
            continue;
        if (!c->ngrams)
            hold(c, b->key[i], of);
        else if (!hold_grams(c, &b->arena, b->key[i], of))
            batch_fault(b, i, false, "out of memory");
    }
    drain(c);
    return true;
}
