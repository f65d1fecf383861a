/* screen.h - the waist of the screens from inside: what one is made of and must
 * say.
 *
 * A screen's memory is that of filters (struct weir): Bloom filters that it asks
 * and shows keys to, or bare cells that it reads itself. So making, saving and
 * loading are each written once. A screen file says:
 *
 *   plan    complete the configuration, say which filters of what size
 *   decide  answer a key from memory, or say that the store is needed. Pure.
 *   settle  a key has been answered: remember it, make room
 *
 * check.c makes of these the loop over a batch. */
#ifndef WEIR_SCREEN_SCREEN_H
#define WEIR_SCREEN_SCREEN_H

#include <weir/screen.h>

#include "filter/filter.h"
#include "sentence/knobs.h"
#include "format/part.h"

enum screen_knob {
    SCREEN_MEMORY,
    SCREEN_SET,
    SCREEN_CAPACITY,
    SCREEN_THETA,
    SCREEN_K,
    SCREEN_K_SET,
    SCREEN_WINDOW,
    SCREEN_WIDTH,
    SCREEN_SLOTS,
    SCREEN_VERDICTS,
    SCREEN_FPR,
    SCREEN_HASH,
    SCREEN_SEED,
    SCREEN_KNOBS
};

#define SCREEN_HAS(knob) (1u << (knob))
#define SCREEN_ALWAYS (SCREEN_HAS(SCREEN_HASH) | SCREEN_HAS(SCREEN_SEED))

#define SCREEN_MEMORY_DEFAULT (UINT64_C(1) << 23) /* bits: 1 MiB */
#define FILTERS_MOST 4

/* n/n': a part of so many to one of so many. */
struct ratio {
    uint64_t above, below;
};

struct screen_config {
    const struct screen_ops *ops;
    uint32_t given;  /* SCREEN_HAS of those the sentence named */
    uint64_t memory; /* bits */
    uint64_t set, capacity;
    struct ratio theta;
    uint64_t k, k_set;
    uint64_t window;
    uint64_t width, slots;
    uint64_t verdicts; /* bits */
    double fpr;
    uint64_t hash, seed;
};

/* The filters that a screen asks for: with k a Bloom filter of so many cells of
 * one bit, without one bare bytes. */
struct screen_shape {
    uint32_t filters;
    struct {
        uint64_t cells, k;
    } filter[FILTERS_MOST];
};

struct weir_screen {
    const struct screen_ops *ops;
    struct screen_config config;
    struct screen_shape shape;
    void *allocation;
    size_t bytes; /* of the allocation */
    weir *filter[FILTERS_MOST];
    uint64_t checked, asked, unanswered, members;
    uint64_t learned; /* keys of the set */
    struct scratch *scratch;
};

struct screen_ops {
    struct weir_about about;
    uint32_t knobs;
    bool holds_set; /* is told the set before the first check */
    bool (*plan)(struct screen_config *c, struct screen_shape *shape, struct weir_error *error);
    /* WEIR_OTHER or WEIR_MEMBER from memory, or WEIR_UNANSWERED: ask. */
    uint8_t (*decide)(const weir_screen *s, struct weir_key key);

    /* where it has a meaning, or NULL */
    void (*touch)(const weir_screen *s, struct weir_key key); /* prefetch */
    void (*settle)(weir_screen *s, struct weir_key key, uint8_t answer, bool from_store);
    double (*fill)(const weir_screen *s);
    double (*error)(const weir_screen *s);
    bool (*check)(const weir_screen *s); /* can this loaded state be? */
};

extern const struct screen_ops screen_weir, screen_dabf, screen_1bf, screen_strict, screen_none;

/* What one batch needs: at most WEIR_SCREEN_BATCH keys at a time. */
#define TABLE (2 * WEIR_SCREEN_BATCH)
struct scratch {
    struct weir_key key[WEIR_SCREEN_BATCH];
    struct weir_bytes asked[WEIR_SCREEN_BATCH]; /* different keys, in the order of asking */
    uint16_t first[WEIR_SCREEN_BATCH];          /* which key of the batch each of them is */
    uint8_t answer[WEIR_SCREEN_BATCH];          /* the store's */
    uint16_t table[TABLE];                      /* number + 1 of the one asked for */
};

/* From a configuration that is complete; NULL if memory is short. */
weir_screen *screen_make(const struct screen_config *c, const struct screen_shape *shape);

bool screen_config_read(const char *sentence, struct screen_config *c, struct weir_error *error);
size_t screen_config_write(const struct screen_config *c, char *buffer, size_t size);

static inline bool screen_given(const struct screen_config *c, enum screen_knob knob)
{
    return c->given & SCREEN_HAS(knob);
}

static inline struct weir_key screen_hash(const weir_screen *s, struct weir_bytes key)
{
    struct hash128 h = s->config.hash ? hash_keyed(key.data, key.size, s->config.seed)
                                      : hash_fast(key.data, key.size, s->config.seed);

    return (struct weir_key){h.lo, h.hi, 1};
}

/* How many keys so many bits are taken to be for, if nobody says: one in eight,
 * and no more than a knob may be. */
static inline uint64_t screen_keys(uint64_t bits)
{
    uint64_t keys = bits / 8;

    return keys < 1 ? 1 : keys > COUNT_MAX ? COUNT_MAX : keys;
}

/* Keys that were answered: the clock of a window. */
static inline uint64_t screen_records(const weir_screen *s)
{
    return s->checked - s->unanswered;
}

#endif
