/* weir.h - filters that report whether a key was seen before, on unbounded streams, in
 * constant memory.
 *
 *     weir_filter *f;
 *     struct weir_error error;
 *     if (weir_open(&f, "recent memory=64M fpr=0.1%", &error) != WEIR_OK)
 *         die(error.text);
 *     if (weir_observe(f, weir_hash(f, line, length)) == WEIR_NEW)
 *         puts(line);
 *     weir_close(f);
 *
 * A filter is opened from a spec. It looks up each hashed key before it records the key.
 * Two kinds of errors occur, at rates that the spec bounds: a false positive reports a new
 * key as seen; a false negative reports an evicted key as new.
 *
 * Threads: one thread at a time may use a handle. Several threads may look up keys
 * concurrently while none modifies the handle. Different handles share nothing.
 *
 * Cost: a call with one key waits for the memory of its cells: one cache line for `recent`,
 * one per probe for other filters. Batches prefetch and hide this latency. Calls on a whole
 * handle (clone, clear, merge, save, load) pass over its memory once; opening does not touch
 * it. Calls on specs take less than a millisecond. Only calls that open, load, clone or build
 * allocate memory, and merging if documented.
 *
 * Stability: a program that was linked with libweir.so.1 runs with every later libweir.so.1.
 * Calls and constants are added, never changed or removed. Structs grow at their end, and
 * only if the caller passes their size. */
#ifndef WEIR_H
#define WEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weir/version.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#define WEIR_MUST_CHECK __attribute__((warn_unused_result))
#else
#define WEIR_API
#define WEIR_MUST_CHECK
#endif

typedef struct weir_filter weir_filter;

/* ---- errors ---- */

enum weir_status {
    WEIR_OK = 0,
    WEIR_BAD_CONFIG,   /* the spec is invalid or cannot be satisfied */
    WEIR_NO_MEMORY,    /* no memory, or no random numbers, from the system */
    WEIR_BAD_DATA,     /* not saved data, or damaged */
    WEIR_MISMATCH,     /* the configurations differ */
    WEIR_UNSUPPORTED,  /* the handle does not support the operation */
    WEIR_WRITE_FAILED, /* the sink, the buffer or the file system accepted too few bytes */
    WEIR_FULL,         /* no space for the key or keys (weir/build.h) */
    WEIR_READ_FAILED   /* the file cannot be opened or read */
};

/* The exact error, for programs that react to it. A code is 100 times its status plus a number.
 * The code of a status without a more specific one ends in 00. Later versions can add codes, so
 * compare code / 100 with the status for unknown codes. */
enum weir_error_code {
    WEIR_ERROR_NONE = 0, /* no error */

    WEIR_ERROR_BAD_CONFIG = 100,             /* the spec is malformed */
    WEIR_ERROR_UNKNOWN_ALGORITHM = 101,      /* no filter, sketch or screen has this name */
    WEIR_ERROR_UNKNOWN_PARAMETER = 102,      /* the algorithm does not have this parameter */
    WEIR_ERROR_INVALID_VALUE = 103,          /* a parameter's value is invalid or out of range */
    WEIR_ERROR_REPEATED_PARAMETER = 104,     /* a parameter is given twice */
    WEIR_ERROR_CONFLICTING_PARAMETERS = 105, /* parameters exclude or require each other */
    WEIR_ERROR_LIMIT_UNREACHABLE = 106,      /* fpr=, window= etc. cannot be kept */
    WEIR_ERROR_MEMORY_TOO_SMALL = 107,       /* memory= is too small for the other parameters */
    WEIR_ERROR_INVALID_ARGUMENT = 108,       /* an argument of the call, not the spec, is invalid */

    WEIR_ERROR_NO_MEMORY = 200, /* the allocation or the system's random source failed */
    WEIR_ERROR_MAX_BYTES = 201, /* the handle would exceed weir_options.max_bytes */

    WEIR_ERROR_BAD_DATA = 300,      /* the data is invalid */
    WEIR_ERROR_NOT_WEIR = 301,      /* not saved by weir */
    WEIR_ERROR_TRUNCATED = 302,     /* the data ends too early */
    WEIR_ERROR_CHECKSUM = 303,      /* a checksum does not match */
    WEIR_ERROR_CONTRADICTORY = 304, /* the checksums match, but the content is impossible */
    WEIR_ERROR_OLD_FORMAT = 305,    /* written by a version whose format is not read any more */
    WEIR_ERROR_NEWER_FORMAT = 306,  /* written by a newer version */
    WEIR_ERROR_WRONG_KIND = 307,    /* a sketch where a filter is expected, or similar */
    WEIR_ERROR_ONE_SHARD = 308,     /* one shard of several where a whole filter is expected */
    WEIR_ERROR_BAD_SHARDS = 309,    /* shards are missing, out of order or too many */

    WEIR_ERROR_MISMATCH = 400,      /* two handles do not belong together */
    WEIR_ERROR_SPEC_MISMATCH = 401, /* their algorithms or parameters differ */
    WEIR_ERROR_SEED_MISMATCH = 402, /* their seed= or hash= differ */

    WEIR_ERROR_UNSUPPORTED = 500,   /* the algorithm does not have this operation */
    WEIR_ERROR_READ_ONLY = 501,     /* a view cannot be changed, cloned or merged */
    WEIR_ERROR_NO_MODEL = 502,      /* no model predicts this (weir/plan.h) */
    WEIR_ERROR_NEEDS_BUILDER = 503, /* a fixed filter is made by weir/build.h only */
    WEIR_ERROR_OUT_OF_RANGE = 504,  /* a count would be below 0 or above its maximum */

    WEIR_ERROR_WRITE_FAILED = 600,     /* the sink or the file system refused bytes */
    WEIR_ERROR_BUFFER_TOO_SMALL = 601, /* the caller's buffer is too small */

    WEIR_ERROR_FULL = 700,        /* the filter has no space for a key */
    WEIR_ERROR_UNEVEN_KEYS = 701, /* the keys are not spread evenly: hash them */

    WEIR_ERROR_READ_FAILED = 800,   /* the file cannot be opened or read */
    WEIR_ERROR_FILE_NOT_FOUND = 801 /* the file does not exist */
};

/* One message for a person: what was wrong, the value, what would be right.
 * No line break, no full stop. Every `error` parameter may be NULL. It is written on
 * failure only. */
struct weir_error {
    int32_t status; /* enum weir_status */
    int32_t code;   /* enum weir_error_code */
    char text[320];
};

/* Get the name of a code in lower case, for logs and other languages. Names never change.
 * Returns the name, such as "unknown-parameter"; NULL for an unknown code.
 * Threads: any thread may call. */
WEIR_API const char *weir_error_name(int32_t code);

/* ---- open and close filters ---- */

/* Open a filter from a spec, "NAME parameter=value ...". The name (default: recent) and every
 * parameter are optional. NULL means "". docs/filters.md and weir_parameter_at() list the
 * parameters. Without seed= the seed is random. Set seed= for filters that are to be merged,
 * or that are to return the same verdicts twice.
 * Returns WEIR_OK. On failure *out is NULL.
 * Errors: WEIR_BAD_CONFIG, WEIR_NO_MEMORY. */
WEIR_API enum weir_status weir_open(weir_filter **out, const char *config,
                                    struct weir_error *error);

/* The memory functions of a handle, for programs that account for their memory. allocate()
 * returns zeroed memory with the alignment of malloc(), or NULL if there is none. */
struct weir_allocator {
    void *(*allocate)(void *context, size_t size);
    void (*free)(void *context, void *block);
    void *context;
};

/* Options outside the spec. Zero means the default. */
struct weir_options {
    size_t size;                     /* sizeof this struct, which may grow */
    struct weir_allocator allocator; /* both NULL: the system's */
    uint64_t max_bytes;              /* maximum `bytes` of a handle's statistics; 0: no limit */
};

/* weir_open() with options; NULL selects the defaults. The allocator provides all memory of
 * the handle: one block of `bytes` bytes (weir_measure()), 64 of which are reserved to align
 * the rest to a cache line, and the temporary memory of a merge. Clones inherit the options.
 * The system's memory is on huge pages from 2 MiB up. Memory of a custom allocator is used as
 * it is.
 * Returns as weir_open().
 * Errors: as weir_open(), and WEIR_NO_MEMORY if the handle would need more than max_bytes. That
 * is checked before any memory is allocated.
 * Threads: any call that opens, loads, clones, merges or closes may call the functions of the
 * allocator, in the calling thread only. */
WEIR_API enum weir_status weir_open_with(weir_filter **out, const char *config,
                                         const struct weir_options *options,
                                         struct weir_error *error);

/* Free a filter. NULL is allowed. */
WEIR_API void weir_close(weir_filter *f);

/* Copy a filter with its state.
 * Returns NULL on failure.
 * Errors: WEIR_NO_MEMORY, or WEIR_UNSUPPORTED for a view. */
WEIR_API weir_filter *weir_clone(const weir_filter *f, struct weir_error *error);

/* Copy a filter into `times` its memory, with all keys that it contains. Of `recent`, each line is
 * copied to the lines that its keys may be in; duplicates are evicted first as new keys arrive.
 * The spec of the copy has the new memory= and the same seed.
 * Returns WEIR_OK. On failure *out is NULL.
 * Errors: WEIR_UNSUPPORTED if the filter cannot grow, or for a view; WEIR_BAD_CONFIG if `times` is
 * 0 or the memory would exceed the maximum; WEIR_NO_MEMORY. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_grow(weir_filter **out, const weir_filter *f,
                                                    uint32_t times, struct weir_error *error);

/* Remove all keys and reset all counters. The filter is then in the state of a filter just
 * opened with the same seed. */
WEIR_API void weir_clear(weir_filter *f);

/* ---- keys ---- */

/* A key as a filter receives it: a 128-bit hash and an importance from 0 to 2^32-1, which
 * only filters with importance= use. */
struct weir_key {
    uint64_t lo, hi;
    uint32_t importance;
    uint32_t origin; /* derived from seed= and hash= by the calls that hash; 0: unknown */
};

/* A key as the caller has it. */
struct weir_bytes {
    const void *data;
    size_t size;
};

/* Hash a key for this filter and for all others with its seed= and hash=. weir/hash.h hashes
 * without a filter. The importance is set to 1; assign another one if needed. Passing a key
 * that was hashed for another seed is a bug of the caller: builds with WEIR_DEBUG abort,
 * others return meaningless verdicts.
 * Returns the key. */
WEIR_API struct weir_key weir_hash(const weir_filter *f, const void *data, size_t size);

/* weir_hash() for n keys. */
WEIR_API void weir_hash_many(const weir_filter *f, const struct weir_bytes *bytes, size_t n,
                             struct weir_key *keys);

/* ---- observe and look up keys ---- */

enum weir_verdict { WEIR_NEW = 0, WEIR_SEEN = 1 };

/* Report whether a key was probably observed before, then record it. Never fails and never
 * allocates.
 *
 * A full cuckoo filter does not record the key and counts it in `overflow`
 * (weir_measure()). No other filter can be full. A filter without WEIR_CAN_OBSERVE (fuse,
 * created by weir/build.h) and a view cannot record keys. Calling this on them is a bug of the
 * caller: builds with WEIR_DEBUG abort, others act as weir_ask().
 * Returns WEIR_SEEN or WEIR_NEW. */
WEIR_API enum weir_verdict weir_observe(weir_filter *f, struct weir_key key);

/* weir_observe() for n keys in order. verdicts[i] becomes 0 (new) or 1 (seen). The verdicts
 * and the filter's bytes are identical to those of single calls.
 * Cost: several times as fast as single calls, because memory is prefetched. */
WEIR_API void weir_observe_many(weir_filter *f, const struct weir_key *keys, size_t n,
                                uint8_t *verdicts);

/* Report whether a key was probably observed before, without recording it.
 * Returns WEIR_SEEN or WEIR_NEW. */
WEIR_API enum weir_verdict weir_ask(const weir_filter *f, struct weir_key key);

/* weir_ask() for n keys. verdicts and cost as weir_observe_many(). */
WEIR_API void weir_ask_many(const weir_filter *f, const struct weir_key *keys, size_t n,
                            uint8_t *verdicts);

/* The four calls above for keys as bytes, which they hash. */
WEIR_API enum weir_verdict weir_observe_bytes(weir_filter *f, const void *data, size_t size);
WEIR_API void weir_observe_bytes_many(weir_filter *f, const struct weir_bytes *bytes, size_t n,
                                      uint8_t *verdicts);
WEIR_API enum weir_verdict weir_ask_bytes(const weir_filter *f, const void *data, size_t size);
WEIR_API void weir_ask_bytes_many(const weir_filter *f, const struct weir_bytes *bytes, size_t n,
                                  uint8_t *verdicts);

/* Count the stored insertions of a key. Only cuckoo filters store each insertion; others
 * return 0 or 1, as weir_ask().
 * Returns at least the true number; more if another key has the same fingerprint. */
WEIR_API uint32_t weir_count(const weir_filter *f, struct weir_key key);

/* Prefetch the memory of a key, for callers that process one key at a time but have the next
 * few. About twelve keys ahead is best. Does not modify the filter. */
WEIR_API void weir_prefetch(const weir_filter *f, struct weir_key key);

/* ---- remove keys ---- */

/* Remove one insertion of a key. *was_there (may be NULL) reports whether the filter
 * contained a matching fingerprint. Removing a key that was never inserted may remove other
 * keys.
 * Returns WEIR_OK, whether or not the key was there.
 * Errors: WEIR_UNSUPPORTED if the filter cannot remove keys (WEIR_CAN_FORGET). */
WEIR_API enum weir_status weir_forget(weir_filter *f, struct weir_key key, bool *was_there,
                                      struct weir_error *error);

/* ---- event time ---- */

/* Set the current time of a filter that has span= or ttl=, in milliseconds since any fixed epoch,
 * for example 1970. The first call defines the start. Earlier times are ignored. Time does not
 * advance between calls. Filters without span= and ttl= ignore the call. */
WEIR_API void weir_advance(weir_filter *f, uint64_t now);

/* weir_observe_many() for keys with a time each, in the milliseconds of weir_advance(). The
 * result is identical to calling weir_advance() before each key. A key whose time is earlier
 * than the current time is observed at the current time. */
WEIR_API void weir_observe_many_at(weir_filter *f, const struct weir_key *keys,
                                   const uint64_t *times, size_t n, uint8_t *verdicts);

/* ---- TTLs ---- */

#define WEIR_TTL_LONGEST UINT64_MAX /* the longest TTL of the filter's range */

/* weir_observe_many() for keys with a TTL each, in milliseconds, for filters with ttl=. `times` are
 * those of weir_observe_many_at(); NULL: all keys arrive at the current time. `ttls` may be NULL:
 * all keys get the longest TTL, as in calls without TTLs.
 *
 * A key expires its TTL after its arrival: up to a quarter of the TTL earlier with expire=early, or
 * later with expire=late. A repeat keeps the later of both expiry times; with refresh=no, the
 * first. A key with TTL 0 is looked up and not recorded, and also one with a TTL below the range if
 * expire=early. Other TTLs out of the range become its nearest end. Verdicts and bytes are
 * identical to those of single calls. Filters without ttl= ignore the TTLs. */
WEIR_API void weir_observe_many_ttl(weir_filter *f, const struct weir_key *keys,
                                    const uint64_t *times, const uint64_t *ttls, size_t n,
                                    uint8_t *verdicts);

/* ---- merge filters ---- */

/* Add all keys of another filter of the same configuration and seed.
 * Returns WEIR_OK. On failure `into` is unchanged.
 * Errors: WEIR_MISMATCH if the configurations differ, WEIR_UNSUPPORTED if the filter cannot
 * merge (WEIR_CAN_MERGE). */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_merge(weir_filter *into, const weir_filter *from,
                                                     struct weir_error *error);

/* ---- statistics and configuration ---- */

struct weir_stats {
    uint64_t memory;   /* bytes of cells, at most memory= */
    uint64_t bytes;    /* bytes of the whole handle */
    uint64_t observed; /* keys observed: seen + new_keys */
    uint64_t seen;     /* keys reported as seen */
    uint64_t new_keys; /* keys reported as new */
    double fill;       /* share of cells in use */
    double error;      /* current false-positive rate */
    uint64_t lost;     /* keys evicted before the end of window= or span=, for lack of memory */
    uint64_t overflow; /* keys that a full filter did not record: see weir_observe() */
};

/* Write the filter's statistics to *out, of `size` bytes. A smaller struct of an earlier
 * version is filled to its size; the fields of a later version that this library does not have
 * are set to 0.
 * Cost: reads at most four million cells, which takes some milliseconds. */
WEIR_API void weir_measure(const weir_filter *f, struct weir_stats *out, size_t size);

/* weir_measure() by value. Compiled into the caller, so that the struct may grow.
 * Returns the statistics. */
static inline struct weir_stats weir_stats_of(const weir_filter *f)
{
    struct weir_stats stats;

    weir_measure(f, &stats, sizeof stats);
    return stats;
}

/* Write the complete configuration, with all defaults: a spec that opens an equal filter. Writes
 * at most size bytes, including the terminating NUL, and nothing if size is 0; buffer may be
 * NULL then. WEIR_SPEC_MAX bytes are always enough.
 * Returns the length of the whole text without the NUL, as snprintf(), even if it was
 * truncated. */
WEIR_API size_t weir_config(const weir_filter *f, char *buffer, size_t size);

/* ---- save and load ---- */

/* Takes size bytes; returns false to stop the writing. */
typedef bool (*weir_sink)(void *context, const void *data, size_t size);

/* Fills size bytes; returns false if it cannot. For loading: weir/saved.h. */
typedef bool (*weir_source)(void *context, void *data, size_t size);

/* Bytes that saving will take. Does not change while the filter lives. */
WEIR_API size_t weir_saved_size(const weir_filter *f);

/* Save into a buffer of at least that many bytes.
 * Returns the bytes written, or 0 on failure.
 * Errors: WEIR_WRITE_FAILED if the buffer is too small. */
WEIR_API WEIR_MUST_CHECK size_t weir_save_buffer(const weir_filter *f, void *buffer, size_t size,
                                                 struct weir_error *error);

/* Save through a sink.
 * Errors: WEIR_WRITE_FAILED if the sink returns false. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_save_stream(const weir_filter *f, weir_sink sink,
                                                           void *context, struct weir_error *error);

/* Load the filter at the start of data. *used (may be NULL) becomes the length of its part;
 * other parts may follow. Any bytes give a usable filter or an error.
 * Returns WEIR_OK. On failure *out is NULL.
 * Errors: WEIR_BAD_DATA, WEIR_NO_MEMORY. One of several shards is an error; load shards with
 * weir/saved.h. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_load_buffer(weir_filter **out, const void *data,
                                                           size_t size, size_t *used,
                                                           const struct weir_options *options,
                                                           struct weir_error *error);

/* Save to a file and replace it atomically: write a temporary file in the same directory
 * (".weir-" and 16 hex digits), sync it, rename it, and sync the directory. On failure the old
 * file is unchanged and the temporary file is removed. The permissions of an existing file are
 * kept; so is its owner if the system permits. Symbolic links are followed. The directory must
 * be writable. Never allocates.
 * Errors: WEIR_WRITE_FAILED, also if the path is not a regular file. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_save_file(const weir_filter *f, const char *path,
                                                         struct weir_error *error);

/* Load the first filter of a file. Notes before it are skipped. What follows it is not read.
 * Allocates only the handle.
 * Returns as weir_load_buffer().
 * Errors: as weir_load_buffer(). WEIR_READ_FAILED if the file cannot be read, with the code
 * WEIR_ERROR_FILE_NOT_FOUND if it does not exist. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_load_file(weir_filter **out, const char *path,
                                                         const struct weir_options *options,
                                                         struct weir_error *error);

/* ---- parts of a file ---- */

/* Saved data is a sequence of parts, each with a kind, a length and a checksum
 * (docs/format.md), for example the shards of a filter, or a filter and a program's notes.
 * weir_save_stream() writes one part. weir_part_read() and weir_part_write() read and write
 * parts of any kind. */
enum weir_part_kind {
    WEIR_PART_FILTER = 1,
    WEIR_PART_NOTE = 2,
    WEIR_PART_COUNTS = 3, /* a count-min sketch, see weir/sketch.h */
    WEIR_PART_TOP = 4,    /* a sketch that stores keys */
    WEIR_PART_SCREEN = 5  /* see weir/screen.h */
};

struct weir_part {
    uint32_t kind;
    const void *body;
    size_t body_size;
    size_t size;            /* of the whole part: offset of the next one */
    uint32_t shard, shards; /* 0 of 1: not sharded; see weir/saved.h */
    const char *spec;       /* opens an equal handle; not terminated; notes have none */
    size_t spec_size;
};

/* Describe the part at the start of data, in as many fields of *part as part_size bytes have
 * room for. Reads and checks the whole part.
 * Errors: WEIR_BAD_DATA if there is no part, or if it is truncated or damaged. */
WEIR_API enum weir_status weir_part_read(const void *data, size_t size, struct weir_part *part,
                                         size_t part_size, struct weir_error *error);

/* Write a part of a kind below 65536.
 * Errors: WEIR_WRITE_FAILED, or WEIR_UNSUPPORTED for another kind. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_part_write(uint32_t kind, const void *body,
                                                          size_t size, weir_sink sink,
                                                          void *context, struct weir_error *error);

/* ---- algorithms and parameters ---- */

/* A filter, sketch or screen. */
struct weir_algorithm {
    const char *name;
    const char *idea; /* one line */
    uint64_t traits;  /* of enum weir_trait: what it can do with suitable parameters */
};

/* Capabilities and purposes of a filter, sketch (weir/sketch.h) or screen (weir/screen.h). */
enum weir_trait {
    WEIR_CAN_FORGET = 1 << 0,      /* remove a key: weir_forget(), weir_sketch_take() */
    WEIR_CAN_MERGE = 1 << 1,       /* weir_merge(), weir_sketch_merge(), weir_screen_merge() */
    WEIR_CAN_WINDOW = 1 << 2,      /* evict by number of records: window=, half-life=100k */
    WEIR_CAN_TIME = 1 << 3,        /* evict by time: span=, half-life=1h; see weir_advance() */
    WEIR_CAN_IMPORTANCE = 1 << 4,  /* keep important keys longer: importance= */
    WEIR_CAN_RUN_FOREVER = 1 << 5, /* serve an unbounded stream: never full, never saturated */
    WEIR_CAN_KEEP_ALL = 1 << 6,    /* no false negatives: never evicts a key by itself */
    WEIR_CAN_LIST = 1 << 7,        /* list the most frequent keys: weir_sketch_top() */
    WEIR_CAN_COUNT_ANY = 1 << 8,   /* count a key given only its hash: weir_sketch_add_hashed() */
    WEIR_CAN_HOLD_SET = 1 << 9,    /* a screen that needs the set before the first check */
    WEIR_CAN_CONFIRM = 1 << 10,    /* a screen that asks the store */
    WEIR_CAN_OBSERVE = 1 << 11,    /* record keys one at a time: weir_observe() */
    WEIR_CAN_ONE_LINE = 1 << 12,   /* access one cache line per key */
    WEIR_CAN_TTL = 1 << 13,        /* a TTL per key: ttl=; see weir_observe_many_ttl() */
    WEIR_FOR_IMPORTANCE = 1 << 16, /* useful only if some keys are more important than others */
    WEIR_FOR_TABLES = 1 << 17      /* reproduces the tables of a paper; not for production */
};

/* A parameter of an algorithm. */
struct weir_parameter {
    const char *name;
    const char *takes; /* valid values: "a whole number from 1 to 32" */
    const char *does;  /* "hash functions" */
};

enum weir_kind { WEIR_KIND_FILTER, WEIR_KIND_SKETCH, WEIR_KIND_SCREEN };

/* Enumerate the algorithms of a kind, and their parameters. The first filter and the first
 * screen are the defaults, for specs without a name.
 * Returns the i-th algorithm, or its j-th parameter; NULL after the last.
 * Threads: any thread may call. */
WEIR_API const struct weir_algorithm *weir_algorithm_at(enum weir_kind kind, size_t i);
WEIR_API const struct weir_parameter *weir_parameter_at(enum weir_kind kind, size_t i, size_t j);

/* Find the algorithm that a spec names, and one of its parameters by name ("k" or "k=3").
 * Only the name in the spec is read.
 * Returns NULL if there is none.
 * Threads: any thread may call. */
WEIR_API const struct weir_algorithm *weir_find_algorithm(enum weir_kind kind, const char *spec);
WEIR_API const struct weir_parameter *weir_find_parameter(enum weir_kind kind, const char *spec,
                                                          const char *parameter);

/* ---- specs ---- */

#define WEIR_SPEC_MAX 512 /* maximum size of a completed spec, with its terminator */

/* Complete a spec: write what weir_config() returns for the filter, sketch or screen that the
 * spec opens. Nothing is opened and no memory is allocated for it.
 * Errors: as weir_open(), except for unavailable memory.
 * Threads: any thread may call, as for the other calls on specs. */
WEIR_API enum weir_status weir_spec_complete(enum weir_kind kind, const char *spec, char *buffer,
                                             size_t size, struct weir_error *error);

/* Report what a handle of this spec can do: *traits becomes a set of enum weir_trait.
 * Errors: as weir_spec_complete(). */
WEIR_API enum weir_status weir_spec_traits(enum weir_kind kind, const char *spec, uint64_t *traits,
                                           struct weir_error *error);

/* Write the spec of one of n shards that share the keys of one filter. Each has its part of
 * memory=, capacity= and window=. A shard has at least 64 bytes, and as much as its keys need,
 * so n shards can take a little more than memory=.
 * Errors: as weir_spec_complete(), and WEIR_BAD_CONFIG if n is 0. */
WEIR_API enum weir_status weir_shard_spec(const char *spec, uint32_t n, char *buffer, size_t size,
                                          struct weir_error *error);

/* Copy the value of a parameter from a spec of any kind to buffer, as weir_config() writes it.
 * Returns the length of the whole value; 0 if the spec does not contain the parameter. */
WEIR_API size_t weir_spec_get(const char *spec, const char *parameter, char *buffer, size_t size);

/* Read the value of a parameter of a completed spec as a whole number: a count, a size in bytes
 * (rounded up) or a time in milliseconds.
 * Returns false if the value is not a number. */
WEIR_API bool weir_spec_number(const char *spec, const char *parameter, uint64_t *number);

/* Parse a size, as memory= accepts it: 65536, 64K, 64KB, 64KiB, 1.5m, 8000bit. K, M, G and T
 * are powers of 1024, with any suffix.
 * Returns false if the text is not a size, or not a whole number of bytes. */
WEIR_API bool weir_parse_size(const char *text, uint64_t *bytes);

/* ---- library version ---- */

/* Get the version of the library in use; WEIR_VERSION is that of the headers.
 * Returns a string such as "1.0.0". */
WEIR_API const char *weir_version(void);

#ifdef __cplusplus
}
#endif

#endif
