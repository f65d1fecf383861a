/* weir/shared.h - one filter, many threads.
 *
 *     weir_shared *s;
 *     if (weir_shared_open(&s, "recent memory=64M fpr=0.1%", 16, NULL, &error) != WEIR_OK)
 *         die(error.text);
 *     ... and in any number of threads:
 *     weir_shared_hash_many(s, lines, n, keys);
 *     weir_shared_observe_many(s, keys, n, verdicts);
 *
 * The keys of the filter are shared out among shards, filters of a part of its memory
 * each, by weir_shard(). Each shard has a lock of its own. A batch is dealt to its shards
 * once; a thread that finds a shard taken goes on with another and comes back.
 *
 * Order: of the keys of one shard (so of showings of one key) the verdicts are those that a
 * plain filter would give in some order, in which the keys of each caller keep theirs.
 * Which one, the threads decide; where it must be the same each time, there are tickets.
 *
 * Threads: any number may call at once on one handle, but for weir_shared_close() and
 * weir_shared_shard(). No call but open and load allocates. Those that take many keys use
 * up to 128 KiB of stack. */
#ifndef WEIR_SHARED_H
#define WEIR_SHARED_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_shared weir_shared;

#define WEIR_SHARED_SHARDS_MAX 256 /* shards */

/* ---- open and close ---- */

/* Open a filter of 1 to WEIR_SHARED_SHARDS_MAX shards; 0 means 8. Each gets its part of memory=,
 * capacity= and window= (weir_shard_spec()), so all of them err like the one asked for. Keys are
 * not spread evenly: for a filter that can be full (cuckoo), add 4 sqrt(capacity * shards) to
 * capacity=. Some
 * more shards than threads are good; from 2 MiB each on they can lie on huge pages. Options as of
 * weir_open_with(): every byte of it all, in one block more than there are shards.
 * Statuses as of weir_open(), and WEIR_BAD_CONFIG for another number of shards. */
WEIR_API enum weir_status weir_shared_open(weir_shared **out, const char *config, uint32_t shards,
                                           const struct weir_options *options,
                                           struct weir_error *error);

/* Make one of filters that are there: shard 0, 1 and on, which hold the keys that
 * weir_shard() gives them, as weir_load_shards() and weir_view_shards() have them. They belong to
 * it from then on. WEIR_OK; otherwise they are the caller's still: WEIR_MISMATCH if their
 * configurations differ (those of sets that never change may differ in size), WEIR_BAD_CONFIG,
 * WEIR_NO_MEMORY. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_shared_join(weir_shared **out,
                                                           weir_filter *const *shards, uint32_t n,
                                                           const struct weir_options *options,
                                                           struct weir_error *error);

/* When no other thread is in a call any more. NULL will do. */
WEIR_API void weir_shared_close(weir_shared *s);

/* How many shards there are, and the filter of one of them, for the calls of weir.h that are
 * not here (weir_merge(), weir_clear()): while one is used, no other thread may call. */
WEIR_API uint32_t weir_shared_shards(const weir_shared *s);
WEIR_API weir_filter *weir_shared_shard(weir_shared *s, uint32_t shard);

/* ---- keys ---- */

/* As weir_hash(). They wait for nobody. */
WEIR_API struct weir_key weir_shared_hash(const weir_shared *s, const void *data, size_t size);
WEIR_API void weir_shared_hash_many(const weir_shared *s, const struct weir_bytes *bytes, size_t n,
                                    struct weir_key *keys);

/* ---- observe and ask ---- */

/* As weir_observe() and weir_ask(), under the lock of one shard. */
WEIR_API enum weir_verdict weir_shared_observe(weir_shared *s, struct weir_key key);
WEIR_API enum weir_verdict weir_shared_ask(weir_shared *s, struct weir_key key);

/* As weir_observe_many() and weir_ask_many(). Batches of thousands are best: 8192 keys are
 * dealt at a time. Dealing costs a few nanoseconds per key. */
WEIR_API void weir_shared_observe_many(weir_shared *s, const struct weir_key *keys, size_t n,
                                       uint8_t *verdicts);
WEIR_API void weir_shared_ask_many(weir_shared *s, const struct weir_key *keys, size_t n,
                                   uint8_t *verdicts);

/* As weir_forget(). */
WEIR_API enum weir_status weir_shared_forget(weir_shared *s, struct weir_key key, bool *was_there,
                                             struct weir_error *error);

/* ---- time, for filters with span= ---- */

/* As weir_advance(), shard after shard. */
WEIR_API void weir_shared_advance(weir_shared *s, uint64_t now);

/* As weir_observe_many_at(). Each shard goes by the times of its own keys: one that no
 * key came to has not moved on. */
WEIR_API void weir_shared_observe_many_at(weir_shared *s, const struct weir_key *keys,
                                          const uint64_t *times, size_t n, uint8_t *verdicts);

/* ---- in order ---- */

/* Draw a ticket: 0, 1, 2 and on. Batches are shown in the order of their tickets, whichever
 * threads show them, so that verdicts do not depend on the threads. Draw where the batches
 * have an order still, say where they are read. Each ticket drawn must be used, in one call:
 * those behind it wait for it. */
WEIR_API uint64_t weir_shared_ticket(weir_shared *s);

/* weir_shared_observe_many(), or with times weir_shared_observe_many_at(), in the turn of a
 * ticket. Waits, shard by shard, for those before it; so some thread must always be about to
 * use the lowest ticket that is out. Calls without a ticket come in between as they like. A
 * batch of more than 8192 keys holds up those behind it. */
WEIR_API void weir_shared_observe_ordered(weir_shared *s, uint64_t ticket,
                                          const struct weir_key *keys, const uint64_t *times,
                                          size_t n, uint8_t *verdicts);

/* What is done with keys of one shard, under its lock; it must not call on the shared handle.
 * times is NULL if none were given. */
typedef void (*weir_shared_answer)(void *context, weir_filter *shard, const struct weir_key *keys,
                                   const uint64_t *times, size_t n, uint8_t *verdicts);

/* The same with another answer than observing (NULL: observing, without times). It is called for
 * some hundred keys of a shard at a time. */
WEIR_API void weir_shared_answer_ordered(weir_shared *s, uint64_t ticket,
                                         const struct weir_key *keys, const uint64_t *times,
                                         size_t n, uint8_t *verdicts, weir_shared_answer answer,
                                         void *context);

/* The same for a program that deals its batches by weir_shard() itself, say in threads of their
 * own: keys of one shard, in the turn of the ticket there. So a ticket is used once for each shard,
 * in any order, and by any threads; where a batch has no keys for one, with n = 0. */
WEIR_API void weir_shared_answer_dealt(weir_shared *s, uint64_t ticket, uint32_t shard,
                                       const struct weir_key *keys, const uint64_t *times, size_t n,
                                       uint8_t *verdicts, weir_shared_answer answer, void *context);

/* ---- what it knows of itself ---- */

/* As weir_measure(): sums over the shards, each as of the moment that it is looked at, and
 * means of fill and error. */
WEIR_API void weir_shared_measure(weir_shared *s, struct weir_stats *out, size_t size);

/* As weir_config(), of the whole: opens an equal one of as many shards. */
WEIR_API size_t weir_shared_config(const weir_shared *s, char *buffer, size_t size);

/* ---- save and load ---- */

/* Save all shards, one after the other, as weir_save_shard(): others wait for a shard while
 * that is written, and keys that they show meanwhile may be in it or not. Statuses as of
 * weir_save_stream(). */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_shared_save_stream(weir_shared *s, weir_sink sink, void *context, struct weir_error *error);

/* Load all shards of the filter that data begins with; a whole one becomes one shard. *used
 * and statuses as of weir_load_buffer(). */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_shared_load_buffer(weir_shared **out, const void *data, size_t size, size_t *used,
                        const struct weir_options *options, struct weir_error *error);

/* The same from a source, as weir_load_stream() of weir/saved.h. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_shared_load_stream(weir_shared **out, weir_source source, void *context,
                        const struct weir_options *options, struct weir_error *error);

/* As weir_save_file() and weir_load_file(), all shards together. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_shared_save_file(weir_shared *s, const char *path,
                                                                struct weir_error *error);
WEIR_API WEIR_MUST_CHECK enum weir_status weir_shared_load_file(weir_shared **out, const char *path,
                                                                const struct weir_options *options,
                                                                struct weir_error *error);

#ifdef __cplusplus
}
#endif

#endif
