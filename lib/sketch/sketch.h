/* sketch.h - the interface of a sketch: what it consists of, and the functions it implements.
 *
 * struct weir_sketch contains the whole state, so opening, closing, cloning, clearing and merging
 * are written once (api.c, format/handle.c). A sketch file implements how its memory is laid out
 * (plan, lay), how a key is counted and looked up, and how its state is saved, loaded and merged.
 */
#ifndef WEIR_SKETCH_SKETCH_H
#define WEIR_SKETCH_SKETCH_H

#include <weir/sketch.h>

#include "base/hash.h"
#include "base/memory.h"
#include "format/handle.h"
#include "spec/error.h"

enum sketch_parameter {
    SKETCH_MEMORY,
    SKETCH_KEYS,
    SKETCH_DEPTH,
    SKETCH_WIDTH,
    SKETCH_DECAY,
    SKETCH_COUNTER,
    SKETCH_UPDATE,
    SKETCH_LAYOUT,
    SKETCH_ERROR,
    SKETCH_CONFIDENCE,
    SKETCH_HALF_LIFE,
    SKETCH_HASH,
    SKETCH_SEED,
    SKETCH_PARAMETERS
};

#define HAS_COMMON (HAS(SKETCH_MEMORY) | HAS(SKETCH_HASH) | HAS(SKETCH_SEED))

#define DEPTH_MAX 32
#define KEYS_MAX 100000000 /* maximum number of stored keys */

enum { UPDATE_PLAIN, UPDATE_CONSERVATIVE };
enum { LAYOUT_ROWS, LAYOUT_LINE };
enum { COUNTER_32, COUNTER_64 };

/* In records or in milliseconds; 0 if counts do not fade. */
struct half_life {
    uint64_t length;
    bool timed;
};

struct sketch_config {
    struct spec is;
    const struct sketch_ops *ops;
    uint64_t memory; /* bits */
    uint64_t keys;
    uint64_t depth, width;
    uint64_t decay; /* billionths */
    uint64_t counter, update, layout;
    double error, confidence;
    struct half_life half_life;
    uint64_t hash, seed;
    uint64_t bytes; /* size of the data, computed by plan */
};

/* The age of the counts: see half_life.h. */
struct half_life_state {
    uint64_t clock;  /* records, or the latest time in milliseconds */
    uint64_t origin; /* the first time */
    uint64_t base;   /* the step at which a record weighs 2^16 */
    uint64_t step;   /* the current step */
    uint64_t begun;  /* 1 when a time was set */
};

struct weir_sketch {
    struct handle handle;
    const struct sketch_ops *ops;
    struct sketch_config config;
    uint64_t total;  /* sum of all amounts, in units: */
    uint64_t weight; /* units that a record adds now; 1 if counts do not fade */
    struct half_life_state age;
};

struct sketch_ops {
    struct named is;
    uint32_t part;
    uint64_t memory; /* default of memory=, in bits */
    bool fixed;      /* the saved state always has the planned size */
    size_t own;      /* bytes of own state after struct weir_sketch; see sketch_own() */
    bool (*plan)(struct sketch_config *c, uint64_t *bytes, struct weir_error *error);
    void (*lay)(weir_sketch *s); /* set pointers into the data, which is not modified */
    void (*add)(weir_sketch *s, struct weir_bytes key, uint64_t amount);
    void (*add_many)(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                     size_t n);
    struct weir_estimate (*ask)(const weir_sketch *s, struct weir_bytes key);
    void (*stats)(const weir_sketch *s, struct weir_sketch_stats *out);
    enum weir_status (*merge)(weir_sketch *into, const weir_sketch *from);
    const char *unmergeable; /* the reason, if there is no merge */

    /* Replace by the weighted sum of other sketches. Returns false and changes nothing if a count
     * overflows. NULL: not supported. */
    bool (*weigh)(weir_sketch *into, const weir_sketch *const *from, const int64_t *weights,
                  size_t n);
    uint64_t (*state_size)(const weir_sketch *s);
    void (*put)(const weir_sketch *s, struct part_writer *out);
    bool (*get)(weir_sketch *s,
                struct part_reader *in); /* returns false if the state is impossible */

    /* Multiply all units by 2^(steps / 256); for sketches with half-life=. */
    void (*scale)(weir_sketch *s, int64_t steps);

    /* optional functions; NULL if they do not apply */
    size_t (*top)(const weir_sketch *s, struct weir_heavy *out, size_t n);
    void (*add_hashed)(weir_sketch *s, const struct weir_key *keys, const uint64_t *amounts,
                       size_t n);
    void (*ask_hashed)(const weir_sketch *s, const struct weir_key *keys, size_t n,
                       struct weir_estimate *out);
    void (*ask_many)(const weir_sketch *s, const struct weir_bytes *keys, size_t n,
                     struct weir_estimate *out); /* NULL: keys are looked up one by one */
    void (*take)(weir_sketch *s, struct weir_bytes key, uint64_t amount);
    bool (*can_take)(const struct sketch_config *c);
};

extern const struct grammar sketch_grammar;
extern const struct handle_kind sketch_kind;

/* The own state of a sketch, besides its data. It is zeroed and copied with the sketch. lay() sets
 * pointers into the data; it is called after both. */
static inline void *sketch_own(const weir_sketch *s)
{
    return (void *)(uintptr_t)(s + 1);
}

static inline struct hash128 sketch_hash(const weir_sketch *s, struct weir_bytes key)
{
    return hash_by(s->config.hash, key.data, key.size, s->config.seed);
}

/* The amount that the i-th key of a batch adds, in units. */
static inline uint64_t sketch_amount(const weir_sketch *s, const uint64_t *amounts, size_t i)
{
    uint64_t units;

    if (!amounts)
        return s->weight;
    return __builtin_mul_overflow(amounts[i], s->weight, &units) ? UINT64_MAX : units;
}

/* Add with saturation. */
static inline uint64_t sketch_sum(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

#endif
