/* weir/shared.h - one filter for many threads.
 *
 *     weir_shared *s;
 *     if (weir_shared_open(&s, "recent memory=64M fpr=0.1%", 16, NULL, &error) != WEIR_OK)
 *         die(error.text);
 *     ... and in any number of threads:
 *     weir_shared_hash_many(s, lines, n, keys);
 *     weir_shared_observe_many(s, keys, n, verdicts);
 *
 * The keys are distributed by weir_shard() over shards: filters that each have a part of the
 * memory and a lock of their own. A batch is partitioned by shard once. A thread that finds a
 * shard locked continues with another one and returns to it later.
 *
 * Order: for the keys of one shard (and so for all observations of one key) the verdicts are
 * those of a plain filter that receives the keys in some order. That order preserves each
 * caller's order and otherwise depends on the threads. Tickets make it deterministic.
 *
 * Threads: any number of threads may call concurrently on one handle, except for
 * weir_shared_close() and weir_shared_shard(). Only open and load allocate memory. Calls with
 * many keys use up to 128 KiB of stack. */
#ifndef WEIR_SHARED_H
#define WEIR_SHARED_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_shared weir_shared;

/* ---- open and close shared filters ---- */

#define WEIR_SHARED_SHARDS_MAX 256 /* maximum number of shards */

/* Open a filter of 1 to WEIR_SHARED_SHARDS_MAX shards; 0 means 8. Use somewhat more shards than
 * threads. Each shard gets its part of memory=, capacity= and window= (weir_shard_spec()), so
 * the error rates are those of one filter of this spec. Keys are not distributed evenly: for a
 * filter that can be full (cuckoo), add 4 sqrt(capacity * shards) to capacity=. Shards of 2 MiB
 * and more can use huge pages. Options are those of weir_open_with() and apply to the whole:
 * max_bytes limits all shards together, and the allocator provides one block more than there
 * are shards.
 * Returns WEIR_OK. On failure *out is NULL.
 * Errors: as weir_open(), and WEIR_BAD_CONFIG for an invalid number of shards. */
WEIR_API enum weir_status weir_shared_open(weir_shared **out, const char *config, uint32_t shards,
                                           const struct weir_options *options,
                                           struct weir_error *error);

/* Create a shared filter from existing filters: shard 0, 1 and so on, which contain the keys
 * that weir_shard() assigns to them, as weir_load_shards() and weir_view_shards() return them.
 * On success the shared filter owns them. On failure the caller still does.
 * Returns WEIR_OK. On failure *out is NULL.
 * Errors: WEIR_MISMATCH if the configurations differ (fixed filters may differ in size),
 * WEIR_BAD_CONFIG for an invalid number of shards, WEIR_NO_MEMORY. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_shared_join(weir_shared **out,
                                                           weir_filter *const *shards, uint32_t n,
                                                           const struct weir_options *options,
                                                           struct weir_error *error);

/* Free a shared filter. NULL is allowed.
 * Threads: no other thread may be in a call on the handle. */
WEIR_API void weir_shared_close(weir_shared *s);

/* Return the number of shards. */
WEIR_API uint32_t weir_shared_shards(const weir_shared *s);

/* Return the filter of one shard, for calls that this header lacks (weir_merge(),
 * weir_clear()). The shared filter still owns it.
 * Threads: while one shard is used in this way, no other thread may call on the handle. */
WEIR_API weir_filter *weir_shared_shard(weir_shared *s, uint32_t shard);

/* ---- hash keys ---- */

/* Hash keys as weir_hash() and weir_hash_many() do. Takes no lock. */
WEIR_API struct weir_key weir_shared_hash(const weir_shared *s, const void *data, size_t size);
WEIR_API void weir_shared_hash_many(const weir_shared *s, const struct weir_bytes *bytes, size_t n,
                                    struct weir_key *keys);

/* ---- observe, look up and remove keys ---- */

/* weir_observe() and weir_ask(), with the lock of one shard. */
WEIR_API enum weir_verdict weir_shared_observe(weir_shared *s, struct weir_key key);
WEIR_API enum weir_verdict weir_shared_ask(weir_shared *s, struct weir_key key);

/* weir_observe_many() and weir_ask_many(). Batches of thousands of keys are best: up to 8192
 * are partitioned at a time.
 * Cost: partitioning adds a few nanoseconds per key. */
WEIR_API void weir_shared_observe_many(weir_shared *s, const struct weir_key *keys, size_t n,
                                       uint8_t *verdicts);
WEIR_API void weir_shared_ask_many(weir_shared *s, const struct weir_key *keys, size_t n,
                                   uint8_t *verdicts);

/* weir_forget(), with the lock of one shard. */
WEIR_API enum weir_status weir_shared_forget(weir_shared *s, struct weir_key key, bool *was_there,
                                             struct weir_error *error);

/* ---- event time ---- */

/* weir_advance() for each shard in turn. */
WEIR_API void weir_shared_advance(weir_shared *s, uint64_t now);

/* weir_observe_many_at(). Each shard advances with the times of its own keys only. */
WEIR_API void weir_shared_observe_many_at(weir_shared *s, const struct weir_key *keys,
                                          const uint64_t *times, size_t n, uint8_t *verdicts);

/* weir_observe_many_ttl(), likewise. */
WEIR_API void weir_shared_observe_many_ttl(weir_shared *s, const struct weir_key *keys,
                                           const uint64_t *times, const uint64_t *ttls, size_t n,
                                           uint8_t *verdicts);

/* ---- deterministic order ---- */

/* Draw a ticket: 0, 1, 2 and so on. Batches are processed in the order of their tickets,
 * whichever threads process them, so verdicts do not depend on the threads. Draw tickets where
 * the order of the batches is still known, for example in the thread that reads them. Use each
 * ticket in exactly one call: later tickets wait for it.
 * Returns the ticket. */
WEIR_API uint64_t weir_shared_ticket(weir_shared *s);

/* What weir_shared_process() does with each key of a batch. */
enum weir_shared_operation {
    WEIR_SHARED_OBSERVE, /* weir_observe(), or weir_observe_many_ttl() if there are times or TTLs */
    WEIR_SHARED_ASK,     /* weir_ask() */
    WEIR_SHARED_FORGET   /* weir_forget(); the verdict is WEIR_SEEN if the key was there */
};

struct weir_shared_batch {
    size_t size; /* sizeof(struct weir_shared_batch) */
    enum weir_shared_operation operation;
    const struct weir_key *keys;
    const uint64_t *times; /* of the keys, to observe them at; NULL: none */
    size_t n;
    const uint64_t *begin, *end; /* weir_advance() every shard to these times, before and after its
                                  * keys; NULL: do not */
    uint8_t *verdicts;           /* n of them: enum weir_verdict */
    const uint64_t *ttls;        /* of the keys, as for weir_observe_many_ttl(); NULL: none */
};

/* Process a batch in the order of the tickets. Waits, shard by shard, for all earlier tickets. So
 * the lowest unused ticket must always belong to a thread that is about to use it. Calls without
 * a ticket run in between, in any order. A batch of more than 8192 keys delays those after it. */
WEIR_API void weir_shared_process(weir_shared *s, uint64_t ticket,
                                  const struct weir_shared_batch *batch);

/* ---- statistics and configuration ---- */

/* weir_measure(): sums over the shards, and means of fill and error. Each shard is measured at
 * a different moment. */
WEIR_API void weir_shared_measure(weir_shared *s, struct weir_stats *out, size_t size);

/* weir_config() of the whole: a spec that opens an equal filter of as many shards.
 * Returns as weir_config(). */
WEIR_API size_t weir_shared_config(const weir_shared *s, char *buffer, size_t size);

/* ---- save and load ---- */

/* Save all shards in order, as weir_save_shard(). Each shard is locked while it is written. Keys
 * that other threads observe meanwhile may be missing.
 * Errors: as weir_save_stream(). */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_shared_save_stream(weir_shared *s, weir_sink sink, void *context, struct weir_error *error);

/* Load all shards of the filter at the start of data. A filter that is not sharded becomes one
 * shard. *used is set as by weir_load_buffer().
 * Returns as weir_load_buffer().
 * Errors: as weir_load_buffer(). */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_shared_load_buffer(weir_shared **out, const void *data, size_t size, size_t *used,
                        const struct weir_options *options, struct weir_error *error);

/* As weir_load_stream() (weir/saved.h), for all shards. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_shared_load_stream(weir_shared **out, weir_source source, void *context,
                        const struct weir_options *options, struct weir_error *error);

/* As weir_save_file() and weir_load_file(), for all shards in one file. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_shared_save_file(weir_shared *s, const char *path,
                                                                struct weir_error *error);
WEIR_API WEIR_MUST_CHECK enum weir_status weir_shared_load_file(weir_shared **out, const char *path,
                                                                const struct weir_options *options,
                                                                struct weir_error *error);

#ifdef __cplusplus
}
#endif

#endif
