/* sketch.h - the waist of the sketches from inside: what one is made of and
 * must say.
 *
 * struct weir_sketch holds every byte in one allocation, so that opening,
 * closing, cloning and clearing are each written once. A sketch file says how
 * its memory is laid out (plan, lay), how a key is counted and asked for, and
 * how its state is written, read and merged. */
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
#define KEYS_MAX 100000000 /* that a sketch keeps */

enum { UPDATE_PLAIN, UPDATE_CONSERVATIVE };
enum { LAYOUT_ROWS, LAYOUT_LINE };
enum { COUNTER_32, COUNTER_64 };

/* In records, or in milliseconds; of no length if counts do not fade. */
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
    uint64_t bytes; /* of data, as planned */
};

/* How old what was counted is: see half_life.h. */
struct half_life_state {
    uint64_t clock;  /* records, or the latest time told */
    uint64_t origin; /* the first time told */
    uint64_t base;   /* the step at which a record weighs least */
    uint64_t step;   /* of now */
    uint64_t begun;  /* has a time been told? */
};

struct weir_sketch {
    struct handle handle;
    const struct sketch_ops *ops;
    struct sketch_config config;
    uint64_t sparse; /* keys to add before it gets huge pages; 0: that is done (memory.h) */
    uint8_t *data;
    uint64_t size;   /* bytes of data */
    uint64_t total;  /* added, in units: */
    uint64_t weight; /* units that a record of now adds; 1 where counts do not fade */
    struct half_life_state age;
};

struct sketch_ops {
    struct named is;
    uint32_t part;
    uint64_t memory; /* bits, if none is asked for */
    bool fixed;      /* every state takes as many bytes as are planned */
    size_t own;      /* bytes of its own behind struct weir_sketch, see sketch_own() */
    bool (*plan)(struct sketch_config *c, uint64_t *bytes, struct weir_error *error);
    void (*lay)(weir_sketch *s); /* share out data, which stays as it is */
    void (*add)(weir_sketch *s, struct weir_bytes key, uint64_t amount);
    void (*add_many)(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                     size_t n);
    struct weir_estimate (*ask)(const weir_sketch *s, struct weir_bytes key);
    void (*stats)(const weir_sketch *s, struct weir_sketch_stats *out);
    enum weir_status (*merge)(weir_sketch *into, const weir_sketch *from);
    const char *unmergeable; /* why, where there is no merge */

    /* into the sum of others, each times its weight; false if a count cannot hold it, then
     * nothing is changed. NULL: it cannot */
    bool (*weigh)(weir_sketch *into, const weir_sketch *const *from, const int64_t *weights,
                  size_t n);
    uint64_t (*state_size)(const weir_sketch *s);
    void (*put)(const weir_sketch *s, struct part_writer *out);
    bool (*get)(weir_sketch *s, struct part_reader *in); /* false: it cannot be */

    /* all units by 2^(steps / 256); for those with half-life= */
    void (*scale)(weir_sketch *s, int64_t steps);

    /* where it has a meaning, or NULL */
    size_t (*top)(const weir_sketch *s, struct weir_heavy *out, size_t n);
    void (*add_hashed)(weir_sketch *s, const struct weir_key *keys, const uint64_t *amounts,
                       size_t n);
    void (*ask_hashed)(const weir_sketch *s, const struct weir_key *keys, size_t n,
                       struct weir_estimate *out);
    void (*ask_many)(const weir_sketch *s, const struct weir_bytes *keys, size_t n,
                     struct weir_estimate *out); /* or one by one */
    void (*take)(weir_sketch *s, struct weir_bytes key, uint64_t amount);
    bool (*can_take)(const struct sketch_config *c);
};

extern const struct grammar sketch_grammar;
extern const struct handle_kind sketch_kind;

/* From a configuration that is complete; NULL if memory is short. sparse: as in handle.h. */
struct handle *sketch_make(const void *config, const struct memory *memory, bool sparse);

/* WEIR_NO_MEMORY and why there is none. */
enum weir_status sketch_no_memory(const void *config, const struct memory *memory,
                                  struct weir_error *error);

/* All that one has counted, into another of the same configuration. */
void sketch_copy(weir_sketch *to, const weir_sketch *from);

/* What a sketch keeps for itself beside its data: zeroed and copied with it. Pointers into
 * the data are for lay() to set, which is called after both. */
static inline void *sketch_own(const weir_sketch *s)
{
    return (void *)(uintptr_t)(s + 1);
}

static inline struct hash128 sketch_hash(const weir_sketch *s, struct weir_bytes key)
{
    return hash_by(s->config.hash, key.data, key.size, s->config.seed);
}

/* What the i-th of a batch adds, in units. */
static inline uint64_t sketch_amount(const weir_sketch *s, const uint64_t *amounts, size_t i)
{
    uint64_t units;

    if (!amounts)
        return s->weight;
    return __builtin_mul_overflow(amounts[i], s->weight, &units) ? UINT64_MAX : units;
}

/* Counts stop at the most they can be. */
static inline uint64_t sketch_sum(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

#endif
