/* handle.h - what filters, sketches and screens share.
 *
 * Each begins with a struct handle. It is one allocation, opened from a completed spec and saved as
 * one part of a file (part.h):
 *
 *   [its own struct | padding][data | padding][spare]
 *
 * The data begins on a cache line; it holds cells, counters or keys. A struct handle_kind describes
 * what differs. Everything else is written once, in handle.c: open, close, clone, clear, merge,
 * save, load. lib/typed_calls.c has the public calls, which are thin wrappers. */
#ifndef WEIR_FORMAT_HANDLE_H
#define WEIR_FORMAT_HANDLE_H

#include <assert.h>

#include "base/hash.h"
#include "base/memory.h"
#include "format/part.h"
#include "spec/grammar.h"

/* An assertion that is too slow for release builds. */
#ifdef WEIR_DEBUG
#define debug_assert(condition) assert(condition)
#else
#define debug_assert(condition) ((void)sizeof(condition))
#endif

struct handle {
    const struct handle_kind *kind;
    void *allocation;
    size_t bytes;         /* of the allocation */
    struct memory memory; /* where it comes from */
    uint8_t *data;        /* of a view: the caller's */
    uint64_t size;        /* of the data, bytes */
    uint64_t sparse;      /* keys until it gets huge pages; 0: nothing to do (memory.h) */
    bool is_used;         /* since it is sparse */
    bool is_view;         /* the data is the caller's and read-only */
};

struct handle_size {
    uint64_t head, data, spare; /* bytes; head is whole cache lines */
    uint64_t asked;             /* bytes that memory= asks for, for messages */
    uint64_t cells;             /* accesses per key; 0: the whole data is used at once */
};

struct handle_kind {
    const struct grammar *grammar; /* its specs are read into a record */
    uint32_t parts[2];             /* the kinds of parts that it is saved as */
    size_t record;                 /* offset of the record in the handle */
    size_t state, state_size; /* of plain state in the handle: copied, and zeroed by clearing */

    /* The size of a handle for a complete record. */
    struct handle_size (*size)(const void *record);

    /* Fill in a new handle; the data is zero. */
    void (*begin)(struct handle *handle, const void *record);

    /* Copy, or reset to that of a new handle, what is neither plain state nor data; or NULL. */
    void (*copy)(struct handle *to, const struct handle *from);
    void (*reset)(struct handle *handle);

    /* Report an error for handles that can never be merged; add one to another of equal spec. */
    enum weir_status (*check_merge)(const struct handle *into, const struct handle *from,
                                    struct weir_error *error);
    enum weir_status (*merge)(struct handle *into, const struct handle *from,
                              struct weir_error *error);

    /* Saving. save_words() adds words to a part head whose kind is parts[0] and whose cells are the
     * data; it may change both. put() writes the cells; NULL writes the data. */
    void (*save_words)(const struct handle *handle, struct part_head *h);
    void (*put)(const void *handle, struct part_writer *out);

    /* Loading. Was a part written before 1.0, and can no longer be read (NULL: never)? Does it have
     * the kind (NULL: any) and the size of a record? load_words() reads the words; is_possible()
     * checks words and data. load() replaces both, and the reading of the data, or is NULL. */
    bool (*is_outdated)(const void *record, const struct part_head *h);
    bool (*is_part)(const void *record, uint32_t part);
    bool (*fits)(const void *record, const struct part_head *h);
    void (*load_words)(struct handle *handle, const struct part_head *h);
    bool (*is_possible)(const struct handle *handle);
    enum weir_status (*load)(struct handle *handle, const struct part_head *h, struct part_input in,
                             struct weir_error *error);

    /* Report an error for records that can be loaded but not opened; or NULL. */
    enum weir_status (*check_open)(const void *record, struct weir_error *error);
};

/* The functions that every kind has, by these names. */
#define HANDLE_FUNCTIONS                                                                           \
    .size = size_of, .begin = begin, .check_merge = check_merge, .merge = merge,                   \
    .save_words = save_words, .fits = fits

/* The record of an open handle. */
static inline const void *handle_record(const struct handle *handle)
{
    return (const char *)handle + handle->kind->record;
}

/* ---- open and close ---- */

/* Parameters of a call that opens or loads. */
struct handle_request {
    const struct handle_kind *kind;
    void *record; /* memory for a record */
    const struct weir_options *options;
    struct handle *made; /* the result; NULL after an error */
};

enum weir_status handle_open(struct handle_request *r, const char *spec, struct weir_error *error);
void handle_close(struct handle *handle); /* NULL is allowed */

/* Make an empty handle from a complete record; NULL if out of memory. A sparse one is filled key
 * by key, others at once. */
struct handle *handle_new(const struct handle_kind *kind, const void *record,
                          const struct memory *memory, bool sparse);

/* Bytes of the allocation for a record, and the error if they are not available. */
uint64_t handle_bytes(const struct handle_kind *kind, const void *record);
enum weir_status handle_no_memory(const struct handle_kind *kind, const void *record,
                                  const struct memory *memory, struct weir_error *error);

/* Count n keys that are about to be added, and give a sparse handle huge pages when it is due. */
void handle_use_sparse(struct handle *handle, size_t n);

static inline void handle_use(struct handle *handle, size_t n)
{
    if (__builtin_expect(handle->sparse != 0, 0))
        handle_use_sparse(handle, n);
}

/* A key hashed for another seed= or hash= is a bug of the caller. */
static inline void handle_check_keys(uint64_t hash, uint64_t seed, const struct weir_key *keys,
                                     size_t n)
{
    uint32_t ours = hash_origin(hash, seed);

    for (size_t i = 0; i < n; i++)
        debug_assert(!keys[i].origin ||
                     keys[i].origin == ours); /* hashed for this seed and hash= */
}

/* ---- clone, clear, merge ---- */

struct handle *handle_clone(const struct handle *handle, struct weir_error *error);

/* Copy a handle to another of the same spec, or all of it but the data. */
void handle_copy(struct handle *to, const struct handle *from);
void handle_copy_state(struct handle *to, const struct handle *from);

void handle_clear(struct handle *handle);

/* WEIR_MISMATCH if two handles have different specs. */
enum weir_status handle_check_alike(const struct handle *into, const struct handle *from,
                                    struct weir_error *error);

enum weir_status handle_merge(struct handle *into, const struct handle *from,
                              struct weir_error *error);

/* ---- save ---- */

size_t handle_saved_size(const struct handle *handle);

/* Save as one of several shards. */
enum weir_status handle_save(const struct handle *handle, uint32_t shard, uint32_t shards,
                             weir_sink sink, void *context, struct weir_error *error);

/* Returns the bytes written; 0 after an error. */
size_t handle_save_buffer(const struct handle *handle, void *buffer, size_t size,
                          struct weir_error *error);

/* ---- load ---- */

enum weir_status handle_load_buffer(struct handle_request *r, struct weir_bytes from, size_t *used,
                                    struct weir_error *error);
enum weir_status handle_load_stream(struct handle_request *r, struct part_input in,
                                    struct weir_error *error);

/* Read and complete the record that a part head describes. Allocates nothing. */
enum weir_status handle_plan_saved(const struct handle_kind *kind, const struct part_head *h,
                                   void *record, struct weir_error *error);

/* Load the handle of a record, whichever shard it is. */
enum weir_status handle_load_planned(const struct handle_kind *kind, struct handle **out,
                                     const struct part_head *h, const void *record,
                                     struct part_input in, const struct memory *memory,
                                     struct weir_error *error);

/* WEIR_BAD_DATA: the checksums match, but the state is impossible. */
enum weir_status handle_impossible(const struct handle_kind *kind, struct weir_error *error);

#endif
