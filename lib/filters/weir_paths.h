/* weir_paths.h - observe and ask of the weir filter. Included by weir_plain.c
 * and weir_avx2.c, which name the result WEIR_PATHS. */
#include "weir.h"

static inline uint8_t *line_of(const weir *w, struct weir_key key)
{
    return w->cells + place(key, 0, w->shape.cells / LINE_BYTES) * LINE_BYTES;
}

/* 32 bits, of which the first byte is never zero, nor then any prefix. */
static inline uint32_t fingerprint(struct weir_key key)
{
    bits_u128 scaled = (bits_u128)key.hi * 255;
    uint32_t first = (uint32_t)(scaled >> 64) + 1;

    return first << 24 | (uint32_t)((uint64_t)scaled >> 40);
}

static inline uint32_t cut_to(const uint8_t *line, uint32_t print)
{
    return print >> (32 - line_width[line_index(line)]);
}

static inline void touch(const weir *w, struct weir_key key)
{
    __builtin_prefetch(line_of(w, key), 1);
}

static inline void evict(const weir *w, uint64_t arrival)
{
    (void)w, (void)arrival; /* the same line */
}

static bool probe(const weir *w, struct weir_key key)
{
    const uint8_t *line = line_of(w, key);
    uint32_t slots = slots_of(w, line);

    if (w->config.window)
        slots = live_slots(w, line, slots);
    return line_find(line, slots, cut_to(line, fingerprint(key))) != LINE_NONE;
}

/* How deep a key enters: the top class at the front, the lowest at the end. */
static inline uint32_t depth_of(weir *w, struct weir_key key)
{
    uint32_t slots = (uint32_t)w->config.slots;

    return w->config.importance.mode == IMPORTANCE_NONE ? 0 : slots - class_of(w, key, slots);
}

/* A slot moved to the front: each quarter that did not have it has one more. */
static inline void mark_moved(weir *w, uint8_t *line, uint32_t from)
{
    uint32_t upto[QUARTERS];

    for (uint32_t i = 0; i < QUARTERS; i++) {
        upto[i] = line_upto(line, i);
        upto[i] += upto[i] <= from;
    }
    line_mark(line, upto, w->reg[EPOCH]);
}

static inline bool is_full(const uint8_t *line, uint32_t slots)
{
    return line_get(line, line_width[line_index(line)], slots - 1) != 0;
}

/* Make room for a key that is not there. */
static inline void make_room(weir *w, uint8_t *line)
{
    while (line_width[line_index(line)] > w->config.width && is_full(line, slots_of(w, line)))
        weir_cut(w, line);
}

/* Without importance or window a hit and a miss are one movement: a slot, the
 * one found or the last, to the front. */
static inline bool observe_recent(weir *w, uint8_t *line, uint32_t print)
{
    uint32_t slots = slots_of(w, line);
    int at = line_find(line, slots, cut_to(line, print));

    if (line_width[line_index(line)] != w->config.width && at == LINE_NONE) {
        make_room(w, line);
        slots = slots_of(w, line);
    }
    line_to_front(line, at == LINE_NONE ? slots - 1 : (uint32_t)at, cut_to(line, print));
    return at != LINE_NONE;
}

static inline void insert(weir *w, uint8_t *line, uint32_t print, uint32_t depth)
{
    make_room(w, line);
    uint32_t slots = slots_of(w, line);
    if (w->config.window) {
        w->reg[OVERFLOW] += is_full(line, slots);
        mark_moved(w, line, slots - 1);
    }
    depth = depth < slots ? depth : slots - 1;
    if (depth > 0 && line_get(line, line_width[line_index(line)], depth - 1) == 0)
        depth = (uint32_t)line_find(line, slots, 0); /* no gaps: behind the last one */
    line_move(line, slots - 1, depth, cut_to(line, print));
}

static __attribute__((noinline)) bool observe_ranked(weir *w, struct weir_key key, uint8_t *line,
                                                     uint32_t print)
{
    uint32_t depth = depth_of(w, key);

    if (w->config.window)
        weir_age(w, line);
    int at = line_find(line, slots_of(w, line), cut_to(line, print));
    if (at == LINE_NONE) {
        insert(w, line, print, depth);
    } else {
        if (w->config.window) /* one that was in front already is of this quarter too now */
            mark_moved(w, line, (uint32_t)at);
        if ((uint32_t)at > depth / 2)
            line_move(line, (uint32_t)at, depth / 2, cut_to(line, print));
    }
    if (w->config.window && ++w->reg[ARRIVED] == (w->config.window + QUARTERS - 1) / QUARTERS)
        weir_turn(w);
    return at != LINE_NONE;
}

#define FUSED_OBSERVE
static inline __attribute__((always_inline)) bool observe(weir *w, struct weir_key key)
{
    uint8_t *line = line_of(w, key);
    bool ranked = w->config.window || w->config.importance.mode != IMPORTANCE_NONE;
    bool seen = ranked ? observe_ranked(w, key, line, fingerprint(key))
                       : observe_recent(w, line, fingerprint(key));

    w->shown++;
    w->seen += seen;
    return seen;
}

#include "loops.h"

const struct weir_paths WEIR_PATHS = {observe, observe_many, probe, ask_many};
