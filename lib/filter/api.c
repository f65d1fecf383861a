/* api.c - the public calls of weir.h on filters: hash, observe, look up, remove, measure. What
 * filters share with sketches and screens is in filter_handle.c. */
#include <weir/hash.h>

#include <string.h>

#include "filter/filter.h"
#include "spec/caller_struct.h"

/* ---- keys ---- */

#define BATCH 256    /* keys that are hashed or copied at a time */
#define STAMPED 2048 /* keys that get their expiry times at a time */

struct weir_key weir_hash(const weir_filter *w, const void *data, size_t size)
{
    return weir_hash_bytes((uint32_t)w->config.hash, w->config.seed, data, size);
}

void weir_hash_many(const weir_filter *w, const struct weir_bytes *bytes, size_t n,
                    struct weir_key *keys)
{
    weir_hash_bytes_many((uint32_t)w->config.hash, w->config.seed, bytes, n, keys);
}

/* Observing on a filter that cannot record keys is a bug of the caller. */
static inline void check_can_observe(const weir_filter *w)
{
    debug_assert(w->handle.is_view ||
                 w->ops->is.about.traits & WEIR_CAN_OBSERVE); /* or build it: weir/build.h */
}

enum weir_verdict weir_observe(weir_filter *w, struct weir_key key)
{
    check_can_observe(w);
    check_keys(&w->config, &key, 1);
    handle_use(&w->handle, 1);
    return w->ops->observe(w, &key) ? WEIR_SEEN : WEIR_NEW;
}

void weir_observe_many(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    check_can_observe(w);
    check_keys(&w->config, keys, n);
    handle_use(&w->handle, n);
    w->ops->observe_many(w, keys, n, verdicts);
}

/* Observe some keys of a batch by copying them together. */
static void observe_copied(weir_filter *w, const struct picked *p)
{
    struct weir_key keys[BATCH];
    uint8_t verdicts[BATCH];

    for (size_t begin = 0, some; begin < p->n; begin += some) {
        const uint16_t *at = p->at + begin;

        some = p->n - begin < BATCH ? p->n - begin : BATCH;
        for (size_t i = 0; i < some; i++)
            keys[i] = p->keys[at[i]];
        weir_observe_many(w, keys, some, verdicts);
        for (size_t i = 0; i < some; i++)
            p->verdicts[at[i]] = verdicts[i];
    }
}

void filter_observe_picked(weir_filter *w, const struct picked *p)
{
    if (!w->ops->observe_picked) {
        observe_copied(w, p);
        return;
    }
    for (size_t i = 0; i < p->n; i++)
        check_keys(&w->config, &p->keys[p->at[i]], 1);
    handle_use(&w->handle, p->n);
    w->ops->observe_picked(w, p);
}

enum weir_verdict weir_ask(const weir_filter *w, struct weir_key key)
{
    check_keys(&w->config, &key, 1);
    return w->ops->ask(w, &key) ? WEIR_SEEN : WEIR_NEW;
}

void weir_ask_many(const weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    check_keys(&w->config, keys, n);
    w->ops->ask_many(w, keys, n, verdicts);
}

enum weir_verdict weir_observe_bytes(weir_filter *w, const void *data, size_t size)
{
    struct weir_key key = weir_hash(w, data, size);

    check_can_observe(w);
    handle_use(&w->handle, 1);
    return w->ops->observe(w, &key) ? WEIR_SEEN : WEIR_NEW;
}

enum weir_verdict weir_ask_bytes(const weir_filter *w, const void *data, size_t size)
{
    struct weir_key key = weir_hash(w, data, size);

    return w->ops->ask(w, &key) ? WEIR_SEEN : WEIR_NEW;
}

void weir_observe_bytes_many(weir_filter *w, const struct weir_bytes *bytes, size_t n,
                             uint8_t *verdicts)
{
    struct weir_key keys[BATCH];

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < BATCH ? n - at : BATCH;
        weir_hash_many(w, bytes + at, some, keys);
        weir_observe_many(w, keys, some, verdicts + at);
    }
}

void weir_ask_bytes_many(const weir_filter *w, const struct weir_bytes *bytes, size_t n,
                         uint8_t *verdicts)
{
    struct weir_key keys[BATCH];

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < BATCH ? n - at : BATCH;
        weir_hash_many(w, bytes + at, some, keys);
        weir_ask_many(w, keys, some, verdicts + at);
    }
}

uint32_t weir_count(const weir_filter *w, struct weir_key key)
{
    check_keys(&w->config, &key, 1);
    return w->ops->count ? w->ops->count(w, key) : w->ops->ask(w, &key);
}

void weir_prefetch(const weir_filter *w, struct weir_key key)
{
    w->ops->prefetch(w, key);
}

/* The number of keys, from the first on, that can be observed without advancing the clock. */
static size_t run_of(const weir_filter *w, const uint64_t *times, size_t n)
{
    uint64_t last = w->ops->quiet_until ? w->ops->quiet_until(w) : UINT64_MAX;
    size_t run = 1;

    while (run < n && times[run] <= last)
        run++;
    return run;
}

void weir_observe_many_at(weir_filter *w, const struct weir_key *keys, const uint64_t *times,
                          size_t n, uint8_t *verdicts)
{
    if (w->config.ttl.min && !w->handle.is_view) {
        weir_observe_many_ttl(w, keys, times, NULL, n, verdicts);
        return;
    }
    for (size_t at = 0, run; at < n; at += run) {
        weir_advance(w, times[at]);
        run = run_of(w, times + at, n - at);
        weir_observe_many(w, keys + at, run, verdicts + at);
    }
}

void weir_observe_many_ttl(weir_filter *w, const struct weir_key *keys, const uint64_t *times,
                           const uint64_t *ttls, size_t n, uint8_t *verdicts)
{
    uint64_t expires[STAMPED];

    if (!w->config.ttl.min || w->handle.is_view) {
        if (times)
            weir_observe_many_at(w, keys, times, n, verdicts);
        else
            weir_observe_many(w, keys, n, verdicts);
        return;
    }
    check_keys(&w->config, keys, n);
    handle_use(&w->handle, n);
    for (size_t at = 0, some; at < n; at += some) {
        some = w->ops->stamp(w, times ? times + at : NULL, ttls ? ttls + at : NULL,
                             n - at < STAMPED ? n - at : STAMPED, expires);
        w->ops->observe_until(w, keys + at, expires, some, verdicts + at);
    }
}

enum weir_status weir_forget(weir_filter *w, struct weir_key key, bool *was_there,
                             struct weir_error *error)
{
    if (w->handle.is_view)
        return error_say(error, WEIR_ERROR_READ_ONLY,
                         "a view of a saved filter cannot be changed; load it to remove a key",
                         NULL);
    check_keys(&w->config, &key, 1);
    if (!w->ops->forget)
        return error_say(error, WEIR_ERROR_UNSUPPORTED, w->ops->is.about.name,
                         " cannot remove a key; ",
                         spec_names(&filter_grammar, WEIR_CAN_FORGET).text, " can", NULL);
    bool there = w->ops->forget(w, key);
    if (was_there)
        *was_there = there;
    return WEIR_OK;
}

void weir_advance(weir_filter *w, uint64_t now)
{
    if (w->ops->advance)
        w->ops->advance(w, now);
}

static double fill_of(const weir_filter *w)
{
    double fill = 0;

    if (w->ops->fill)
        return w->ops->fill(w);
    for (uint32_t i = 0; i < w->shape.planes; i++) {
        struct cells cells = plane(w, i);

        fill += cells_fill(&cells) / w->shape.planes;
    }
    return fill;
}

void weir_measure(const weir_filter *w, struct weir_stats *out, size_t size)
{
    struct weir_stats stats = {
        .memory = cells_size(w->shape.cells * w->shape.planes, w->shape.width),
        .bytes = w->handle.bytes,
        .observed = w->observed,
        .seen = w->seen,
        .new_keys = w->observed - w->seen,
        .fill = fill_of(w),
        .error = w->ops->error(w),
        .lost = w->ops->lost ? w->ops->lost(w) : 0,
        .overflow = w->ops->overflow ? w->ops->overflow(w) : 0,
    };

    caller_struct_return(out, size, &stats, sizeof stats);
}
