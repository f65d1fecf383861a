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

static weir_sketch *open_state(const char *command, const char *path, const struct wanted *w,
                               const char *const kinds[])
{
    weir_sketch *s = file_load_sketch(path);
    char held[CONFIG_MAX];
    const char *kind;

    if (!s)
        return NULL;
    weir_sketch_config(s, held, sizeof held);
    kind = kind_of(held, kinds);
    if (!kind)
        fail("%s holds '%s', not a sketch of 'weir %s'", path, held, command);
    if (kind && same_sketch(path, w, kind, s))
        return s;
    weir_sketch_close(s);
    return NULL;
}

weir_sketch *sketch_open(const char *command, const char *state, const struct wanted *w,
                         const char *const kinds[])
{
    if (w->algorithm && !kind_of(w->algorithm, kinds)) {
        fail("'weir %s' has no sketch '%s'; 'weir list' shows them", command, w->algorithm);
        return NULL;
    }
    if (state && !lock_file(state))
        return NULL;
    if (state && access(state, F_OK) == 0)
        return open_state(command, state, w, kinds);
    return open_asked(w, kinds[0], NULL);
}

/* ---- records into it ---- */

static void give(struct counting *c, const struct weir_bytes *keys, const uint64_t *amounts,
                 size_t n)
{
    if (c->sketch)
        weir_sketch_add_many(c->sketch, keys, amounts, n);
    else
        c->visit(c->context, keys, n);
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

            hold(c, (struct weir_bytes){from, (size_t)(to - from)}, amount);
        }
        *to++ = ' ';
    }
    return true;
}

bool counting_take(void *context, struct batch *b)
{
    struct counting *c = context;

    if (c->sketch)
        weir_sketch_advance(c->sketch, b->read_at);
    if (!b->bads && !c->ngrams && !b->important) {
        give(c, b->key, NULL, b->n);
        return true;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        uint64_t amount = b->important ? b->importance[i] : 1;

        if (b->bads && b->bad[i])
            continue;
        if (!c->ngrams)
            hold(c, b->key[i], amount);
        else if (!hold_grams(c, &b->arena, b->key[i], amount))
            batch_fault(b, i, false, "memory is short");
    }
    drain(c);
    return true;
}
