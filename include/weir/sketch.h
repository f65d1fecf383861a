/* weir/sketch.h - how often? Counts of keys on a stream without end, in memory
 * that never grows.
 *
 *     weir_sketch *s;
 *     struct weir_error error;
 *     if (weir_sketch_open(&s, "top memory=1M", &error) != WEIR_OK)
 *         die(error.text);
 *     weir_sketch_add(s, (struct weir_bytes){line, length}, 1);
 *     size_t n = weir_sketch_top(s, heavy, 20);
 *     weir_sketch_close(s);
 *
 * "count-min" tells of any key how often it came, never too low, and keeps no
 * keys. "top" (Space-Saving) keeps the most frequent keys themselves, each with
 * a count and the most by which it can be too high. "heavykeeper" keeps them too,
 * with counts that are mostly a little low, and no bound.
 *
 * Threads: as for filters. A handle belongs to one thread at a time; several
 * may ask at once while nobody changes it. */
#ifndef WEIR_SKETCH_H
#define WEIR_SKETCH_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_sketch weir_sketch;

/* ---- open and close ---- */

/* Open a sketch: "NAME parameter=value ...", in the grammar of weir_open(). Every
 * parameter may be left out; docs/sketches.md lists them. On failure *out is NULL. */
WEIR_API enum weir_status weir_sketch_open(weir_sketch **out, const char *config,
                                           struct weir_error *error);
WEIR_API enum weir_status weir_sketch_open_with(weir_sketch **out, const char *config,
                                                const struct weir_options *options,
                                                struct weir_error *error);
WEIR_API void weir_sketch_close(weir_sketch *s);

/* A second sketch in the same state; NULL if memory is short (WEIR_NO_MEMORY). */
WEIR_API weir_sketch *weir_sketch_clone(const weir_sketch *s, struct weir_error *error);

/* Forget everything, as if just opened with the same seed. */
WEIR_API void weir_sketch_clear(weir_sketch *s);

/* ---- count ---- */

/* Add to the count of a key. Cannot fail, never allocates; counts stop at the
 * most they can be (docs/sketches.md), they never wrap. */
WEIR_API void weir_sketch_add(weir_sketch *s, struct weir_bytes key, uint64_t amount);

/* The same for n keys in order, faster: memory is fetched ahead. amounts may be
 * NULL: 1 each. Leaves exactly the bytes that one by one would. */
WEIR_API void weir_sketch_add_many(weir_sketch *s, const struct weir_bytes *keys,
                                   const uint64_t *amounts, size_t n);

/* The same with keys that are hashed, for sketches that keep no keys; WEIR_UNSUPPORTED for
 * the others. weir_sketch_hash() hashes one; weir/hash.h, given the seed= and hash= of the
 * sketch, gives the same without it. A key of another seed is a caller's bug, as for filters. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_sketch_add_hashed(weir_sketch *s,
                                                                 const struct weir_key *keys,
                                                                 const uint64_t *amounts, size_t n,
                                                                 struct weir_error *error);
WEIR_API struct weir_key weir_sketch_hash(const weir_sketch *s, const void *data, size_t size);

/* Take back what was added. Only for count-min with update=plain; elsewhere
 * WEIR_UNSUPPORTED. Taking more than was added makes other counts too low. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_sketch_take(weir_sketch *s, struct weir_bytes key, uint64_t amount, struct weir_error *error);

/* Tell a sketch whose half-life= is a time what time it is, in milliseconds of
 * one clock (say, since 1970): counts fade by what has passed since the last
 * call. The first call sets the beginning; a time before the latest told changes
 * nothing. The others take no notice. Passes over the whole memory once in
 * twelve half-lives, as adding does where the half-life is in records. */
WEIR_API void weir_sketch_advance(weir_sketch *s, uint64_t now);

/* weir_sketch_add_many() of keys that have a time each: exactly as if
 * weir_sketch_advance() were called before each of them. */
WEIR_API void weir_sketch_add_many_at(weir_sketch *s, const struct weir_bytes *keys,
                                      const uint64_t *amounts, const uint64_t *times, size_t n);

/* ---- ask ---- */

/* The true count is at most count, and at least count - error: for "top"
 * always, for "count-min" with the chance that weir_sketch_measure() gives. With
 * half-life= both are rounded, count up and count - error down. Where error is
 * WEIR_NO_BOUND neither is promised ("heavykeeper"). */
#define WEIR_NO_BOUND UINT64_MAX

struct weir_estimate {
    uint64_t count, error;
};

WEIR_API struct weir_estimate weir_sketch_ask(const weir_sketch *s, struct weir_bytes key);

/* The same for n keys; of "count-min" faster: memory is fetched ahead. */
WEIR_API void weir_sketch_ask_many(const weir_sketch *s, const struct weir_bytes *keys, size_t n,
                                   struct weir_estimate *out);

/* The same with keys that are hashed; statuses as of weir_sketch_add_hashed(). */
WEIR_API enum weir_status weir_sketch_ask_hashed(const weir_sketch *s, const struct weir_key *keys,
                                                 size_t n, struct weir_estimate *out,
                                                 struct weir_error *error);

/* A key that is kept. Its bytes lie in the sketch, up to the next change. */
struct weir_heavy {
    struct weir_bytes key;
    uint64_t count, error;
};

/* The at most n keys of the highest counts, highest first; returns how many.
 * None from sketches that keep no keys. */
WEIR_API size_t weir_sketch_top(const weir_sketch *s, struct weir_heavy *out, size_t n);

/* Add all that another of the same configuration and seed has counted.
 * Anything but WEIR_OK leaves it as it was; "top" and counts that fade need memory
 * for it, "heavykeeper" cannot (WEIR_UNSUPPORTED). Where the half-life is a time,
 * both are as of the later one; in records, the last of each is as of now. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_sketch_merge(weir_sketch *into, const weir_sketch *from, struct weir_error *error);

/* Make it the sum of n sketches of its configuration and seed, each times its weight, which
 * may be negative; what it had counted counts only if it is one of them. Anything but
 * WEIR_OK leaves it as it was: WEIR_MISMATCH, or WEIR_UNSUPPORTED where a count would be
 * below 0 or above the most it can be, and for all but "count-min" without half-life=. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_sketch_weigh(weir_sketch *into,
                                                            const weir_sketch *const *from,
                                                            const int64_t *weights, size_t n,
                                                            struct weir_error *error);

/* ---- what it knows of itself ---- */

struct weir_sketch_stats {
    uint64_t memory;   /* bytes of counters and keys, at most what memory= asked for */
    uint64_t bytes;    /* all that the handle occupies */
    uint64_t total;    /* all that was added, less what was taken back */
    uint64_t keys;     /* keys kept */
    uint64_t error;    /* count-min: by how much a count may be too high; "top": the most that
                          a key which is not kept can have come; or WEIR_NO_BOUND */
    double confidence; /* with what chance that holds */
    uint64_t too_long; /* "top": of total, what belongs to keys too long to be kept; none of the
                          other figures cover them */
};

/* As weir_measure() and weir_stats_of(). */
WEIR_API void weir_sketch_measure(const weir_sketch *s, struct weir_sketch_stats *out, size_t size);

static inline struct weir_sketch_stats weir_sketch_stats_of(const weir_sketch *s)
{
    struct weir_sketch_stats stats;

    weir_sketch_measure(s, &stats, sizeof stats);
    return stats;
}

/* As weir_config(). */
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

/* Any bytes give a usable sketch or an error. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_sketch_load_buffer(weir_sketch **out, const void *data, size_t size, size_t *used,
                        const struct weir_options *options, struct weir_error *error);

/* From a source, as weir_load_stream() of weir/saved.h. Those that keep keys take as many bytes
 * again meanwhile. There is no view of a sketch: keys are saved in another form than
 * they are kept, and counters are few enough to be loaded. */
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
