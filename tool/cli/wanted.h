/* wanted.h - what the command line says of a filter, a sketch or a screen, and
 * the sentence that the library takes for it. */
#ifndef WEIR_CLI_WANTED_H
#define WEIR_CLI_WANTED_H

#include <weir.h>

#define SETS_MAX 16
#define ADDED_MAX 4        /* knobs that a command adds to those */
#define SHARDS_MAX 256     /* and threads */
#define AT_SHARDS_MAX 1024 /* of a filter in servers */
#define KNOB_MAX 80
#define SENTENCE_MAX 2048 /* as it is typed */

/* What is NULL was not said. */
struct wanted {
    const char *algorithm, *memory, *fpr, *seed;
    const char *set[SETS_MAX + ADDED_MAX]; /* other knobs, "k=4" */
    int sets;
    bool importance; /* records have one */
};

/* Is anything said at all? */
bool wanted_anything(const struct wanted *w);

/* Is this knob among those of --set? */
bool wanted_sets(const struct wanted *w, const char *knob);

/* Add a knob, whose text is kept by the caller. The library refuses one that is cut off. */
void wanted_add(struct wanted *w, char text[KNOB_MAX], const char *knob, const char *value);

/* The sentence for it, as it is. False if it is too long. */
bool wanted_sentence(const struct wanted *w, const char *name, const char *seed,
                     char sentence[SENTENCE_MAX]);

/* The same, completed. name, if not NULL, is the algorithm where none is
 * wanted; seed the seed. False after a sentence. */
bool wanted_complete(const struct wanted *w, enum weir_kind kind, const char *name,
                     const char *seed, char sentence[WEIR_SENTENCE]);

/* Does a file that holds this sentence hold what is wanted? name as above. False
 * after a sentence that says what is different, or wrong. */
bool wanted_is_held(const struct wanted *w, enum weir_kind kind, const char *name, const char *held,
                    const char *path);

/* Reject with the library's message about a sentence made of this, and the name that was perhaps
 * meant. Returns false. */
bool wanted_reject(const struct wanted *w, enum weir_kind kind, const char *sentence,
                   const char *why);

/* The name of that kind that was perhaps meant; NULL if none is near. */
const char *wanted_nearest(enum weir_kind kind, const char *word);

#endif
