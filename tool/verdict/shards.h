/* shards.h - the filter of a run: one, or several that share the keys among
 * them. */
#ifndef WEIR_VERDICT_SHARDS_H
#define WEIR_VERDICT_SHARDS_H

#include "pipe/batch.h"
#include "cli/options.h"

#define SHARDS_MAX 256
#define CONFIG_MAX 512
#define SENTENCE_MAX 2048

struct shards {
    uint32_t count;
    weir **w;
    char config[CONFIG_MAX]; /* of the whole */
};

/* The sentence that the options ask for. name, if not NULL, is the filter
 * where none was asked for; seed the seed. False if it is too long. */
bool shards_sentence(const struct options *o, const char *name, const char *seed,
                     char sentence[SENTENCE_MAX]);

/* Open them: memory, and what else is a matter of size, is divided. */
enum weir_status shards_open(struct shards *s, const char *sentence, uint32_t count,
                             struct weir_error *error);
void shards_close(struct shards *s);

/* A parameter of a configuration, such as "seed"; empty if it has none. */
struct value {
    char text[64];
};
struct value config_value(const char *config, const char *parameter);

/* Hash the keys of a batch and put them in the order of the shards. */
void shards_deal(const struct shards *s, struct batch *b, bool important);

/* All together: sums, and means of fill and error. */
struct weir_stats shards_stats(const struct shards *s);

#endif
