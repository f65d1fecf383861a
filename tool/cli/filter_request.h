/* filter_request.h - the options for a filter, sketch or screen, and the spec made from them. */
#ifndef WEIR_CLI_FILTER_REQUEST_H
#define WEIR_CLI_FILTER_REQUEST_H

#include <weir.h>

#define SETS_MAX 16
#define ADDED_MAX 4        /* parameters that a command adds to those */
#define SHARDS_MAX 256     /* and threads */
#define AT_SHARDS_MAX 1024 /* of a filter in servers */
#define PARAMETER_MAX 80
#define SPEC_MAX 2048 /* before the library completes it */

/* NULL: not given. */
struct filter_request {
    const char *algorithm, *memory, *fpr, *seed;
    const char *set[SETS_MAX + ADDED_MAX]; /* other parameters, "k=4" */
    int sets;
    bool importance; /* -i was given */
};

/* Was any of the options given? */
bool request_anything(const struct filter_request *w);

/* Is this parameter among those of --set? */
bool request_sets(const struct filter_request *w, const char *parameter);

/* The seed, or a random one. False after a message. */
bool request_seed(const struct filter_request *w, uint64_t *seed);

/* Add a parameter; the caller owns its text. The library rejects truncated parameters. */
void request_add(struct filter_request *w, char text[PARAMETER_MAX], const char *parameter,
                 const char *value);

/* The spec as given. False if it is too long. */
bool request_spec(const struct filter_request *w, const char *name, const char *seed,
                  char spec[SPEC_MAX]);

/* The completed spec. `name` and `seed` are used unless given; they may be NULL. False after a
 * message. */
bool request_complete(const struct filter_request *w, enum weir_kind kind, const char *name,
                      const char *seed, char spec[WEIR_SPEC_MAX]);

/* Does a file with the spec `held` match the options? False after a message. */
bool request_is_held(const struct filter_request *w, enum weir_kind kind, const char *name,
                     const char *held, const char *path);

/* Print the library's message about the spec, with a suggestion. Returns false. */
bool request_reject(const struct filter_request *w, enum weir_kind kind, const char *spec,
                    const char *why);

/* The most similar name of that kind; NULL if none is similar. */
const char *wanted_nearest(enum weir_kind kind, const char *word);

#endif
