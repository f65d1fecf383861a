/* api.c - the calls of weir/shared.h, except those on files by name. Each performs the call of
 * weir.h on the shards concerned; process.c does that for batches. */
#include <string.h>
#include <weir/hash.h>
#include <weir/saved.h>

#include "base/memory.h"
#include "base/text.h"
#include "filter/config.h"
#include "filter/filter.h"
#include "spec/error.h"
#include "spec/caller_struct.h"
#include "shared/shared.h"

#define SHARDS_DEFAULT                                                                             \
    8 /* the fastest for two threads (bench/shared): runs are longer than of 16 */

/* ---- open and close ---- */

static enum weir_status check_number(uint32_t shards, struct weir_error *error)
{
    char number[24];
    struct text t = text_in(number, sizeof number);

    if (shards >= 1 && shards <= WEIR_SHARED_SHARDS_MAX)
        return WEIR_OK;
    text_add_u64(&t, shards);
    return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                     "a shared filter has 1 to 256 shards, not ", number, NULL);
}

static uint64_t own_bytes(uint32_t n)
{
    return sizeof(weir_shared) + n * sizeof(struct shard) + APART;
}

/* Without its filters. */
static weir_shared *open_shards(uint32_t n, const struct memory *memory)
{
    void *allocation;
    uintptr_t at = (uintptr_t)memory_open(memory, own_bytes(n), &allocation);

    if (!at)
        return NULL;
    weir_shared *s = (weir_shared *)((at + APART - 1) / APART * APART);
    s->allocation = allocation;
    s->memory = *memory;
    s->n = n;
    pthread_mutex_init(&s->line, NULL); /* which cannot fail without attributes */
    pthread_cond_init(&s->moved, NULL);
    for (uint32_t i = 0; i < n; i++)
        pthread_mutex_init(&s->shard[i].lock, NULL);
    return s;
}

/* What is planned for the whole, and for a shard of it. */
struct plans {
    struct planned whole, part;
    char spec[WEIR_SPEC_MAX]; /* of a shard */
    struct memory memory;
    uint64_t bytes; /* that it will take */
};

static enum weir_status plan_shards(struct plans *p, const char *config, uint32_t n,
                                    const struct weir_options *options, struct weir_error *error)
{
    enum weir_status status = caller_memory(options, &p->memory, error);

    if (status == WEIR_OK)
        status = check_number(n, error);
    if (status == WEIR_OK)
        status = filter_plan(config, &p->whole, error);
    if (status != WEIR_OK)
        return status;
    spec_write(&filter_grammar, &p->whole, p->spec, sizeof p->spec);
    status = weir_shard_spec(p->spec, n, p->spec, sizeof p->spec, error);
    if (status == WEIR_OK)
        status = filter_plan(p->spec, &p->part, error);
    if (status != WEIR_OK)
        return status;
    p->bytes = memory_taken(own_bytes(n)) + n * handle_bytes(&filter_kind, &p->part);
    if (p->memory.max_bytes && p->bytes > p->memory.max_bytes)
        return error_no_memory(error, p->whole.config.memory / 8, p->bytes, &p->memory);
    return WEIR_OK;
}

static bool open_filters(weir_shared *s, const struct planned *part)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (!(s->shard[i].filter = filter_new(part, &s->memory, true)))
            return false;
    return true;
}

enum weir_status weir_shared_open(weir_shared **out, const char *config, uint32_t shards,
                                  const struct weir_options *options, struct weir_error *error)
{
    uint32_t n = shards ? shards : SHARDS_DEFAULT;
    struct plans p;
    enum weir_status status = plan_shards(&p, config, n, options, error);

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    weir_shared *s = open_shards(n, &p.memory);
    if (s && open_filters(s, &p.part)) {
        spec_write(&filter_grammar, &p.whole, s->config, sizeof s->config);
        *out = s;
        return WEIR_OK;
    }
    weir_shared_close(s);
    return error_no_memory(error, p.whole.config.memory / 8, p.bytes, &p.memory);
}

static enum weir_status check_alike(weir_filter *const *shards, uint32_t n,
                                    struct weir_error *error)
{
    char a[64], b[64];

    for (uint32_t i = 1; i < n; i++)
        if (filter_shards_differ(&shards[0]->config, &shards[i]->config, a, b))
            return error_say(error, spec_mismatch(a), "the shards differ: ", a, " and ", b,
                             "; those of one filter have one configuration and seed", NULL);
    return WEIR_OK;
}

/* The spec of which these have the shares. */
static void describe_whole(weir_shared *s, weir_filter *const *shards)
{
    struct config whole = shards[0]->config;

    if (whole.ops->fixed) {
        for (uint32_t i = 1; i < s->n; i++) {
            whole.memory += shards[i]->config.memory;
            whole.capacity += shards[i]->config.capacity;
        }
    } else {
        spec_multiply(&filter_grammar, &whole, s->n);
    }
    spec_write(&filter_grammar, &whole, s->config, sizeof s->config);
}

enum weir_status weir_shared_join(weir_shared **out, weir_filter *const *shards, uint32_t n,
                                  const struct weir_options *options, struct weir_error *error)
{
    struct memory memory;
    enum weir_status status = caller_memory(options, &memory, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = check_number(n, error);
    if (status == WEIR_OK)
        status = check_alike(shards, n, error);
    if (status != WEIR_OK)
        return status;
    weir_shared *s = open_shards(n, &memory);
    if (!s)
        return error_no_memory(error, own_bytes(n), memory_taken(own_bytes(n)), &memory);
    describe_whole(s, shards);
    for (uint32_t i = 0; i < n; i++)
        s->shard[i].filter = shards[i];
    *out = s;
    return WEIR_OK;
}

void weir_shared_close(weir_shared *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n; i++) {
        weir_close(s->shard[i].filter);
        pthread_mutex_destroy(&s->shard[i].lock);
    }
    pthread_mutex_destroy(&s->line);
    pthread_cond_destroy(&s->moved);
    memory_close(&s->memory, s->allocation);
}

uint32_t weir_shared_shards(const weir_shared *s)
{
    return s->n;
}

weir_filter *weir_shared_shard(weir_shared *s, uint32_t shard)
{
    return s->shard[shard].filter;
}

/* ---- keys ---- */

struct weir_key weir_shared_hash(const weir_shared *s, const void *data, size_t size)
{
    return weir_hash(s->shard[0].filter, data, size);
}

void weir_shared_hash_many(const weir_shared *s, const struct weir_bytes *bytes, size_t n,
                           struct weir_key *keys)
{
    weir_hash_many(s->shard[0].filter, bytes, n, keys);
}

/* ---- one key ---- */

static struct shard *lock_shard_of(weir_shared *s, struct weir_key key)
{
    struct shard *shard = &s->shard[weir_shard(key, s->n)];

    pthread_mutex_lock(&shard->lock);
    return shard;
}

enum weir_verdict weir_shared_observe(weir_shared *s, struct weir_key key)
{
    struct shard *shard = lock_shard_of(s, key);
    enum weir_verdict verdict = weir_observe(shard->filter, key);

    pthread_mutex_unlock(&shard->lock);
    return verdict;
}

enum weir_verdict weir_shared_ask(weir_shared *s, struct weir_key key)
{
    struct shard *shard = lock_shard_of(s, key);
    enum weir_verdict verdict = weir_ask(shard->filter, key);

    pthread_mutex_unlock(&shard->lock);
    return verdict;
}

enum weir_status weir_shared_forget(weir_shared *s, struct weir_key key, bool *was_there,
                                    struct weir_error *error)
{
    struct shard *shard = lock_shard_of(s, key);
    enum weir_status status = weir_forget(shard->filter, key, was_there, error);

    pthread_mutex_unlock(&shard->lock);
    return status;
}

/* ---- many keys ---- */

void weir_shared_observe_many(weir_shared *s, const struct weir_key *keys, size_t n,
                              uint8_t *verdicts)
{
    weir_shared_observe_many_at(s, keys, NULL, n, verdicts);
}

void weir_shared_observe_many_ttl(weir_shared *s, const struct weir_key *keys,
                                  const uint64_t *times, const uint64_t *ttls, size_t n,
                                  uint8_t *verdicts)
{
    shared_process(s,
                   &(struct weir_shared_batch){.operation = WEIR_SHARED_OBSERVE,
                                               .keys = keys,
                                               .times = times,
                                               .n = n,
                                               .verdicts = verdicts,
                                               .ttls = ttls},
                   NULL);
}

void weir_shared_observe_many_at(weir_shared *s, const struct weir_key *keys, const uint64_t *times,
                                 size_t n, uint8_t *verdicts)
{
    weir_shared_observe_many_ttl(s, keys, times, NULL, n, verdicts);
}

void weir_shared_ask_many(weir_shared *s, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    shared_process(s,
                   &(struct weir_shared_batch){
                       .operation = WEIR_SHARED_ASK, .keys = keys, .n = n, .verdicts = verdicts},
                   NULL);
}

uint64_t weir_shared_ticket(weir_shared *s)
{
    return atomic_fetch_add(&s->tickets, 1);
}

void weir_shared_process(weir_shared *s, uint64_t ticket, const struct weir_shared_batch *batch)
{
    struct weir_shared_batch known = {0}; /* as far as caller and library agree on the struct */

    memcpy(&known, batch, batch->size < sizeof known ? batch->size : sizeof known);
    shared_process(s, &known, &ticket);
}

/* ---- all shards ---- */

void weir_shared_advance(weir_shared *s, uint64_t now)
{
    for (uint32_t i = 0; i < s->n; i++) {
        pthread_mutex_lock(&s->shard[i].lock);
        weir_advance(s->shard[i].filter, now);
        pthread_mutex_unlock(&s->shard[i].lock);
    }
}

static struct weir_stats measure_shard(struct shard *shard)
{
    struct weir_stats stats;

    pthread_mutex_lock(&shard->lock);
    weir_measure(shard->filter, &stats, sizeof stats);
    pthread_mutex_unlock(&shard->lock);
    return stats;
}

void weir_shared_measure(weir_shared *s, struct weir_stats *out, size_t size)
{
    struct weir_stats sum = {.bytes = memory_taken(own_bytes(s->n))};

    for (uint32_t i = 0; i < s->n; i++) {
        struct weir_stats one = measure_shard(&s->shard[i]);

        sum.memory += one.memory;
        sum.bytes += one.bytes;
        sum.observed += one.observed;
        sum.seen += one.seen;
        sum.new_keys += one.new_keys;
        sum.fill += one.fill / s->n;
        sum.error += one.error / s->n;
        sum.lost += one.lost;
        sum.overflow += one.overflow;
    }
    caller_struct_return(out, size, &sum, sizeof sum);
}

size_t weir_shared_config(const weir_shared *s, char *buffer, size_t size)
{
    text_copy(buffer, size, s->config);
    return strlen(s->config);
}

/* ---- save and load ---- */

enum weir_status weir_shared_save_stream(weir_shared *s, weir_sink sink, void *context,
                                         struct weir_error *error)
{
    enum weir_status status = WEIR_OK;

    for (uint32_t i = 0; i < s->n && status == WEIR_OK; i++) {
        pthread_mutex_lock(&s->shard[i].lock);
        status = weir_save_shard(s->shard[i].filter, i, s->n, sink, context, error);
        pthread_mutex_unlock(&s->shard[i].lock);
    }
    return status;
}

/* Each shard may take its part of the limit of the whole. */
static void divide_memory(struct memory *memory, uint32_t n)
{
    uint64_t own = memory_taken(own_bytes(n)),
             left = memory->max_bytes > own ? memory->max_bytes - own : 1;

    if (memory->max_bytes)
        memory->max_bytes = (left + n - 1) / n;
}

/* Join shards that were loaded, or close them. */
static enum weir_status join_loaded(weir_shared **out, weir_filter *const *shards, uint32_t n,
                                    const struct weir_options *options, struct weir_error *error)
{
    enum weir_status status = weir_shared_join(out, shards, n, options, error);

    for (uint32_t i = 0; i < n && status != WEIR_OK; i++)
        weir_close(shards[i]);
    return status;
}

enum weir_status weir_shared_load_buffer(weir_shared **out, const void *data, size_t size,
                                         size_t *used, const struct weir_options *options,
                                         struct weir_error *error)
{
    weir_filter *shards[WEIR_SHARED_SHARDS_MAX];
    struct weir_part part;
    struct memory memory;
    uint32_t n = 0;
    enum weir_status status = caller_memory(options, &memory, error);

    *out = NULL;
    if (status == WEIR_OK)
        status = weir_part_head(data, size, &part, sizeof part, error);
    if (status != WEIR_OK)
        return status;
    divide_memory(&memory, part.shards);
    struct weir_options each = {.size = sizeof each,
                                .allocator = {memory.allocate, memory.free, memory.context},
                                .max_bytes = memory.max_bytes};
    status = weir_load_shards(shards, WEIR_SHARED_SHARDS_MAX, &n, data, size, used, &each, error);
    return status == WEIR_OK ? join_loaded(out, shards, n, options, error) : status;
}

enum weir_status weir_shared_load_stream(weir_shared **out, weir_source source, void *context,
                                         const struct weir_options *options,
                                         struct weir_error *error)
{
    weir_filter *shards[WEIR_SHARED_SHARDS_MAX];
    struct memory memory;
    uint32_t n = 0;
    enum weir_status status = caller_memory(options, &memory, error);

    *out = NULL;
    if (status == WEIR_OK)
        status =
            filter_load_shards(shards, WEIR_SHARED_SHARDS_MAX, &n,
                               (struct part_input){source, context}, memory, divide_memory, error);
    return status == WEIR_OK ? join_loaded(out, shards, n, options, error) : status;
}
