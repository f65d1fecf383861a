/* wanted.h - what the command line says of a filter, a sketch or a screen, and
 * the sentence that the library takes for it. */
#ifndef WEIR_CLI_WANTED_H
#define WEIR_CLI_WANTED_H

#include <stdbool.h>

#define SETS_MAX 16
#define SHARDS_MAX 256 /* and threads */
#define CONFIG_MAX 512
#define SENTENCE_MAX 2048

/* What is NULL was not said. */
struct wanted {
    const char *algorithm, *memory, *fpr, *seed;
    const char *set[SETS_MAX]; /* other knobs, "k=4" */
    int sets;
    bool importance; /* records have one */
};

/* Is anything said at all? */
bool wanted_anything(const struct wanted *w);

/* Is this knob among those of --set? */
bool wanted_sets(const struct wanted *w, const char *knob);

/* name, if not NULL, is the algorithm where none is wanted; seed the seed. False
 * if it is too long. */
bool wanted_sentence(const struct wanted *w, const char *name, const char *seed,
                     char sentence[SENTENCE_MAX]);

/* A parameter of a configuration, such as "seed"; empty if it has none. */
struct value {
    char text[64];
};
struct value config_value(const char *config, const char *parameter);

#endif
