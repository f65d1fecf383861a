/* filter.h - the interface of a filter: what it consists of, and the functions it implements.
 *
 * struct weir_filter contains the whole state, so opening, saving, loading, cloning, clearing and
 * measuring are written once (filter_handle.c). A filter file implements only its behavior:
 *
 *   plan               complete the configuration, and compute the number and width of cells
 *   prefetch           compute the positions of a key, and prefetch them
 *   prefetch_victims   prefetch the cells that insert will clear (or define NO_VICTIMS)
 *   prefetch_next      prefetch what a line that has arrived shows to be needed next (optional)
 *   probe              was the key seen? Does not modify the filter.
 *   insert             record the key, and evict others if necessary
 *
 * It ends with #include "filter/loops.h", which compiles these functions into the loops over
 * single keys and batches. A new filter is one such file, one line in list.h, one golden file and
 * one row in docs/filters.md. */
#ifndef WEIR_FILTER_FILTER_H
#define WEIR_FILTER_FILTER_H

#include "base/cells.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/rng.h"
#include "filter/config.h"
#include "format/handle.h"
#include "spec/error.h"
#include "theory/stream_model.h"

#define REGISTERS K_MAX
#define SHAPE_DETAILS 5

/* The memory that a filter needs. */
struct shape {
    uint64_t cells;                 /* per plane */
    uint32_t planes;                /* arrays of cells of equal size */
    uint32_t width;                 /* bits per cell */
    uint32_t registers;             /* 64-bit numbers besides the cells */
    uint32_t lines;                 /* maximum cache lines that one observation accesses */
    uint64_t detail[SHAPE_DETAILS]; /* computed by plan, for the filter itself */
};

/* A fixed filter is filled part by part. The upper bits of a key's digest, which is the low half of
 * its hash, select the part. */
struct fixed_parts {
    uint64_t parts, keys; /* keys: maximum per part */
    uint64_t scratch;     /* temporary bytes for filling a part */
};

struct fixed_ops {
    struct fixed_parts (*parts)(const weir_filter *w);
    /* The digests are ascending and distinct. Returns false if there are too many, or if they
     * cannot be solved: then a filter of more capacity is needed. */
    bool (*fill_part)(weir_filter *w, uint64_t part, const uint64_t *digests, size_t n,
                      void *scratch);
};

/* A completed spec and its memory. */
struct planned {
    struct config config;
    struct shape shape;
};

struct weir_filter {
    struct handle handle;
    const struct filter_ops *ops;
    struct config config;
    struct shape shape;
    uint8_t *cells;
    uint64_t stride; /* bytes from plane to plane */
    uint64_t observed, seen;
    uint64_t reg[REGISTERS];
    struct sample sample;
};

#define KEYS_AHEAD 32 /* maximum keys of a batch between prefetch and probe; a power of two */

/* A key of a batch. prefetch() computes its positions some keys before it is probed and
 * inserted. */
struct arrival {
    struct weir_key key;
    uint64_t number; /* number of keys observed before it */
    uint64_t at[K_MAX];
    uint64_t progress[5]; /* state of prefetch_next() */
};

/* Some keys of a batch: keys[at[0]], keys[at[1]] ... Their verdicts have the same indexes. `next`
 * is the filter that observes its keys after this one, so that they can be prefetched. */
struct picked {
    const struct weir_key *keys;
    const uint64_t *slot_refs; /* of all keys of the batch, from locate(); or NULL */
    const uint64_t *expires;   /* from stamp(), with the indexes of keys; or NULL */
    uint8_t *verdicts;
    const uint16_t *at; /* NULL: all, in order */
    size_t n;
    const weir_filter *next; /* or NULL */
    const uint16_t *next_at;
    size_t next_n;
};

struct filter_ops {
    struct named is; /* name, idea, traits; HAS(...) | HAS_ALWAYS */
    bool (*plan)(struct config *c, struct shape *s, struct weir_error *error);
    double (*error)(const weir_filter *w);  /* current false-positive rate */
    double (*fill)(const weir_filter *w);   /* if it is not the share of nonzero cells */
    uint64_t (*lost)(const weir_filter *w); /* keys evicted before their window ended, or NULL */

    /* from loops.h. Keys are passed by address: copying one takes as long as a cache line. */
    bool (*observe)(weir_filter *w, const struct weir_key *key);
    void (*observe_many)(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);
    bool (*ask)(const weir_filter *w, const struct weir_key *key);
    void (*ask_many)(const weir_filter *w, const struct weir_key *keys, size_t n,
                     uint8_t *verdicts);
    void (*prefetch)(const weir_filter *w, struct weir_key key); /* prefetch its lines */

    /* observe_many() for some keys of a batch; NULL: the caller copies them together */
    void (*observe_picked)(weir_filter *w, const struct picked *p);

    /* Compute the lines and fingerprints of keys for observe_picked(). They are the same in all
     * filters of one shape. Returns false if the shape does not have slot_refs; or NULL. */
    bool (*locate)(const weir_filter *w, const struct weir_key *keys, size_t n,
                   uint64_t *slot_refs);

    /* optional functions; NULL if they do not apply */
    bool (*forget)(weir_filter *w, struct weir_key key);
    void (*advance)(weir_filter *w, uint64_t now);
    uint64_t (*quiet_until)(
        const weir_filter *w); /* the last time until which advance() has no effect */

    /* Advance to the first of these times (may be NULL), and compute when keys that arrive then
     * with these TTLs (may be NULL) expire, for observe_until(). Returns for how many keys: the
     * others must be stamped later. */
    size_t (*stamp)(weir_filter *w, const uint64_t *times, const uint64_t *ttls, size_t n,
                    uint64_t *expires);
    void (*observe_until)(weir_filter *w, const struct weir_key *keys, const uint64_t *expires,
                          size_t n, uint8_t *verdicts);
    void (*merge)(weir_filter *into, const weir_filter *from);
    void (*grow)(weir_filter *into, const weir_filter *from); /* into an empty one, of a multiple */
    const char *(*unmergeable)(
        const struct config *c); /* the reason, or NULL if it can be merged */
    /* Was a filter with so many registers saved before 1.0, and can no longer be read? Or NULL. */
    bool (*is_outdated)(const struct config *c, uint32_t registers);
    bool (*check)(const weir_filter *w);       /* are loaded registers possible? */
    bool (*check_cells)(const weir_filter *w); /* are the loaded cells possible? Reads all cells. */
    const struct fixed_ops *fixed;             /* a filter that is only built, by builder.c */
    uint64_t (*overflow)(const weir_filter *w); /* keys not recorded for lack of memory */
    uint32_t (*count)(const weir_filter *w, struct weir_key key); /* stored insertions of a key */

    /* Predict the behavior on a stream. Returns false if there is no model for it. The
     * configuration is complete; all fields of p are NAN. */
    bool (*predict)(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p);
    /* With ttl=; or NULL. Returns false if there are far too many keys for its memory. */
    bool (*predict_ttl)(const struct config *c, const struct shape *s, const struct ttl_load *load,
                        struct ttl_prediction *p);
};

/* Bytes of a plane and of all planes, in memory and in files. */
static inline uint64_t shape_stride(const struct shape *s)
{
    return memory_lines(cells_size(s->cells, s->width));
}

static inline uint64_t shape_bytes(const struct shape *s)
{
    return shape_stride(s) * s->planes;
}

extern const struct handle_kind filter_kind;

/* Complete the spec of a filter that can be opened, not built. */
enum weir_status filter_plan(const char *spec, struct planned *p, struct weir_error *error);

/* Make an empty filter; NULL if out of memory. A sparse one is filled key by key, others at
 * once. */
static inline weir_filter *filter_new(const struct planned *p, const struct memory *memory,
                                      bool sparse)
{
    return (weir_filter *)handle_new(&filter_kind, p, memory, sparse);
}

/* Are the counters, registers and sample possible? */
bool filter_words_possible(const weir_filter *w);

/* spec_differ() for two shards of one filter: shards of a fixed filter may differ in size. */
bool filter_shards_differ(const struct config *a, const struct config *b, char *of_a, char *of_b);

/* weir_load_shards() from a stream. divide() is called once, before memory is allocated; it divides
 * the memory limit of the whole among the shards. */
enum weir_status filter_load_shards(weir_filter **out, uint32_t max, uint32_t *n,
                                    struct part_input stream, struct memory memory,
                                    void (*divide)(struct memory *memory, uint32_t shards),
                                    struct weir_error *error);

/* weir_observe_many() for some keys of a batch. */
void filter_observe_picked(weir_filter *w, const struct picked *p);

/* Divide the memory evenly among planes of cells. */
static inline void shape_planes(struct shape *s, const struct config *c, uint32_t planes,
                                uint32_t width)
{
    s->planes = planes;
    s->width = width;
    s->cells = c->memory / ((uint64_t)planes * width);
}

static inline struct cells plane(const weir_filter *w, uint64_t i)
{
    return (struct cells){w->cells + i * w->stride, w->shape.cells, w->shape.width};
}

/* The position of a key by its i-th hash function, in 0..n-1. */
static inline uint64_t place(struct weir_key key, uint32_t i, uint64_t n)
{
    return bits_scale(hash_word(key.lo, key.hi, i), n);
}

static inline void check_keys(const struct config *c, const struct weir_key *keys, size_t n)
{
    handle_check_keys(c->hash, c->seed, keys, n);
}

/* The random numbers for a key. */
static inline struct rng arrival_rng(const weir_filter *w, const struct arrival *a)
{
    return rng_at(w->config.seed, a->number);
}

/* The class of a key, 1..classes. The sample is updated with every observation. */
static inline uint32_t class_of(weir_filter *w, struct weir_key key, uint32_t classes)
{
    const struct importance *imp = &w->config.importance;

    if (importance_samples(imp) && sample_draws(&w->sample, w->observed))
        sample_take(&w->sample, key.importance, w->observed, w->config.seed);
    return importance_class(imp, &w->sample, key.importance, classes);
}

#endif
