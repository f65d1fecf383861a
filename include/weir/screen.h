/* weir/screen.h - test membership in a huge set that a slow, exact store contains, with as few
 * lookups in the store as possible.
 *
 *     weir_screen *s;
 *     struct weir_error error;
 *     if (weir_screen_open(&s, "cache memory=512K", &error) != WEIR_OK)
 *         die(error.text);
 *     weir_screen_check(s, keys, n, ask_the_database, db, answers);
 *     weir_screen_close(s);
 *
 * A screen is a small in-memory filter in front of a slow store. It answers what it can from a
 * few kilobytes, and asks the store for the rest through the caller's function.
 *
 *   cache    caches the store's answers by fingerprint, and evicts the least recently used
 *   dabf     two Bloom filters, of keys asked and of members (Busnel and Gillet 2019);
 *            with window=, two such pairs that are cleared in turn
 *   1bf      the whole set in one Bloom filter; never asks the store
 *   strict   the same filter; the store confirms every positive: no false positives
 *   none     asks the store for every key
 *
 * Threads: one thread at a time may use a handle. Different handles share nothing. */
#ifndef WEIR_SCREEN_H
#define WEIR_SCREEN_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_screen weir_screen;

/* ---- answers and stores ---- */

enum weir_answer { WEIR_OTHER = 0, WEIR_MEMBER = 1, WEIR_UNANSWERED = 2 };

/* The caller's store: look up n different keys. Set answers[i] to WEIR_MEMBER, WEIR_OTHER, or
 * WEIR_UNANSWERED if the lookup failed; the screen caches nothing for such keys.
 * Returns true. If it returns false, the check ends: the store is not asked again, and the
 * first key that then needs it and all keys after that are WEIR_UNANSWERED, as if they had not
 * been passed. */
typedef bool (*weir_screen_store)(void *context, const struct weir_bytes *keys, size_t n,
                                  uint8_t *answers);

/* ---- open and close screens ---- */

/* Open a screen from a spec, "NAME parameter=value ...", in the grammar of weir_open(). The name
 * is optional (default: cache). docs/screens.md lists the parameters. weir_screen_open_with()
 * also takes the options of weir_open_with().
 * Returns WEIR_OK. On failure *out is NULL.
 * Errors: WEIR_BAD_CONFIG, WEIR_NO_MEMORY. */
WEIR_API enum weir_status weir_screen_open(weir_screen **out, const char *config,
                                           struct weir_error *error);
WEIR_API enum weir_status weir_screen_open_with(weir_screen **out, const char *config,
                                                const struct weir_options *options,
                                                struct weir_error *error);

/* Free a screen. NULL is allowed. */
WEIR_API void weir_screen_close(weir_screen *s);

/* Copy a screen with its state.
 * Returns NULL on failure.
 * Errors: WEIR_NO_MEMORY. */
WEIR_API weir_screen *weir_screen_clone(const weir_screen *s, struct weir_error *error);

/* Remove everything, including the set and the statistics. The screen is then in the state of a
 * screen just opened with the same seed. */
WEIR_API void weir_screen_clear(weir_screen *s);

/* Add the state of another screen of the same configuration and seed. A screen with a set then
 * contains both sets. One with cached answers does not ask for those of either again.
 * Returns WEIR_OK. On failure `into` is unchanged.
 * Errors: WEIR_MISMATCH. WEIR_UNSUPPORTED for screens that evict answers (cache, verdicts=), for
 * windows (dabf), and for attached sets. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_screen_merge(weir_screen *into, const weir_screen *from, struct weir_error *error);

/* ---- the set (1bf and strict) ---- */

/* Report whether the screen needs the set before the first check.
 * Returns true for 1bf and strict until a key is added or a set attached. */
WEIR_API bool weir_screen_needs_set(const weir_screen *s);

/* Add members to the set, in any number of calls. Also add those that the store gains later: a
 * key that was not added is not a member. Other screens ignore the call. */
WEIR_API void weir_screen_add_members(weir_screen *s, const struct weir_bytes *keys, size_t n);

/* Attach a filter that contains members and has the screen's seed= and hash=. A filter built for
 * the complete set (weir/build.h) has fewer false positives in the same memory. It is used in
 * addition to the keys that were added. The caller still owns the filter and must keep it until
 * the screen is closed or weir_screen_clear_set() is called. Clones and saved screens do not
 * include it.
 * Errors: WEIR_MISMATCH for another seed or hash. WEIR_UNSUPPORTED if the screen has no set. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_screen_attach_set(weir_screen *s, const weir_filter *set, struct weir_error *error);

/* Remove the set, so that it can be added again: keys that the store has deleted would stay
 * members otherwise. Cached answers and statistics remain. Other screens ignore the call. */
WEIR_API void weir_screen_clear_set(weir_screen *s);

/* ---- event time ---- */

/* Set the current time of a screen that has span=, in milliseconds since any fixed epoch, as
 * weir_advance(). Cached answers older than span= are evicted and asked for again. The first
 * call defines the start. Earlier times are ignored. Screens without span= ignore the call.
 * The resolution is 1/64 of span=: times within one step are equal. */
WEIR_API void weir_screen_advance(weir_screen *s, uint64_t now);

/* ---- check keys ---- */

/* Answer n keys in order. The store is asked at most once per key of a batch, in as few calls
 * as possible. The answers and the screen's state are identical to those of single calls. More
 * than WEIR_SCREEN_BATCH keys are processed as several batches.
 * Returns the number of keys that are WEIR_UNANSWERED because the store could not answer or
 * ended the check. */
#define WEIR_SCREEN_BATCH 16384
WEIR_API size_t weir_screen_check(weir_screen *s, const struct weir_bytes *keys, size_t n,
                                  weir_screen_store store, void *context, uint8_t *answers);

/* ---- statistics and configuration ---- */

struct weir_screen_stats {
    uint64_t memory;     /* bytes of cells */
    uint64_t bytes;      /* bytes of the whole handle */
    uint64_t checked;    /* keys checked: asked + saved + unanswered */
    uint64_t asked;      /* keys that the store answered (the paper's calls), in any batches */
    uint64_t saved;      /* keys that the screen answered itself */
    uint64_t unanswered; /* keys that the store could not answer */
    uint64_t members;    /* keys answered WEIR_MEMBER */
    double fill;         /* share of cells in use, of the part that answers */
    double error;        /* probability that an unknown key matches: false-positive rate */
};

/* weir_measure() for screens. */
WEIR_API void weir_screen_measure(const weir_screen *s, struct weir_screen_stats *out, size_t size);

/* weir_stats_of() for screens.
 * Returns the statistics. */
static inline struct weir_screen_stats weir_screen_stats_of(const weir_screen *s)
{
    struct weir_screen_stats stats;

    weir_screen_measure(s, &stats, sizeof stats);
    return stats;
}

/* weir_config() for screens.
 * Returns as weir_config(). */
WEIR_API size_t weir_screen_config(const weir_screen *s, char *buffer, size_t size);

/* ---- save and load: as for filters ---- */

/* As weir_saved_size(), weir_save_buffer(), weir_save_stream() and weir_load_buffer(). */
WEIR_API size_t weir_screen_saved_size(const weir_screen *s);
WEIR_API WEIR_MUST_CHECK size_t weir_screen_save_buffer(const weir_screen *s, void *buffer,
                                                        size_t size, struct weir_error *error);
WEIR_API WEIR_MUST_CHECK enum weir_status weir_screen_save_stream(const weir_screen *s,
                                                                  weir_sink sink, void *context,
                                                                  struct weir_error *error);
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_screen_load_buffer(weir_screen **out, const void *data, size_t size, size_t *used,
                        const struct weir_options *options, struct weir_error *error);

/* As weir_load_stream() (weir/saved.h). There is no view of a screen: every check modifies
 * it. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_screen_load_stream(weir_screen **out, weir_source source, void *context,
                        const struct weir_options *options, struct weir_error *error);

/* As weir_save_file() and weir_load_file(). */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_screen_save_file(const weir_screen *s, const char *path, struct weir_error *error);
WEIR_API WEIR_MUST_CHECK enum weir_status weir_screen_load_file(weir_screen **out, const char *path,
                                                                const struct weir_options *options,
                                                                struct weir_error *error);

/* ---- choose a screen ---- */

/* The spec of a screen, and the reason in words. */
struct weir_screen_choice {
    char spec[128];
    char reason[128];
};

/* Choose a screen for a store. If the store can list its keys (listed), `set` in number, and
 * they fit in `memory` bytes, the choice is to hold the set and confirm positives (strict).
 * Otherwise it is to cache answers (cache). `size` is that of the struct. */
WEIR_API void weir_screen_choose(struct weir_screen_choice *out, size_t size, uint64_t memory,
                                 bool listed, uint64_t set);

#ifdef __cplusplus
}
#endif

#endif
