/* filter_request.c - see filter_request.h. */
#include "cli/filter_request.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "cli/messages.h"
#include "cli/units.h"

bool request_anything(const struct filter_request *w)
{
    return w->algorithm || w->memory || w->fpr || w->seed || w->sets;
}

bool request_sets(const struct filter_request *w, const char *parameter)
{
    size_t n = strlen(parameter);

    for (int i = 0; i < w->sets; i++)
        if (strncmp(w->set[i], parameter, n) == 0 && w->set[i][n] == '=')
            return true;
    return false;
}

bool request_seed(const struct filter_request *w, uint64_t *seed)
{
    return (w->seed ? read_whole(w->seed, seed)
                    : getrandom(seed, sizeof *seed, 0) == sizeof *seed) ||
           reject("--seed %s: not a number from 0 to 18446744073709551615", w->seed ? w->seed : "");
}

void request_add(struct filter_request *w, char text[PARAMETER_MAX], const char *parameter,
                 const char *value)
{
    snprintf(text, PARAMETER_MAX, "%s=%s", parameter, value);
    w->set[w->sets++] = text;
}

static bool add(char *spec, const char *before, const char *text)
{
    size_t used = strlen(spec), room = SPEC_MAX - used;

    if (!text)
        return true;
    return (size_t)snprintf(spec + used, room, "%s%s%s", used ? " " : "", before, text) < room;
}

/* -i names the field of importance, -S importance= the scale (default: percentile). */
bool request_spec(const struct filter_request *w, const char *name, const char *seed,
                  char spec[SPEC_MAX])
{
    bool percentile = w->importance && !request_sets(w, "importance"), fits;

    *spec = '\0';
    fits = add(spec, "", w->algorithm ? w->algorithm : name) && add(spec, "memory=", w->memory) &&
           add(spec, "fpr=", w->fpr) && add(spec, "seed=", w->seed ? w->seed : seed);
    for (int i = 0; i < w->sets && fits; i++)
        fits = add(spec, "", w->set[i]);
    return fits && add(spec, "importance=", percentile ? "percentile" : NULL);
}

static const char *const kinds[] = {"filter", "sketch", "screen"};

#define NAMES_MAX 64

const char *wanted_nearest(enum weir_kind kind, const char *word)
{
    const char *names[NAMES_MAX + 1] = {NULL};

    for (size_t i = 0; i < NAMES_MAX && weir_algorithm_at(kind, i); i++)
        names[i] = weir_algorithm_at(kind, i)->name;
    return nearest(word, names);
}

static const char *nearest_parameter(enum weir_kind kind, const struct weir_algorithm *of,
                                     const char *word)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    size_t i = 0;

    while (weir_algorithm_at(kind, i) != of)
        i++;
    for (size_t j = 0; j < NAMES_MAX && weir_parameter_at(kind, i, j); j++)
        names[j] = weir_parameter_at(kind, i, j)->name;
    return nearest(word, names);
}

/* A suggestion if the name of -a or -S is unknown; else NULL. */
static const char *meant(const struct filter_request *w, enum weir_kind kind, const char *spec)
{
    const struct weir_algorithm *of = weir_find_algorithm(kind, spec);
    char word[PARAMETER_MAX];

    if (!of)
        return w->algorithm ? wanted_nearest(kind, w->algorithm) : NULL;
    for (int i = 0; i < w->sets; i++)
        if (!weir_find_parameter(kind, of->name, w->set[i])) {
            snprintf(word, sizeof word, "%.*s", (int)strcspn(w->set[i], "="), w->set[i]);
            return nearest_parameter(kind, of, word);
        }
    return NULL;
}

bool request_reject(const struct filter_request *w, enum weir_kind kind, const char *spec,
                    const char *why)
{
    const char *near = meant(w, kind, spec);

    return reject("%s%s%s%s", why, near ? "; did you mean " : "", near ? near : "",
                  near ? "?" : "");
}

bool request_complete(const struct filter_request *w, enum weir_kind kind, const char *name,
                      const char *seed, char spec[WEIR_SPEC_MAX])
{
    char joined[SPEC_MAX];
    struct weir_error error;

    if (!request_spec(w, name, seed, joined))
        return reject("the options of the %s exceed %d bytes; shorten them", kinds[kind], SPEC_MAX);
    return weir_spec_complete(kind, joined, spec, WEIR_SPEC_MAX, &error) == WEIR_OK ||
           request_reject(w, kind, joined, error.text);
}

bool request_is_held(const struct filter_request *w, enum weir_kind kind, const char *name,
                     const char *held, const char *path)
{
    char seed[64], spec[WEIR_SPEC_MAX];
    size_t seeded = weir_spec_get(held, "seed", seed, sizeof seed);

    if (!request_complete(w, kind, name, seeded ? seed : NULL, spec))
        return false;
    return strcmp(held, spec) == 0 ||
           reject(
               "%s: saved with another %s, '%s'; the options request '%s'. Remove the options to "
               "continue with it, or the file to start from scratch",
               path, kinds[kind], held, spec);
}
