/* filter.h - the waist from inside: what a filter is made of and must say.
 *
 * struct weir_filter holds every byte, so that saving, loading, cloning, clearing and
 * measuring are each written once. A filter file owns behaviour only:
 *
 *   plan    complete the configuration, say how many cells of what width
 *   touch   work out the places of a key, and prefetch them
 *   touch_victims   prefetch what admit will clear (or NO_VICTIMS)
 *   look    prefetch what a line that has come says is needed next (or none)
 *   probe   was it seen? Pure.
 *   admit   remember it, make room
 *
 * and ends with #include "loops.h", which compiles them into the loops over one
 * key and over batches. Adding a filter = one such file, one line in list.h,
 * one golden file, one row in docs/filters.md. */
#ifndef WEIR_FILTER_FILTER_H
#define WEIR_FILTER_FILTER_H

#include <assert.h>

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

/* The storage a filter asks for. */
struct shape {
    uint64_t cells;                 /* per plane */
    uint32_t planes;                /* arrays of cells, all alike */
    uint32_t width;                 /* bits per cell */
    uint32_t registers;             /* 64-bit numbers beside the cells */
    uint32_t lines;                 /* cache lines one observation touches, at most */
    uint64_t detail[SHAPE_DETAILS]; /* the filter's own: what its plan worked out */
};

/* A fixed filter is filled part by part: a key belongs to the part that the upper bits of its
 * digest, the low half of its hash, say. */
struct fixed_parts {
    uint64_t parts, keys; /* keys: of a part, at most */
    uint64_t scratch;     /* bytes that filling one takes meanwhile */
};

struct fixed_ops {
    struct fixed_parts (*parts)(const weir_filter *w);
    /* The digests are ascending, without repeats. False if they are too many, or do not go
     * together: a filter of more capacity is needed. */
    bool (*fill_part)(weir_filter *w, uint64_t part, const uint64_t *digests, size_t n,
                      void *scratch);
};

/* A spec that is complete, and the storage that it comes to. */
struct planned {
    struct config config;
    struct shape shape;
};

struct weir_filter {
    struct handle handle;
    const struct filter_ops *ops;
    struct config config;
    struct shape shape;
    uint64_t sparse; /* keys to observe before it gets huge pages; 0: that is done (memory.h) */
    uint8_t *cells;
    uint64_t stride; /* bytes from plane to plane */
    bool is_view;    /* the cells are the caller's, and are not to be written to */
    uint64_t observed, seen;
    uint64_t reg[REGISTERS];
    struct sample sample;
};

#define KEYS_AHEAD 32 /* so many keys of a batch at most are on their way; a power of two */

/* A key on its way in: touch() fills in its places some keys before its turn
 * comes to be probed and admitted. */
struct arrival {
    struct weir_key key;
    uint64_t number; /* of keys shown before it */
    uint64_t at[K_MAX];
    uint64_t way[5]; /* how far look() has come: its own */
};

/* Some of a batch: keys[at[0]], keys[at[1]] ..., whose verdicts go to the same places; and
 * those that another filter is shown after them, to be fetched ahead. */
struct picked {
    const struct weir_key *keys;
    const uint64_t *slot_refs; /* of all keys of the batch, as locate() has them; or NULL */
    uint8_t *verdicts;
    const uint16_t *at; /* NULL: all, in their order */
    size_t n;
    const weir_filter *next; /* or NULL */
    const uint16_t *next_at;
    size_t next_n;
};

struct filter_ops {
    struct named is; /* name, idea, what it can do; HAS(...) | HAS_ALWAYS */
    bool (*plan)(struct config *c, struct shape *s, struct weir_error *error);
    double (*error)(const weir_filter *w);  /* chance to take a new key for seen, now */
    double (*fill)(const weir_filter *w);   /* where that is not the share of cells in use */
    uint64_t (*lost)(const weir_filter *w); /* keys that fell out of a window early, or NULL */

    /* from loops.h; one key by its address, for copies from call to call cost as much as a line */
    bool (*observe)(weir_filter *w, const struct weir_key *key);
    void (*observe_many)(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);
    bool (*ask)(const weir_filter *w, const struct weir_key *key);
    void (*ask_many)(const weir_filter *w, const struct weir_key *keys, size_t n,
                     uint8_t *verdicts);
    void (*touch)(const weir_filter *w, struct weir_key key); /* fetch its lines */

    /* observe_many() of some of a batch; or NULL: whoever wants that copies them together */
    void (*observe_picked)(weir_filter *w, const struct picked *p);

    /* Where keys are and what is looked for there, for observe_picked(): the same in all filters
     * of one shape. False if it has no such slot_refs; or NULL. */
    bool (*locate)(const weir_filter *w, const struct weir_key *keys, size_t n,
                   uint64_t *slot_refs);

    /* where it has a meaning, or NULL */
    bool (*forget)(weir_filter *w, struct weir_key key);
    void (*advance)(weir_filter *w, uint64_t now);
    uint64_t (*stands)(
        const weir_filter *w); /* the last time up to which advance() would do nothing */
    void (*merge)(weir_filter *into, const weir_filter *from);
    const char *(*unmergeable)(const struct config *c); /* why, or NULL if it is not */
    bool (*check)(const weir_filter *w);                /* can these loaded registers be? */
    bool (*check_cells)(const weir_filter *w);  /* and these cells with them? Reads them all. */
    const struct fixed_ops *fixed;              /* it cannot learn: builder.c makes it */
    uint64_t (*overflow)(const weir_filter *w); /* showings for which there was no room */
    uint32_t (*count)(const weir_filter *w, struct weir_key key); /* showings stored of a key */

    /* What it will do on such a stream, by its model; false where that has none.
     * The configuration is complete, p is all NAN before. */
    bool (*predict)(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p);
};

/* Bytes from plane to plane, and of all planes: in memory as in a file. */
static inline uint64_t shape_stride(const struct shape *s)
{
    return memory_lines(cells_size(s->cells, s->width));
}

static inline uint64_t shape_bytes(const struct shape *s)
{
    return shape_stride(s) * s->planes;
}

extern const struct handle_kind filter_kind;

/* Made from a struct planned. */
struct handle *handle_of_plan(const void *planned, const struct memory *memory, bool sparse);
enum weir_status handle_no_memory(const void *planned, const struct memory *memory,
                                  struct weir_error *error);

/* WEIR_UNSUPPORTED if it cannot learn, and is to be built. */
enum weir_status handle_check_open(const void *planned, struct weir_error *error);

/* What a spec comes to of which a filter can be opened. */
enum weir_status handle_plan(const char *spec, struct planned *p, struct weir_error *error);

/* All that a handle of this shape occupies, and a view. */
uint64_t handle_bytes(const struct shape *shape);
uint64_t handle_view_bytes(void);

/* An empty filter from a configuration that is complete; NULL if memory is short. One that is
 * filled at once, or that learns key by key. */
weir_filter *handle_open(const struct config *config, const struct shape *shape,
                         const struct memory *memory);

weir_filter *handle_open_sparse(const struct config *config, const struct shape *shape,
                                const struct memory *memory);

/* One of the words that a head has, on cells that stay where they are. */
weir_filter *handle_view(const struct planned *p, const uint8_t *cells,
                         const struct memory *memory);

/* Are two no shards of one filter? As spec_differ(); but shards of a fixed filter are each as
 * large as their keys need. */
bool handle_shards_differ(const struct config *a, const struct config *b, char *of_a, char *of_b);

/* weir_load_shards() from a source. divide() is called once, before memory is taken, to make of
 * the memory of the whole that of one shard. */
enum weir_status handle_load_shards(weir_filter **out, uint32_t most, uint32_t *n,
                                    weir_source source, void *context, struct memory memory,
                                    void (*divide)(struct memory *memory, uint32_t shards),
                                    struct weir_error *error);

/* weir_observe_many() of some of a batch. */
void handle_observe_picked(weir_filter *w, const struct picked *p);

/* Memory shared out evenly over planes of cells. */
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

/* Where the i-th hash function of a key points, in 0..n-1. */
static inline uint64_t place(struct weir_key key, uint32_t i, uint64_t n)
{
    return bits_scale(hash_word(key.lo, key.hi, i), n);
}

/* A key of another seed or hash= is a caller's bug. */
static inline void check_keys(const struct config *c, const struct weir_key *keys, size_t n)
{
#ifdef WEIR_DEBUG
    uint32_t ours = hash_origin(c->hash, c->seed);

    for (size_t i = 0; i < n; i++)
        assert(!keys[i].origin || keys[i].origin == ours); /* hashed for this seed and hash= */
#else
    (void)c, (void)keys, (void)n;
#endif
}

/* The random numbers of an arrival. */
static inline struct rng draws(const weir_filter *w, const struct arrival *a)
{
    return rng_at(w->config.seed, a->number);
}

/* The class of a key, 1..classes; the sample learns from every arrival. */
static inline uint32_t class_of(weir_filter *w, struct weir_key key, uint32_t classes)
{
    const struct importance *imp = &w->config.importance;

    if (importance_samples(imp) && sample_draws(&w->sample, w->observed))
        sample_take(&w->sample, key.importance, w->observed, w->config.seed);
    return importance_class(imp, &w->sample, key.importance, classes);
}

#endif
