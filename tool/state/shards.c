/* shards.c - see shards.h. */
#include "state/shards.h"

#include <stdlib.h>

static enum weir_status short_of_memory(struct weir_error *error)
{
    *error = (struct weir_error){WEIR_NO_MEMORY, WEIR_ERROR_NO_MEMORY, "out of memory"};
    return WEIR_NO_MEMORY;
}

uint32_t shards_wanted(uint32_t given, uint32_t threads, const char *spec)
{
    const struct weir_algorithm *about = weir_find_algorithm(WEIR_KIND_FILTER, spec);

    if (given)
        return given;
    return threads == 2 && about && about->traits & WEIR_CAN_ONE_LINE ? 1 : threads;
}

enum weir_status shards_open(struct shards *s, const char *spec, uint32_t count,
                             struct weir_error *error)
{
    enum weir_status status;

    *s = (struct shards){.w = calloc(count, sizeof *s->w)};
    if (!s->w)
        return short_of_memory(error);
    status = weir_shared_open(&s->shared, spec, count, NULL, error);
    if (status != WEIR_OK)
        return status;
    s->count = count;
    for (uint32_t i = 0; i < count; i++)
        s->w[i] = weir_shared_shard(s->shared, i);
    weir_shared_config(s->shared, s->config, sizeof s->config);
    return WEIR_OK;
}

enum weir_status shards_join(struct shards *s, struct weir_error *error)
{
    return weir_shared_join(&s->shared, s->w, s->count, NULL, error);
}

void shards_close(struct shards *s)
{
    for (uint32_t i = 0; !s->shared && i < s->count; i++)
        weir_close(s->w[i]);
    weir_shared_close(s->shared);
    free(s->w);
    *s = (struct shards){0};
}

struct weir_stats shards_stats(const struct shards *s)
{
    struct weir_stats stats;

    weir_shared_measure(s->shared, &stats, sizeof stats);
    return stats;
}
