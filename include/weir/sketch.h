/* weir/sketch.h - count how many times keys occur, on unbounded streams, in constant memory.
 *
 *     weir_sketch *s;
 *     struct weir_error error;
 *     if (weir_sketch_open(&s, "top memory=1M", &error) != WEIR_OK)
 *         die(error.text);
 *     weir_sketch_add(s, (struct weir_bytes){line, length}, 1);
 *     size_t n = weir_sketch_top(s, heavy, 20);
 *     weir_sketch_close(s);
 *
 * "count-min" estimates the count of any key, never too low, and stores no keys. "top"
 * (Space-Saving) stores the most frequent keys, each with a count and its maximum error.
 * "heavykeeper" stores them too; its counts are mostly a little low and have no bound.
 *
 * Threads: one thread at a time may use a handle. Several threads may query it concurrently
 * while none modifies it. Different handles share nothing. */
#ifndef WEIR_SKETCH_H
#define WEIR_SKETCH_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_sketch weir_sketch;

/* ---- open and close sketches ---- */

/* Open a sketch from a spec, "NAME parameter=value ...", in the grammar of weir_open(). All
 * parameters are optional; docs/sketches.md lists them. weir_sketch_open_with() also takes the
 * options of weir_open_with().
 * Returns WEIR_OK. On failure *out is NULL.
 * Errors: WEIR_BAD_CONFIG, WEIR_NO_MEMORY. */
WEIR_API enum weir_status weir_sketch_open(weir_sketch **out, const char *config,
                                           struct weir_error *error);
WEIR_API enum weir_status weir_sketch_open_with(weir_sketch **out, const char *config,
                                                const struct weir_options *options,
                                                struct weir_error *error);

/* Free a sketch. NULL is allowed. */
WEIR_API void weir_sketch_close(weir_sketch *s);

/* Copy a sketch with its state.
 * Returns NULL on failure.
 * Errors: WEIR_NO_MEMORY. */
WEIR_API weir_sketch *weir_sketch_clone(const weir_sketch *s, struct weir_error *error);

/* Remove all counts. The sketch is then in the state of a sketch just opened with the same
 * seed. */
WEIR_API void weir_sketch_clear(weir_sketch *s);

/* ---- count ---- */

/* Add to the count of a key. Never fails and never allocates. Counts saturate at their maximum
 * (docs/sketches.md) and never wrap. */
WEIR_API void weir_sketch_add(weir_sketch *s, struct weir_bytes key, uint64_t amount);

/* weir_sketch_add() for n keys in order. amounts may be NULL, for 1 each. The sketch's bytes are
 * identical to those of single calls.
 * Cost: less than single calls, because memory is prefetched. */
WEIR_API void weir_sketch_add_many(weir_sketch *s, const struct weir_bytes *keys,
                                   const uint64_t *amounts, size_t n);

/* weir_sketch_add_many() for hashed keys, on sketches that store no keys. Passing a key that was
 * hashed for another seed is a bug of the caller, as for filters.
 * Errors: WEIR_UNSUPPORTED if the sketch stores keys (no WEIR_CAN_COUNT_ANY). */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_sketch_add_hashed(weir_sketch *s,
                                                                 const struct weir_key *keys,
                                                                 const uint64_t *amounts, size_t n,
                                                                 struct weir_error *error);

/* Hash a key for this sketch. weir_hash_bytes() returns the same for its seed= and hash=.
 * Returns the key. */
WEIR_API struct weir_key weir_sketch_hash(const weir_sketch *s, const void *data, size_t size);

/* Subtract from the count of a key. Subtracting more than was added makes other counts too low.
 * Errors: WEIR_UNSUPPORTED, except for count-min with update=plain. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_sketch_take(weir_sketch *s, struct weir_bytes key, uint64_t amount, struct weir_error *error);

/* Set the current time of a sketch whose half-life= is a time, in milliseconds since any fixed
 * epoch, for example 1970. Counts decay by the time since the last call. The first call defines
 * the start. Earlier times are ignored. Other sketches ignore the call.
 * Cost: passes over the whole memory once in twelve half-lives. Adding does so if the half-life
 * is in records. */
WEIR_API void weir_sketch_advance(weir_sketch *s, uint64_t now);

/* weir_sketch_add_many() for keys with a time each. The result is identical to calling
 * weir_sketch_advance() before each key. */
WEIR_API void weir_sketch_add_many_at(weir_sketch *s, const struct weir_bytes *keys,
                                      const uint64_t *amounts, const uint64_t *times, size_t n);

/* ---- query counts ---- */

/* The true count is at most `count` and at least `count - error`. For "top" this always holds;
 * for "count-min" with the probability `confidence` of weir_sketch_measure(). With half-life=
 * both are rounded, count up and count - error down. If error is WEIR_NO_BOUND ("heavykeeper"),
 * neither is guaranteed. */
#define WEIR_NO_BOUND UINT64_MAX

struct weir_estimate {
    uint64_t count, error;
};

/* Estimate the count of a key.
 * Returns the estimate. */
WEIR_API struct weir_estimate weir_sketch_ask(const weir_sketch *s, struct weir_bytes key);

/* weir_sketch_ask() for n keys.
 * Cost: for "count-min" less than single calls, because memory is prefetched. */
WEIR_API void weir_sketch_ask_many(const weir_sketch *s, const struct weir_bytes *keys, size_t n,
                                   struct weir_estimate *out);

/* weir_sketch_ask_many() for hashed keys.
 * Errors: as weir_sketch_add_hashed(). */
WEIR_API enum weir_status weir_sketch_ask_hashed(const weir_sketch *s, const struct weir_key *keys,
                                                 size_t n, struct weir_estimate *out,
                                                 struct weir_error *error);

/* A stored key. Its bytes are valid until the sketch is next modified. */
struct weir_heavy {
    struct weir_bytes key;
    uint64_t count, error;
};

/* List up to n keys with the highest counts, highest first.
 * Returns their number; 0 for sketches that store no keys. */
WEIR_API size_t weir_sketch_top(const weir_sketch *s, struct weir_heavy *out, size_t n);

/* ---- merge sketches ---- */

/* Add all counts of another sketch of the same configuration and seed. If the half-life is a
 * time, both are first advanced to the later of their times. If it is in records, the last
 * record of each counts as current. "top" and decaying counts need temporary memory.
 * Returns WEIR_OK. On failure `into` is unchanged.
 * Errors: WEIR_MISMATCH, WEIR_NO_MEMORY, or WEIR_UNSUPPORTED for "heavykeeper". */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_sketch_merge(weir_sketch *into, const weir_sketch *from, struct weir_error *error);

/* Set a sketch to the weighted sum of n sketches of its configuration and seed. Weights may be
 * negative. Its previous counts are included only if it is one of the n. For "count-min"
 * without half-life= only.
 * Returns WEIR_OK. On failure `into` is unchanged.
 * Errors: WEIR_MISMATCH. WEIR_UNSUPPORTED for other sketches, or if a count would be below 0 or
 * above its maximum. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_sketch_weigh(weir_sketch *into,
                                                            const weir_sketch *const *from,
                                                            const int64_t *weights, size_t n,
                                                            struct weir_error *error);

/* ---- statistics and configuration ---- */

struct weir_sketch_stats {
    uint64_t memory;   /* bytes of counters and keys, at most memory= */
    uint64_t bytes;    /* bytes of the whole handle */
    uint64_t total;    /* sum of all amounts added, minus those subtracted */
    uint64_t keys;     /* keys stored */
    uint64_t error;    /* count-min: maximum error of a count; "top": maximum count of a key
                          that is not stored; or WEIR_NO_BOUND */
    double confidence; /* probability that `error` holds */
    uint64_t too_long; /* "top": part of total for keys too long to be stored; the other figures
                          do not include them */
};

/* weir_measure() for sketches. */
WEIR_API void weir_sketch_measure(const weir_sketch *s, struct weir_sketch_stats *out, size_t size);

/* weir_stats_of() for sketches.
 * Returns the statistics. */
static inline struct weir_sketch_stats weir_sketch_stats_of(const weir_sketch *s)
{
    struct weir_sketch_stats stats;

    weir_sketch_measure(s, &stats, sizeof stats);
    return stats;
}

/* weir_config() for sketches.
 * Returns as weir_config(). */
WEIR_API size_t weir_sketch_config(const weir_sketch *s, char *buffer, size_t size);

/* ---- save and load: as for filters, in the same files ---- */

/* Bytes that saving would take now. */
WEIR_API size_t weir_sketch_saved_size(const weir_sketch *s);

/* As weir_save_buffer() and weir_save_stream(). */
WEIR_API WEIR_MUST_CHECK size_t weir_sketch_save_buffer(const weir_sketch *s, void *buffer,
                                                        size_t size, struct weir_error *error);
WEIR_API WEIR_MUST_CHECK enum weir_status weir_sketch_save_stream(const weir_sketch *s,
                                                                  weir_sink sink, void *context,
                                                                  struct weir_error *error);

/* As weir_load_buffer(). Any bytes give a usable sketch or an error. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_sketch_load_buffer(weir_sketch **out, const void *data, size_t size, size_t *used,
                        const struct weir_options *options, struct weir_error *error);

/* As weir_load_stream() (weir/saved.h). Loading a sketch that stores keys needs as many bytes
 * again as temporary memory. There is no view of a sketch: stored keys are saved in another
 * form, and counters are few enough to be loaded. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_sketch_load_stream(weir_sketch **out, weir_source source, void *context,
                        const struct weir_options *options, struct weir_error *error);

/* As weir_save_file() and weir_load_file(). */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_sketch_save_file(const weir_sketch *s, const char *path, struct weir_error *error);
WEIR_API WEIR_MUST_CHECK enum weir_status weir_sketch_load_file(weir_sketch **out, const char *path,
                                                                const struct weir_options *options,
                                                                struct weir_error *error);

#ifdef __cplusplus
}
#endif

#endif
