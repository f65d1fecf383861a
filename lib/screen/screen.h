/* screen.h - the interface of a screen: what it consists of, and the functions it implements. A
 * screen is a small in-memory filter in front of a slow store.
 *
 * Its memory is up to four areas of cells, in one allocation with the rest: bits of Bloom filters,
 * or bytes of cached verdicts (verdict_lines.h). A screen file implements:
 *
 *   plan    complete the configuration, and compute the size of the areas
 *   decide  answer a key from memory, or request the store. Does not modify the screen.
 *   settle  a key was answered: remember it, and evict others if necessary
 *
 * check_batch.c has the loop over a batch. */
#ifndef WEIR_SCREEN_SCREEN_H
#define WEIR_SCREEN_SCREEN_H

#define WEIR_UNSTABLE
#include <weir/plan.h>
#include <weir/screen.h>

#include "filter/filter.h"
#include "format/handle.h"

enum screen_parameter {
    SCREEN_MEMORY,
    SCREEN_SET,
    SCREEN_CAPACITY,
    SCREEN_THETA,
    SCREEN_K,
    SCREEN_K_SET,
    SCREEN_WINDOW,
    SCREEN_SPAN,
    SCREEN_WIDTH,
    SCREEN_SLOTS,
    SCREEN_VERDICTS,
    SCREEN_FPR,
    SCREEN_HASH,
    SCREEN_SEED,
    SCREEN_PARAMETERS
};

#define SCREEN_ALWAYS (HAS(SCREEN_HASH) | HAS(SCREEN_SEED))

#define SCREEN_MEMORY_DEFAULT (UINT64_C(1) << 23) /* bits: 1 MiB */
#define AREAS_MAX 4

/* Cached answers are evicted in this many parts, one after the other, within a span. */
#define SPAN_STEPS 64

/* A ratio of two numbers. */
struct ratio {
    uint64_t above, below;
};

/* The memory that a screen needs. */
struct screen_shape {
    uint32_t areas;
    struct {
        uint64_t cells;
        uint64_t width; /* bits per cell: 1 or 8 */
    } area[AREAS_MAX];
};

struct screen_config {
    struct spec is;
    const struct screen_ops *ops;
    uint64_t memory; /* bits */
    uint64_t set, capacity;
    struct ratio theta;
    uint64_t k, k_set;
    uint64_t window;
    uint64_t span; /* milliseconds */
    uint64_t width, slots;
    uint64_t verdicts; /* bits */
    double fpr;
    uint64_t hash, seed;
    struct screen_shape shape; /* computed by plan */
};

struct screen_counts {
    uint64_t checked, asked, unanswered, members;
    uint64_t learned; /* keys of the set */
};

struct weir_screen {
    struct handle handle;
    const struct screen_ops *ops;
    struct screen_config config;
    struct cells area[AREAS_MAX];
    struct screen_counts count;
    uint64_t now;                /* the latest time; 0: none */
    const weir_filter *attached; /* an attached set of the caller, or NULL */
    struct scratch *scratch;
};

struct screen_ops {
    struct named is;
    bool (*plan)(struct screen_config *c, struct screen_shape *shape, struct weir_error *error);
    /* Returns WEIR_OTHER or WEIR_MEMBER from memory, or WEIR_UNANSWERED to request the store. */
    uint8_t (*decide)(const weir_screen *s, struct weir_key key);

    /* optional functions; NULL if they do not apply */
    void (*prefetch)(const weir_screen *s, struct weir_key key); /* prefetch the memory of a key */
    void (*settle)(weir_screen *s, struct weir_key key, uint8_t answer, bool from_store);
    double (*fill)(const weir_screen *s);
    double (*error)(const weir_screen *s);
    void (*sweep)(weir_screen *s,
                  uint64_t step); /* evict the answers of one step: see SPAN_STEPS */
    void (*learn)(weir_screen *s, const struct weir_key *keys,
                  size_t n);             /* add members to the set */
    void (*forget)(weir_screen *s);      /* clear the set */
    bool (*check)(const weir_screen *s); /* is the loaded state possible? */
    const char *(*unmergeable)(
        const struct screen_config *c); /* the reason, or NULL: then areas are merged by maximum */
    /* Predict the behavior on a stream in which this share of the keys are members. Returns false
     * if there is no model for the parameters. */
    bool (*predict)(const struct screen_config *c, const struct stream_model *m, double members,
                    struct weir_screen_prediction *p);
};

extern const struct grammar screen_grammar;
extern const struct handle_kind screen_kind;

/* Temporary memory of a batch of at most WEIR_SCREEN_BATCH keys. */
#define TABLE (2 * WEIR_SCREEN_BATCH)
struct scratch {
    struct weir_key key[WEIR_SCREEN_BATCH];
    struct weir_bytes asked[WEIR_SCREEN_BATCH]; /* distinct keys that are asked for, in order */
    uint16_t first[WEIR_SCREEN_BATCH];          /* the index in the batch of each of them */
    uint8_t answer[WEIR_SCREEN_BATCH];          /* the store's answers */
    uint16_t table[TABLE];                      /* a hash table of the keys asked for: index + 1 */
};

/* Bytes of an area and of all areas, in memory and in files. */
static inline uint64_t screen_area_bytes(const struct screen_shape *shape, uint32_t i)
{
    return memory_lines(cells_size(shape->area[i].cells, (uint32_t)shape->area[i].width));
}

static inline uint64_t screen_shape_bytes(const struct screen_shape *shape)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < shape->areas; i++)
        bytes += screen_area_bytes(shape, i);
    return bytes;
}

static inline struct weir_key screen_hash(const weir_screen *s, struct weir_bytes key)
{
    struct hash128 h = hash_by(s->config.hash, key.data, key.size, s->config.seed);

    return (struct weir_key){h.lo, h.hi, 1, 0};
}

static inline bool screen_holds_set(const weir_screen *s)
{
    return s->config.is.of->about.traits & WEIR_CAN_HOLD_SET;
}

/* The default number of keys for this many bits: one per eight bits, at most the maximum of the
 * parameter. */
static inline uint64_t screen_keys(uint64_t bits)
{
    uint64_t keys = bits / 8;

    return keys < 1 ? 1 : keys > COUNT_MAX ? COUNT_MAX : keys;
}

/* The number of answered keys: the clock of a window. */
static inline uint64_t screen_records(const weir_screen *s)
{
    return s->count.checked - s->count.unanswered;
}

/* ---- areas as Bloom filters ---- */

/* Most keys that are absent end at the second bit. */
static inline bool bloom_has(const struct cells *bits, uint64_t k, struct weir_key key)
{
    for (uint32_t i = 0; i < k; i++)
        if (!bit_get(bits, place(key, i, bits->n)))
            return false;
    return true;
}

static inline void bloom_add(struct cells *bits, uint64_t k, struct weir_key key)
{
    for (uint32_t i = 0; i < k; i++)
        bit_set(bits, place(key, i, bits->n));
}

/* Prefetch the lines of the first k bits. */
static inline void bloom_touch(const struct cells *bits, uint64_t k, struct weir_key key)
{
    for (uint32_t i = 0; i < k; i++)
        bit_prefetch(bits, place(key, i, bits->n));
}

#endif
