/* shards.c - see shards.h. */
#include "state/shards.h"

#include <stdlib.h>

enum weir_status shards_open(struct shards *s, const char *sentence, uint32_t count,
                             struct weir_error *error)
{
    char part[WEIR_SENTENCE];
    enum weir_status status;

    *s = (struct shards){.w = calloc(count, sizeof *s->w)};
    if (!s->w) {
        *error = (struct weir_error){WEIR_NO_MEMORY, "memory is short"};
        return WEIR_NO_MEMORY;
    }
    status = weir_complete(WEIR_KIND_FILTER, sentence, s->config, sizeof s->config, error);
    if (status == WEIR_OK)
        status = weir_divide(s->config, count, part, sizeof part, error);
    while (status == WEIR_OK && s->count < count) {
        status = weir_open(&s->w[s->count], part, error);
        s->count += status == WEIR_OK;
    }
    return status;
}

void shards_close(struct shards *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        weir_close(s->w[i]);
    free(s->w);
    *s = (struct shards){0};
}

struct weir_stats shards_stats(const struct shards *s)
{
    struct weir_stats sum = {0};

    for (uint32_t i = 0; i < s->count; i++) {
        struct weir_stats one = weir_stats_of(s->w[i]);

        sum.memory += one.memory;
        sum.bytes += one.bytes;
        sum.shown += one.shown;
        sum.seen += one.seen;
        sum.fresh += one.fresh;
        sum.fill += one.fill / s->count;
        sum.error += one.error / s->count;
        sum.lost += one.lost;
        sum.overflow += one.overflow;
    }
    return sum;
}
