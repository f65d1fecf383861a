/* weir/screen.h - does it belong? Membership in a huge set that a slow, exact
 * store knows, asking that store as rarely as possible.
 *
 *     weir_screen *s;
 *     struct weir_error error;
 *     if (weir_screen_open(&s, "cache memory=512K", &error) != WEIR_OK)
 *         die(error.text);
 *     weir_screen_check(s, keys, n, ask_the_database, db, answers);
 *     weir_screen_close(s);
 *
 * A screen stands before a store. It answers what it can from a few kilobytes,
 * and asks the store for the rest through the caller's function.
 *
 *   cache    remembers the store's verdicts by fingerprint, those least used forgotten first
 *   dabf     two Bloom filters, of keys asked and of members (Busnel and Gillet 2019),
 *            with window= two such pairs flushed in turn
 *   1bf      the whole set in one Bloom filter, the store never asked
 *   strict   the same filter, every positive confirmed by the store: no false positive
 *   none     asks for every key
 *
 * Threads: as for filters. A handle belongs to one thread at a time. */
#ifndef WEIR_SCREEN_H
#define WEIR_SCREEN_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_screen weir_screen;

enum weir_answer { WEIR_OTHER = 0, WEIR_MEMBER = 1, WEIR_UNANSWERED = 2 };

/* The caller's store: answer n different keys. answers[i] becomes WEIR_OTHER or
 * WEIR_MEMBER, or WEIR_UNANSWERED where it could not tell; nothing is remembered
 * of those. Returns false to end the check: it is not asked again, and the first key
 * that then has no answer is left WEIR_UNANSWERED with all after it, as if they had not
 * been shown. */
typedef bool (*weir_screen_store)(void *context, const struct weir_bytes *keys, size_t n,
                                  uint8_t *answers);

/* ---- open and close ---- */

/* Open a screen: "NAME parameter=value ...", in the grammar of weir_open(); the name
 * may be left out (cache). docs/screens.md lists the parameters. On failure *out is
 * NULL. */
WEIR_API enum weir_status weir_screen_open(weir_screen **out, const char *config,
                                           struct weir_error *error);
WEIR_API enum weir_status weir_screen_open_with(weir_screen **out, const char *config,
                                                const struct weir_options *options,
                                                struct weir_error *error);
WEIR_API void weir_screen_close(weir_screen *s);

/* A second screen in the same state; NULL if memory is short (WEIR_NO_MEMORY). */
WEIR_API weir_screen *weir_screen_clone(const weir_screen *s, struct weir_error *error);

/* Forget everything, the set and the figures too, as if just opened with the same seed. */
WEIR_API void weir_screen_clear(weir_screen *s);

/* Add all that another of the same configuration and seed knows: a screen that holds a set
 * then holds both, one that has asked the store need not ask again. WEIR_MISMATCH, or
 * WEIR_UNSUPPORTED for verdicts that are used up (cache, verdicts=), for windows (dabf) and for
 * sets that are lent, leave it as it was. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_screen_merge(weir_screen *into, const weir_screen *from, struct weir_error *error);

/* ---- the set, for screens that hold it ---- */

/* Does it want the set before the first check? (1bf and strict, until they are
 * told of a key.) */
WEIR_API bool weir_screen_needs_set(const weir_screen *s);

/* Tell it members, in as many calls as it takes. Later ones too, if the store
 * gets some: a key of which it was not told is no member. Others take no notice. */
WEIR_API void weir_screen_add_members(weir_screen *s, const struct weir_bytes *keys, size_t n);

/* Lend it a filter that holds members, of the screen's own seed= and hash=: one that is built
 * whole (weir/build.h) errs less in the same memory. It is asked beside what the screen was told,
 * stays the caller's, and must outlive the screen or its next weir_screen_clear_set(). Clones and
 * saved screens do not have it. WEIR_OK; WEIR_MISMATCH for another seed or hash; WEIR_UNSUPPORTED
 * where no set is held. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_screen_attach_set(weir_screen *s, const weir_filter *set, struct weir_error *error);

/* Forget the set, so that it can be told anew: what the store has dropped since would
 * stay a member otherwise. Verdicts and counts stay. Others take no notice. */
WEIR_API void weir_screen_clear_set(weir_screen *s);

/* Tell a screen opened with span= what time it is, in milliseconds of one clock, as weir_advance():
 * verdicts of the store that are as old as the span are forgotten, and asked for anew. The first
 * call sets the beginning; a time before the latest told changes nothing. Screens without span=
 * take no notice. Time passes in steps of a 64th of the span: two times in the same one are the
 * same. */
WEIR_API void weir_screen_advance(weir_screen *s, uint64_t now);

/* ---- check ---- */

/* Answer n keys in order; the store is asked at most once for a key of a batch,
 * all that are needed in as few calls as possible. Returns how many were left
 * WEIR_UNANSWERED because the store could not tell, or ended it; the others are answered.
 * Answers and state are those that one key after the other would give. More than
 * WEIR_SCREEN_BATCH keys are taken as several batches. */
#define WEIR_SCREEN_BATCH 16384
WEIR_API size_t weir_screen_check(weir_screen *s, const struct weir_bytes *keys, size_t n,
                                  weir_screen_store store, void *context, uint8_t *answers);

/* ---- what it knows of itself ---- */

struct weir_screen_stats {
    uint64_t memory;     /* bytes of cells */
    uint64_t bytes;      /* all that the handle occupies */
    uint64_t checked;    /* keys answered or not, of which */
    uint64_t asked;      /* the store answered (the paper's calls, however they were batched), */
    uint64_t saved;      /* the screen answered by itself, */
    uint64_t unanswered; /* and the store could not tell */
    uint64_t members;    /* answered WEIR_MEMBER */
    double fill;         /* share of cells in use, of the part that answers */
    double error;        /* chance that a key it was never told of is taken for known */
};
/* As weir_measure() and weir_stats_of(). */
WEIR_API void weir_screen_measure(const weir_screen *s, struct weir_screen_stats *out, size_t size);

static inline struct weir_screen_stats weir_screen_stats_of(const weir_screen *s)
{
    struct weir_screen_stats stats;

    weir_screen_measure(s, &stats, sizeof stats);
    return stats;
}

/* As weir_config(). */
WEIR_API size_t weir_screen_config(const weir_screen *s, char *buffer, size_t size);

/* ---- save and load: as for filters ---- */

WEIR_API size_t weir_screen_saved_size(const weir_screen *s);
WEIR_API WEIR_MUST_CHECK size_t weir_screen_save_buffer(const weir_screen *s, void *buffer,
                                                        size_t size, struct weir_error *error);
WEIR_API WEIR_MUST_CHECK enum weir_status weir_screen_save_stream(const weir_screen *s,
                                                                  weir_sink sink, void *context,
                                                                  struct weir_error *error);
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_screen_load_buffer(weir_screen **out, const void *data, size_t size, size_t *used,
                        const struct weir_options *options, struct weir_error *error);

/* From a source, as weir_load_stream() of weir/saved.h. There is no view of a screen: every
 * check changes it. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_screen_load_stream(weir_screen **out, weir_source source, void *context,
                        const struct weir_options *options, struct weir_error *error);

/* As weir_save_file() and weir_load_file(). */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_screen_save_file(const weir_screen *s, const char *path, struct weir_error *error);
WEIR_API WEIR_MUST_CHECK enum weir_status weir_screen_load_file(weir_screen **out, const char *path,
                                                                const struct weir_options *options,
                                                                struct weir_error *error);

/* ---- which to take ---- */

/* The screen that suits a store: a spec that opens it, and why, for a person
 * to read. A store that lists its keys, of which there are so many, has them held
 * and confirmed (strict) if this many bytes of memory have room for them; any
 * other gets the cache of verdicts (cache). */
struct weir_screen_choice {
    char spec[128];
    char reason[128];
};
WEIR_API void weir_screen_choose(struct weir_screen_choice *out, size_t size, uint64_t memory,
                                 bool listed, uint64_t set);

#ifdef __cplusplus
}
#endif

#endif
