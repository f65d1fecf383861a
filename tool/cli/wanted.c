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

bool wanted_complete(const struct wanted *w, enum weir_kind kind, const char *name,
                     const char *seed, char sentence[WEIR_SENTENCE])
{
    char joined[SENTENCE_MAX];
    struct weir_error error;

    if (!wanted_sentence(w, name, seed, joined))
        return reject("the options of the %s are too long", kinds[kind]);
    return weir_complete(kind, joined, sentence, WEIR_SENTENCE, &error) == WEIR_OK ||
           reject("%s", error.text);
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
