/* wanted.c - see wanted.h. */
#include "cli/wanted.h"

#include <stdio.h>
#include <string.h>

#include "cli/messages.h"

bool wanted_anything(const struct wanted *w)
{
    return w->algorithm || w->memory || w->fpr || w->seed || w->sets;
}

bool wanted_sets(const struct wanted *w, const char *knob)
{
    size_t n = strlen(knob);

    for (int i = 0; i < w->sets; i++)
        if (strncmp(w->set[i], knob, n) == 0 && w->set[i][n] == '=')
            return true;
    return false;
}

void wanted_add(struct wanted *w, char text[KNOB_MAX], const char *knob, const char *value)
{
    snprintf(text, KNOB_MAX, "%s=%s", knob, value);
    w->set[w->sets++] = text;
}

static bool add(char *sentence, const char *before, const char *text)
{
    size_t used = strlen(sentence), room = SENTENCE_MAX - used;

    if (!text)
        return true;
    return (size_t)snprintf(sentence + used, room, "%s%s%s", used ? " " : "", before, text) < room;
}

/* -i says where importance is, -S importance= how it counts. */
bool wanted_sentence(const struct wanted *w, const char *name, const char *seed,
                     char sentence[SENTENCE_MAX])
{
    bool percentile = w->importance && !wanted_sets(w, "importance"), fits;

    *sentence = '\0';
    fits = add(sentence, "", w->algorithm ? w->algorithm : name) &&
           add(sentence, "memory=", w->memory) && add(sentence, "fpr=", w->fpr) &&
           add(sentence, "seed=", w->seed ? w->seed : seed);
    for (int i = 0; i < w->sets && fits; i++)
        fits = add(sentence, "", w->set[i]);
    return fits && add(sentence, "importance=", percentile ? "percentile" : NULL);
}

static const char *const kinds[] = {"filter", "sketch", "screen"};

#define NAMES_MAX 64

const char *wanted_nearest(enum weir_kind kind, const char *word)
{
    const char *names[NAMES_MAX + 1] = {NULL};

    for (size_t i = 0; i < NAMES_MAX && weir_listed(kind, i); i++)
        names[i] = weir_listed(kind, i)->name;
    return nearest(word, names);
}

static const char *nearest_knob(enum weir_kind kind, const struct weir_about *of, const char *word)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    size_t i = 0;

    while (weir_listed(kind, i) != of)
        i++;
    for (size_t j = 0; j < NAMES_MAX && weir_listed_knob(kind, i, j); j++)
        names[j] = weir_listed_knob(kind, i, j)->name;
    return nearest(word, names);
}

/* The name that -a or -S perhaps meant, if it has a wrong one; else NULL. */
static const char *meant(const struct wanted *w, enum weir_kind kind, const char *sentence)
{
    const struct weir_about *of = weir_find(kind, sentence);
    char word[KNOB_MAX];

    if (!of)
        return w->algorithm ? wanted_nearest(kind, w->algorithm) : NULL;
    for (int i = 0; i < w->sets; i++)
        if (!weir_find_knob(kind, of->name, w->set[i])) {
            snprintf(word, sizeof word, "%.*s", (int)strcspn(w->set[i], "="), w->set[i]);
            return nearest_knob(kind, of, word);
        }
    return NULL;
}

bool wanted_reject(const struct wanted *w, enum weir_kind kind, const char *sentence,
                   const char *why)
{
    const char *near = meant(w, kind, sentence);

    return reject("%s%s%s%s", why, near ? "; did you mean " : "", near ? near : "",
                  near ? "?" : "");
}

bool wanted_complete(const struct wanted *w, enum weir_kind kind, const char *name,
                     const char *seed, char sentence[WEIR_SENTENCE])
{
    char joined[SENTENCE_MAX];
    struct weir_error error;

    if (!wanted_sentence(w, name, seed, joined))
        return reject("the options of the %s are too long", kinds[kind]);
    return weir_complete(kind, joined, sentence, WEIR_SENTENCE, &error) == WEIR_OK ||
           wanted_reject(w, kind, joined, error.text);
}

bool wanted_is_held(const struct wanted *w, enum weir_kind kind, const char *name, const char *held,
                    const char *path)
{
    char seed[64], sentence[WEIR_SENTENCE];
    size_t seeded = weir_sentence_knob(held, "seed", seed, sizeof seed);

    if (!wanted_complete(w, kind, name, seeded ? seed : NULL, sentence))
        return false;
    return strcmp(held, sentence) == 0 ||
           reject(
               "%s was saved by another %s, '%s', where now '%s' is asked for; leave the options "
               "out to go on with it, or remove the file to start anew",
               path, kinds[kind], held, sentence);
}
