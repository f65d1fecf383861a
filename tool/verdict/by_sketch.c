/* by_sketch.c - see by_sketch.h. */
#include "verdict/by_sketch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state/lock.h"
#include "cli/progress.h"
#include "cli/messages.h"
#include "verdict/shards.h"
#include "state/files.h"

#define HELD 4096 /* keys counted at once, where they are not the records */

struct counting {
    const struct counted *counted;
    weir_sketch *sketch;
    void (*look)(void *context);
    void (*visit)(void *context, const struct weir_bytes *keys, size_t n);
    void *context;
    struct weir_bytes key[HELD];
    uint64_t amount[HELD];
    size_t held;
};

/* ---- which sketch ---- */

static weir_sketch *open_asked(const struct wanted *w, const char *name, const char *seed)
{
    char sentence[SENTENCE_MAX];
    struct weir_error error;
    weir_sketch *s;

    if (!wanted_sentence(w, name, seed, sentence)) {
        fail("the options of the sketch are too long");
        return NULL;
    }
    if (weir_sketch_open(&s, sentence, &error) != WEIR_OK)
        fail("%s", error.text);
    return s;
}

/* Would these options make the sketch that the state holds, of this kind? */
static bool same_sketch(const char *path, const struct wanted *w, const char *kind,
                        const weir_sketch *s)
{
    char held[CONFIG_MAX], now[CONFIG_MAX];
    weir_sketch *asked;

    if (!wanted_anything(w))
        return true; /* the state knows */
    weir_sketch_config(s, held, sizeof held);
    asked = open_asked(w, kind, config_value(held, "seed").text);
    if (!asked)
        return false;
    weir_sketch_config(asked, now, sizeof now);
    weir_sketch_close(asked);
    return strcmp(held, now) == 0 ||
           fail("%s was saved by another sketch, '%s', where now '%s' is asked for; leave the "
                "options out to go on with it, or remove the file to start anew",
                path, held, now) == 0;
}

/* Which of the kinds a sentence begins with; NULL if it is another. */
static const char *kind_of(const char *sentence, const char *const kinds[])
{
    for (; *kinds; kinds++)
        if (strncmp(sentence, *kinds, strlen(*kinds)) == 0 && strchr(" ", sentence[strlen(*kinds)]))
            return *kinds;
    return NULL;
}

static weir_sketch *open_state(const struct counted *d, const struct wanted *w,
                               const char *const kinds[])
{
    weir_sketch *s = file_load_sketch(d->state);
    char held[CONFIG_MAX];
    const char *kind;

    if (!s)
        return NULL;
    weir_sketch_config(s, held, sizeof held);
    kind = kind_of(held, kinds);
    if (!kind)
        fail("%s holds '%s', not a sketch of 'weir %s'", d->state, held, d->command);
    if (kind && same_sketch(d->state, w, kind, s))
        return s;
    weir_sketch_close(s);
    return NULL;
}

weir_sketch *counting_open(const struct counted *d, const struct wanted *w,
                           const char *const kinds[])
{
    if (w->algorithm && !kind_of(w->algorithm, kinds)) {
        fail("'weir %s' has no sketch '%s'; 'weir list' shows them", d->command, w->algorithm);
        return NULL;
    }
    if (d->state && !lock_file(d->state))
        return NULL;
    if (d->state && access(d->state, F_OK) == 0)
        return open_state(d, w, kinds);
    return open_asked(w, kinds[0], NULL);
}

/* ---- records into it ---- */

/* Counted, or only shown to a visitor. */
static void give(struct counting *c, const struct weir_bytes *keys, const uint64_t *amounts,
                 size_t n)
{
    if (c->visit)
        c->visit(c->context, keys, n);
    else
        weir_sketch_add_many(c->sketch, keys, amounts, n);
}

static void drain(struct counting *c)
{
    give(c, c->key, c->amount, c->held);
    c->held = 0;
}

static void hold(struct counting *c, struct weir_bytes key, uint64_t amount)
{
    c->key[c->held] = key;
    c->amount[c->held] = amount;
    if (++c->held == HELD)
        drain(c);
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Every so many words in a row, with one space between them. */
static bool hold_grams(struct counting *c, struct arena *a, struct weir_bytes text, uint64_t amount)
{
    uint32_t n = c->counted->ngrams, words = 0;
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

            hold(c, (struct weir_bytes){from, (size_t)(to - from)}, amount);
        }
        *to++ = ' ';
    }
    return true;
}

static void take(void *context, struct batch *b)
{
    struct counting *c = context;
    const struct counted *d = c->counted;

    if (c->sketch)
        weir_sketch_advance(c->sketch, b->read_at);
    if (!b->bads && !d->ngrams && !d->records->weight) {
        give(c, b->key, NULL, b->n);
        return;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        uint64_t amount = d->records->weight ? b->importance[i] : 1;

        if (b->bads && b->bad[i])
            continue;
        if (!d->ngrams)
            hold(c, b->key[i], amount);
        else if (!hold_grams(c, &b->arena, b->key[i], amount))
            batch_fault(b, i, false, "memory is short");
    }
    drain(c);
}

static void look(void *context)
{
    struct counting *c = context;

    weir_sketch_advance(c->sketch, time_of_day()); /* counts fade while nothing comes */
    c->look(c->context);
}

/* Through all files, once. */
static int run(const struct counting *given)
{
    struct counting *c = malloc(sizeof *c);
    const struct counted *d = given->counted;
    int status;

    if (!c)
        return fail("memory is short");
    *c = *given;
    status = intake_run(&(struct intake){.command = d->command,
                                         .inputs = d->inputs,
                                         .records = d->records,
                                         .quiet = d->quiet,
                                         .take = take,
                                         .look = c->look ? look : NULL,
                                         .context = c});
    free(c);
    return status;
}

int counting_run(const struct counted *d, weir_sketch *s, void (*looks)(void *), void *context)
{
    struct counting c = {.counted = d, .sketch = s, .look = looks, .context = context};
    int status;

    weir_sketch_advance(s, time_of_day());
    status = run(&c);
    if (d->state && !file_save_sketch(d->state, s))
        status = EXIT_ERROR;
    return status;
}

int counting_visit(const struct counted *d,
                   void (*visit)(void *context, const struct weir_bytes *keys, size_t n),
                   void *context)
{
    struct counting c = {.counted = d, .visit = visit, .context = context};

    return run(&c);
}
