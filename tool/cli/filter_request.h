/* filter_request.h - what the command line says of a filter, a sketch or a screen, and
 * the spec that the library takes for it. */
#ifndef WEIR_CLI_FILTER_REQUEST_H
#define WEIR_CLI_FILTER_REQUEST_H

#include <weir.h>

#define SETS_MAX 16
#define ADDED_MAX 4        /* parameters that a command adds to those */
#define SHARDS_MAX 256     /* and threads */
#define AT_SHARDS_MAX 1024 /* of a filter in servers */
#define PARAMETER_MAX 80
#define SPEC_MAX 2048 /* as it is typed */

/* What is NULL was not said. */
struct filter_request {
    const char *algorithm, *memory, *fpr, *seed;
    const char *set[SETS_MAX + ADDED_MAX]; /* other parameters, "k=4" */
    int sets;
    bool importance; /* records have one */
};

/* Is anything said at all? */
bool request_anything(const struct filter_request *w);

/* Is this parameter among those of --set? */
bool request_sets(const struct filter_request *w, const char *parameter);

/* Add a parameter, whose text is kept by the caller. The library refuses one that is cut off. */
void request_add(struct filter_request *w, char text[PARAMETER_MAX], const char *parameter,
                 const char *value);

/* The spec for it, as it is. False if it is too long. */
bool request_spec(const struct filter_request *w, const char *name, const char *seed,
                  char spec[SPEC_MAX]);

/* The same, completed. name, if not NULL, is the algorithm where none is
 * wanted; seed the seed. False after a message. */
bool request_complete(const struct filter_request *w, enum weir_kind kind, const char *name,
                      const char *seed, char spec[WEIR_SPEC_MAX]);

/* Does a file that holds this spec hold what is wanted? name as above. False
 * after a message that says what is different, or wrong. */
bool request_is_held(const struct filter_request *w, enum weir_kind kind, const char *name,
                     const char *held, const char *path);

/* Reject with the library's message about a spec made of this, and the name that was perhaps
 * meant. Returns false. */
bool request_reject(const struct filter_request *w, enum weir_kind kind, const char *spec,
                    const char *why);

/* The name of that kind that was perhaps meant; NULL if none is near. */
const char *wanted_nearest(enum weir_kind kind, const char *word);

#endif
