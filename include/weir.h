/* weir.h - have I seen this before? On a stream without end, in memory that
 * never grows.
 *
 *     weir_filter *w;
 *     struct weir_error error;
 *     if (weir_open(&w, "recent memory=64M fpr=0.1%", &error) != WEIR_OK)
 *         die(error.text);
 *     if (weir_observe(w, weir_hash(w, line, length)) == WEIR_NEW)
 *         puts(line);
 *     weir_close(w);
 *
 * A filter is opened from a spec, shown hashed keys, and answers before it
 * remembers. It can err in both ways, at rates that its configuration bounds:
 * a new key taken for seen (false positive), a seen one forgotten (false
 * negative).
 *
 * Threads: a handle belongs to one thread at a time; several may ask at once
 * while nobody changes it. Different handles share nothing.
 *
 * Costs: a call with one key waits for the memory where its cells are, one cache line of the
 * filter recent, of others as many as they have probes; batches hide that. Calls on a whole
 * handle (clone, clear, merge, save, load) pass over its memory once; opening takes it
 * untouched. Calls on specs take less than a millisecond. Nothing allocates but what
 * opens, loads, clones or builds, and merging where that is said.
 *
 * Frozen since 0.2.0: a program that was linked with libweir.so.0 runs with
 * every later one of that name. Calls and constants are added, never changed or
 * taken away; structs grow at their end only where their size is passed along. */
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

/* ---- what can go wrong ---- */

enum weir_status {
    WEIR_OK = 0,
    WEIR_BAD_CONFIG,   /* the spec asks for what cannot be */
    WEIR_NO_MEMORY,    /* the system gave no memory, or no randomness */
    WEIR_BAD_DATA,     /* these bytes are not a saved filter, or a damaged one */
    WEIR_MISMATCH,     /* two filters of different configuration */
    WEIR_UNSUPPORTED,  /* this filter cannot do that */
    WEIR_WRITE_FAILED, /* the sink refused bytes, or a file cannot be written */
    WEIR_FULL,         /* no room for a key, or for so many (weir/build.h) */
    WEIR_READ_FAILED   /* a file cannot be opened or read */
};

/* What exactly went wrong, for programs that react to it. A code is 100 times its status
 * plus a number; the code of a status without a more specific one ends in 00. Later versions
 * can add codes, so compare code / 100 with the status for those that you do not know. */
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

    WEIR_ERROR_FULL = 700,        /* the filter has no room for a key */
    WEIR_ERROR_UNEVEN_KEYS = 701, /* the keys are not spread evenly: hash them */

    WEIR_ERROR_READ_FAILED = 800,   /* the file cannot be opened or read */
    WEIR_ERROR_FILE_NOT_FOUND = 801 /* the file does not exist */
};

/* One message for a person: what was wrong, the value, what would be right.
 * No line break, no full stop. Wherever an error is taken, NULL will do. It is filled in on
 * failure only. */
struct weir_error {
    int32_t status; /* enum weir_status */
    int32_t code;   /* enum weir_error_code */
    char text[320];
};

/* The name of a code in lower case, for logs and other languages: "unknown-parameter". Names
 * never change. NULL for a number that is not a code of this library. */
WEIR_API const char *weir_error_name(int32_t code);

/* ---- open and close ---- */

/* Open a filter: "NAME parameter=value ...". The name may be left out (weir), as
 * may every parameter; docs/filters.md lists them, weir_algorithm_at() too. NULL means "".
 * Without seed= the seed is random: filters that are to be merged, or to give
 * the same verdicts twice, need one. On failure *out is NULL. */
WEIR_API enum weir_status weir_open(weir_filter **out, const char *config,
                                    struct weir_error *error);

/* Where the memory of a handle comes from: for programs that account for theirs. A
 * block taken is zeroed, and aligned as malloc() does; NULL says that there is none. */
struct weir_allocator {
    void *(*allocate)(void *context, size_t size);
    void (*free)(void *context, void *block);
    void *context;
};

/* What is said beside the spec; zero stands for what was not said. */
struct weir_options {
    size_t size;                     /* sizeof this struct: it may grow */
    struct weir_allocator allocator; /* both NULL: the system's */
    uint64_t max_bytes;              /* bytes that a handle may take, as in its figures; 0: any */
};

/* weir_open() with options; NULL are the defaults. Every byte of the handle is taken by
 * its functions, in one block of `bytes` in its figures (weir_measure()), which keeps
 * 64 of them to begin on a cache line; so is what merging needs meanwhile. Clones have
 * the same options. The functions may be called by any call that opens, loads, clones,
 * merges or closes, in the thread of that call, and no other. A handle that would take
 * more than the most is refused (WEIR_NO_MEMORY) before anything is taken. The system's memory
 * comes on huge pages from 2 MiB up; what a program gives is used as it is. */
WEIR_API enum weir_status weir_open_with(weir_filter **out, const char *config,
                                         const struct weir_options *options,
                                         struct weir_error *error);

WEIR_API void weir_close(weir_filter *w);

/* A second filter in the same state; NULL if memory is short (WEIR_NO_MEMORY), or of a
 * view (WEIR_UNSUPPORTED). */
WEIR_API weir_filter *weir_clone(const weir_filter *w, struct weir_error *error);

/* Forget everything, as if just opened with the same seed. */
WEIR_API void weir_clear(weir_filter *w);

/* ---- keys ---- */

/* A key as a filter sees it: 128 hashed bits and how much it matters
 * (0..2^32-1; only filters with importance= look at it). */
struct weir_key {
    uint64_t lo, hi;
    uint32_t importance;
    uint32_t origin; /* made of seed and hash= by the calls that hash; 0: not told */
};

/* Key bytes as the caller has them. */
struct weir_bytes {
    const void *data;
    size_t size;
};

/* Hash a key for this filter, and for others of the same seed and hash=; weir/hash.h
 * does so without a filter. Importance is set to 1; assign it where it matters. A
 * key that was hashed for another seed is a caller's bug, which builds with
 * WEIR_DEBUG notice and stop at; others give verdicts that mean nothing. */
WEIR_API struct weir_key weir_hash(const weir_filter *w, const void *data, size_t size);

WEIR_API void weir_hash_many(const weir_filter *w, const struct weir_bytes *bytes, size_t n,
                             struct weir_key *keys);

/* ---- observe and ask ---- */

enum weir_verdict { WEIR_NEW = 0, WEIR_SEEN = 1 };

/* Show one key to the filter: say whether it was probably seen before, then
 * remember it. Cannot fail, never allocates.
 *
 * A filter that is full and has no room for it (cuckoo; others have no such state) does not
 * remember the key, which weir_measure() counts as overflow. On a filter that cannot learn
 * (without WEIR_CAN_OBSERVE: fuse, made by weir/build.h) and on a view this is a caller's
 * bug: of a filter that cannot learn builds with WEIR_DEBUG stop at it, others answer as
 * weir_ask(). */
WEIR_API enum weir_verdict weir_observe(weir_filter *w, struct weir_key key);

/* The same for n keys in order, several times as fast: memory is fetched ahead.
 * verdicts[i] becomes 0 (new) or 1 (seen); verdicts and bytes of the filter are
 * exactly those that one by one would give. */
WEIR_API void weir_observe_many(weir_filter *w, const struct weir_key *keys, size_t n,
                                uint8_t *verdicts);

/* Say whether a key was probably seen, without remembering it. */
WEIR_API enum weir_verdict weir_ask(const weir_filter *w, struct weir_key key);

WEIR_API void weir_ask_many(const weir_filter *w, const struct weir_key *keys, size_t n,
                            uint8_t *verdicts);

/* The same for keys as bytes, each hashed on the way. */
WEIR_API enum weir_verdict weir_observe_bytes(weir_filter *w, const void *data, size_t size);
WEIR_API void weir_observe_bytes_many(weir_filter *w, const struct weir_bytes *bytes, size_t n,
                                      uint8_t *verdicts);
WEIR_API enum weir_verdict weir_ask_bytes(const weir_filter *w, const void *data, size_t size);
WEIR_API void weir_ask_bytes_many(const weir_filter *w, const struct weir_bytes *bytes, size_t n,
                                  uint8_t *verdicts);

/* How many showings of a key are stored, in filters that store each of them (cuckoo): not
 * fewer than there are, more if the fingerprint of another is the same. Others say 0 or 1,
 * as weir_ask(). */
WEIR_API uint32_t weir_count(const weir_filter *w, struct weir_key key);

/* Fetch the memory of a key ahead: for callers that see one key at a time but know
 * the next few. A dozen keys before its turn is about right. Changes nothing. */
WEIR_API void weir_prefetch(const weir_filter *w, struct weir_key key);

/* Take back one showing of a key. WEIR_UNSUPPORTED where the filter cannot;
 * *was_there, if not NULL, says whether there was anything to forget.
 * Forgetting what was never shown makes others be forgotten. */
WEIR_API enum weir_status weir_forget(weir_filter *w, struct weir_key key, bool *was_there,
                                      struct weir_error *error);

/* Tell a filter opened with span= what time it is, in milliseconds of one clock
 * (say, since 1970). The first call sets the beginning; a time before the
 * latest told changes nothing. Between calls no time passes. Filters without
 * span= take no notice. */
WEIR_API void weir_advance(weir_filter *w, uint64_t now);

/* weir_observe_many() of keys that have a time each, in the milliseconds of
 * weir_advance(): exactly as if that were called before each of them. So a time
 * before the latest does not turn the clock back; its key is shown as of now. */
WEIR_API void weir_observe_many_at(weir_filter *w, const struct weir_key *keys,
                                   const uint64_t *times, size_t n, uint8_t *verdicts);

/* Add to a filter all that another of the same configuration and seed has
 * seen. WEIR_MISMATCH or WEIR_UNSUPPORTED leave it as it was. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_merge(weir_filter *into, const weir_filter *from,
                                                     struct weir_error *error);

/* ---- what it knows of itself ---- */

struct weir_stats {
    uint64_t memory;   /* bytes of cells, at most what memory= asked for */
    uint64_t bytes;    /* all that the handle occupies */
    uint64_t observed; /* keys observed, of which */
    uint64_t seen;     /* were said to be seen, and */
    uint64_t new_keys; /* to be new */
    double fill;       /* share of cells in use */
    double error;      /* chance that a new key would be taken for seen now */
    uint64_t lost;     /* keys that fell out of window= or span= too early: for want of memory */
    uint64_t overflow; /* showings for which a full filter had no room: see weir_observe() */
};

/* Fill in the figures, as many as the caller's struct of this size has room for; a
 * struct of a later version gets zeros for what this library does not know. Reads
 * at most four million cells: some milliseconds. */
WEIR_API void weir_measure(const weir_filter *w, struct weir_stats *out, size_t size);

/* The same by value; compiled into the caller, so that the struct may grow. */
static inline struct weir_stats weir_stats_of(const weir_filter *w)
{
    struct weir_stats stats;

    weir_measure(w, &stats, sizeof stats);
    return stats;
}

/* The configuration in full, with every choice made: a spec that opens an equal filter.
 * Like snprintf(): returns the length of the whole text without the terminating NUL, even if
 * less of it fits. Writes at most size bytes, the NUL among them, and nothing if size is 0
 * (buffer may be NULL then). WEIR_SPEC_MAX bytes are always enough. */
WEIR_API size_t weir_config(const weir_filter *w, char *buffer, size_t size);

/* ---- save and load ---- */

/* Takes size bytes; returns false to stop the writing. */
typedef bool (*weir_sink)(void *context, const void *data, size_t size);

/* Fills size bytes; returns false if it cannot. For loading: weir/saved.h. */
typedef bool (*weir_source)(void *context, void *data, size_t size);

/* Bytes that saving will take. Does not change while the filter lives. */
WEIR_API size_t weir_saved_size(const weir_filter *w);

/* Save into a buffer of at least that many bytes; returns them, or 0 if the
 * buffer is too small (WEIR_WRITE_FAILED). */
WEIR_API WEIR_MUST_CHECK size_t weir_save_buffer(const weir_filter *w, void *buffer, size_t size,
                                                 struct weir_error *error);

/* Save through a sink: WEIR_OK or WEIR_WRITE_FAILED. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_save_stream(const weir_filter *w, weir_sink sink,
                                                           void *context, struct weir_error *error);

/* Load the filter that data begins with. Any bytes give a usable filter or an
 * error; so does one shard of several, which weir/saved.h loads together. *used, if not
 * NULL, gets the bytes it took: another part may follow. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_load_buffer(weir_filter **out, const void *data,
                                                           size_t size, size_t *used,
                                                           const struct weir_options *options,
                                                           struct weir_error *error);

/* Save to a file, which is replaced atomically: a temporary file in the same directory
 * (".weir-" and 16 hex digits) is written, synced and renamed, and the directory is synced. On
 * failure the old file is untouched and the temporary file is removed. Permissions of an
 * existing file are kept, its owner if the system permits it. A symbolic link is followed.
 * WEIR_OK or WEIR_WRITE_FAILED; what is not a regular file is refused. Needs no memory, and
 * permission to write to the directory. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_save_file(const weir_filter *w, const char *path,
                                                         struct weir_error *error);

/* Load the first filter of a file; notes before it are skipped, what follows it is not read.
 * Statuses as of weir_load_buffer(); WEIR_READ_FAILED if the file cannot be read, with the code
 * WEIR_ERROR_FILE_NOT_FOUND if there is none. Takes no memory but the handle's. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_load_file(weir_filter **out, const char *path,
                                                         const struct weir_options *options,
                                                         struct weir_error *error);

/* ---- files of several parts ---- */

/* Saved data is a sequence of parts, each with its kind, length and checksum
 * (docs/format.md): shards of one filter, or a filter and a program's notes on
 * it. weir_save_stream() writes one part; these write and read the others. */
enum weir_part_kind {
    WEIR_PART_FILTER = 1,
    WEIR_PART_NOTE = 2,
    WEIR_PART_COUNTS = 3, /* a count-min sketch, see weir/sketch.h */
    WEIR_PART_TOP = 4,    /* a sketch that keeps keys */
    WEIR_PART_SCREEN = 5  /* see weir/screen.h */
};

struct weir_part {
    uint32_t kind;
    const void *body;
    size_t body_size;
    size_t size;            /* of the whole part: the next begins after as many bytes */
    uint32_t shard, shards; /* 0 of 1: the whole; see weir/saved.h */
    const char *spec;       /* what opens an equal one, not terminated; a note has none */
    size_t spec_size;
};

/* Look at the part that data begins with: WEIR_OK, or WEIR_BAD_DATA if it is
 * none, is cut off or damaged. As much is filled in as a struct of part_size bytes has
 * room for. */
WEIR_API enum weir_status weir_part_read(const void *data, size_t size, struct weir_part *part,
                                         size_t part_size, struct weir_error *error);

/* Write a part of a kind below 65536: WEIR_OK, WEIR_WRITE_FAILED, or for another
 * kind WEIR_UNSUPPORTED. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_part_write(uint32_t kind, const void *body,
                                                          size_t size, weir_sink sink,
                                                          void *context, struct weir_error *error);

/* ---- which filters there are ---- */

struct weir_algorithm {
    const char *name;
    const char *idea; /* one line */
    uint64_t traits;  /* of enum weir_trait: what it can do, given the parameters for it */
};

/* What can be asked of a filter, a sketch (weir/sketch.h) or a screen
 * (weir/screen.h), and what it is there for. */
enum weir_trait {
    WEIR_CAN_FORGET = 1 << 0,      /* take back a key: weir_forget(), weir_sketch_take() */
    WEIR_CAN_MERGE = 1 << 1,       /* weir_merge(), weir_sketch_merge(), weir_screen_merge() */
    WEIR_CAN_WINDOW = 1 << 2,      /* forget by count: window=; half-life= in records */
    WEIR_CAN_TIME = 1 << 3,        /* by time, which it must be told: span=; half-life= as a time */
    WEIR_CAN_IMPORTANCE = 1 << 4,  /* keep longer what matters more: importance= */
    WEIR_CAN_RUN_FOREVER = 1 << 5, /* serve a stream without end: neither fills up nor ages */
    WEIR_CAN_KEEP_ALL = 1 << 6,    /* miss no key that was shown: forgets none by itself */
    WEIR_CAN_LIST = 1 << 7,        /* list the keys that came most often: weir_sketch_top() */
    WEIR_CAN_COUNT_ANY = 1 << 8,   /* count any key, by its hash alone: weir_sketch_add_hashed() */
    WEIR_CAN_HOLD_SET = 1 << 9,    /* a screen that is told the set before the first check */
    WEIR_CAN_CONFIRM = 1 << 10,    /* a screen that asks the store at all */
    WEIR_CAN_OBSERVE = 1 << 11,    /* be shown keys, one after the other: weir_observe() */
    WEIR_CAN_ONE_LINE = 1 << 12,   /* do with one cache line per key */
    WEIR_FOR_IMPORTANCE = 1 << 16, /* of use only where some keys matter more than others */
    WEIR_FOR_TABLES = 1 << 17      /* there to reproduce the tables of a paper, not to be chosen */
};

/* A parameter, and what it takes. */
struct weir_parameter {
    const char *name;
    const char *takes; /* "a whole number from 1 to 32" */
    const char *does;  /* "hash functions" */
};

/* ---- specs as values ---- */

/* The same for filters, sketches and screens. Nothing here opens one or takes its
 * memory; any thread may call. */
enum weir_kind { WEIR_KIND_FILTER, WEIR_KIND_SKETCH, WEIR_KIND_SCREEN };

#define WEIR_SPEC_MAX 512 /* no completed spec is longer, with its end */

/* The i-th of a kind, and its j-th parameter; NULL after the last. The first filter and the
 * first screen are the defaults, for specs without a name. */
WEIR_API const struct weir_algorithm *weir_algorithm_at(enum weir_kind kind, size_t i);
WEIR_API const struct weir_parameter *weir_parameter_at(enum weir_kind kind, size_t i, size_t j);

/* What a spec names, and a parameter of that by name ("k", or "k=3"); NULL if there
 * is none. Only the name in the spec is looked at. */
WEIR_API const struct weir_algorithm *weir_find_algorithm(enum weir_kind kind, const char *spec);
WEIR_API const struct weir_parameter *weir_find_parameter(enum weir_kind kind, const char *spec,
                                                          const char *parameter);

/* Complete a spec: what weir_config() says of the filter that it opens. WEIR_OK, or
 * what weir_open() would say, but for memory that is not to be had. */
WEIR_API enum weir_status weir_spec_complete(enum weir_kind kind, const char *spec, char *buffer,
                                             size_t size, struct weir_error *error);

/* What can be done with these parameters: of enum weir_trait. Statuses as of
 * weir_spec_complete(). */
WEIR_API enum weir_status weir_spec_traits(enum weir_kind kind, const char *spec, uint64_t *traits,
                                           struct weir_error *error);

/* The spec of one of n filters that share out the keys of the one asked for:
 * each has its part of memory=, capacity= and window=. A part is at least 64 bytes, and as
 * much as its keys need: n of them can take a little more than memory=. Also
 * WEIR_BAD_CONFIG if n is 0. */
WEIR_API enum weir_status weir_shard_spec(const char *spec, uint32_t n, char *buffer, size_t size,
                                          struct weir_error *error);

/* The value of a parameter as a spec of any kind has it. Returned length and buffer as of
 * weir_config(); the length is 0 if the spec does not have the parameter. */
WEIR_API size_t weir_spec_get(const char *spec, const char *parameter, char *buffer, size_t size);

/* The same of a completed spec, where it is a whole number: a count, a size in
 * bytes (rounded up), a time in milliseconds. False if it is none. */
WEIR_API bool weir_spec_number(const char *spec, const char *parameter, uint64_t *number);

/* A size as memory= takes it, in bytes: 65536, 64K, 64KB, 64KiB, 1.5m, 8000bit. K, M, G
 * and T are powers of 1024 whatever follows them. False if it is none, or not whole. */
WEIR_API bool weir_parse_size(const char *text, uint64_t *bytes);

WEIR_API const char *weir_version(void);

#ifdef __cplusplus
}
#endif

#endif
