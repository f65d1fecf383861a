/* wanted.c - see wanted.h. */
#include "cli/wanted.h"

#include <stdio.h>
#include <string.h>

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

struct value config_value(const char *config, const char *parameter)
{
    struct value v = {""};
    size_t n = strlen(parameter);

    for (const char *at = strchr(config, ' '); at; at = strchr(at + 1, ' '))
        if (strncmp(at + 1, parameter, n) == 0 && at[1 + n] == '=')
            snprintf(v.text, sizeof v.text, "%.*s", (int)strcspn(at + 2 + n, " "), at + 2 + n);
    return v;
}
