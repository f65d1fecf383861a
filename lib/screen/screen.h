/* screen.h - the waist of the screens from inside: what one is made of and must
 * say.
 *
 * A screen's memory is a few areas of cells, in one allocation with the rest: bits
 * of Bloom filters (bloom_bits.h), or bytes (verdict_lines.h). So making, saving
 * and loading are each written once. A screen file says:
 *
 *   plan    complete the configuration, say which areas of what size
 *   decide  answer a key from memory, or say that the store is needed. Pure.
 *   settle  a key has been answered: remember it, make room
 *
 * check_batch.c makes of these the loop over a batch. */
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
#define AREAS_MOST 4

/* What was learned is forgotten in so many parts, one after the other, all in a span. */
#define SPAN_STEPS 64

/* n/n': a part of so many to one of so many. */
struct ratio {
    uint64_t above, below;
};

/* The memory that a screen asks for. */
struct screen_shape {
    uint32_t areas;
    struct {
        uint64_t cells;
        uint64_t width; /* bits per cell: 1 or 8 */
    } area[AREAS_MOST];
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
    struct screen_shape shape; /* as planned */
};

struct screen_counts {
    uint64_t checked, asked, unanswered, members;
    uint64_t learned; /* keys of the set */
};

struct weir_screen {
    struct handle handle;
    const struct screen_ops *ops;
    struct screen_config config;
    struct cells area[AREAS_MOST];
    struct screen_counts count;
    uint64_t now;            /* the latest time told; 0: none was */
    const weir_filter *lent; /* holds members too; the caller's, or NULL */
    struct scratch *scratch;
};

struct screen_ops {
    struct named is;
    bool (*plan)(struct screen_config *c, struct screen_shape *shape, struct weir_error *error);
    /* WEIR_OTHER or WEIR_MEMBER from memory, or WEIR_UNANSWERED: ask. */
    uint8_t (*decide)(const weir_screen *s, struct weir_key key);

    /* where it has a meaning, or NULL */
    void (*touch)(const weir_screen *s, struct weir_key key); /* prefetch */
    void (*settle)(weir_screen *s, struct weir_key key, uint8_t answer, bool from_store);
    double (*fill)(const weir_screen *s);
    double (*error)(const weir_screen *s);
    void (*sweep)(weir_screen *s, uint64_t step); /* forget what is that old: see SPAN_STEPS */
    void (*learn)(weir_screen *s, const struct weir_key *keys, size_t n); /* members of the set */
    void (*forget)(weir_screen *s);                                       /* all of them */
    bool (*check)(const weir_screen *s);                       /* can this loaded state be? */
    const char *(*unmergeable)(const struct screen_config *c); /* why, or NULL: bits are added */
    /* What it will do on a stream of whose keys such a share are members; false if there is
     * no model with these parameters. */
    bool (*predict)(const struct screen_config *c, const struct stream_model *m, double members,
                    struct weir_screen_prediction *p);
};

extern const struct grammar screen_grammar;
extern const struct handle_kind screen_kind;

/* What one batch needs: at most WEIR_SCREEN_BATCH keys at a time. */
#define TABLE (2 * WEIR_SCREEN_BATCH)
struct scratch {
    struct weir_key key[WEIR_SCREEN_BATCH];
    struct weir_bytes asked[WEIR_SCREEN_BATCH]; /* different keys, in the order of asking */
    uint16_t first[WEIR_SCREEN_BATCH];          /* which key of the batch each of them is */
    uint8_t answer[WEIR_SCREEN_BATCH];          /* the store's */
    uint16_t table[TABLE];                      /* number + 1 of the one asked for */
};

/* Bytes of an area and of all of them: in memory as in a file. */
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

/* From a configuration that is complete; NULL if memory is short. sparse changes nothing. */
struct handle *screen_make(const void *config, const struct memory *memory, bool sparse);

/* WEIR_NO_MEMORY and why there is none. */
enum weir_status screen_no_memory(const void *config, const struct memory *memory,
                                  struct weir_error *error);

static inline struct weir_key screen_hash(const weir_screen *s, struct weir_bytes key)
{
    struct hash128 h = hash_by(s->config.hash, key.data, key.size, s->config.seed);

    return (struct weir_key){h.lo, h.hi, 1, 0};
}

static inline bool screen_holds_set(const weir_screen *s)
{
    return s->config.is.of->about.traits & WEIR_CAN_HOLD_SET;
}

/* How many keys so many bits are taken to be for, if nobody says: one in eight,
 * and no more than a parameter may be. */
static inline uint64_t screen_keys(uint64_t bits)
{
    uint64_t keys = bits / 8;

    return keys < 1 ? 1 : keys > COUNT_MAX ? COUNT_MAX : keys;
}

/* Keys that were answered: the clock of a window. */
static inline uint64_t screen_records(const weir_screen *s)
{
    return s->count.checked - s->count.unanswered;
}

#endif
