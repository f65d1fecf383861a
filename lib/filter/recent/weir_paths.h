/* weir_paths.h - observe and ask of the weir filter. Included by weir_plain.c
 * and weir_avx2.c, which name the result WEIR_PATHS. */
#include "filter/recent/recent.h"

/* What touch() works out: which line, and the fingerprint. */
#define LINE 0
#define PRINT 1

static inline uint8_t *line_of(const weir *w, const struct arrival *a)
{
    return w->cells + a->at[LINE];
}

static inline uint32_t cut_to(const uint8_t *line, uint32_t print)
{
    return print >> (32 - line_width[line_index(line)]);
}

static inline void touch(const weir *w, struct arrival *a)
{
    a->at[LINE] = place(a->key, 0, w->shape.cells / LINE_BYTES) * LINE_BYTES;
    a->at[PRINT] = line_print(a->key.hi);
    cells_fetch(line_of(w, a));
}

static inline void touch_victims(const weir *w, struct arrival *a)
{
    (void)w, (void)a; /* the same line */
}

static inline bool probe(const weir *w, const struct arrival *a)
{
    const uint8_t *line = line_of(w, a);
    uint32_t slots = slots_of(w, line);

    if (has_window(&w->config))
        slots = live_slots(w, line, slots);
    return line_match(line, slots, cut_to(line, (uint32_t)a->at[PRINT])) != 0;
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

/* Without importance or window a hit and a miss are one movement, without a
 * branch between them: a slot, the one found or the last, goes to the front. */
static __attribute__((noinline)) bool observe_recent(weir *w, uint8_t *line, uint32_t print)
{
    uint64_t found = line_match(line, slots_of(w, line), cut_to(line, print));

    if (!found)
        make_room(w, line);
    line_to_front(line, line_width[line_index(line)],
                  (uint32_t)__builtin_ctzll(found | UINT64_C(1) << (slots_of(w, line) - 1)),
                  cut_to(line, print));
    return found != 0;
}

static inline void insert(weir *w, uint8_t *line, uint32_t print, uint32_t depth)
{
    make_room(w, line);
    uint32_t slots = slots_of(w, line);
    if (has_window(&w->config)) {
        w->reg[OVERFLOW] += is_full(line, slots);
        mark_moved(w, line, slots - 1);
    }
    depth = depth < slots ? depth : slots - 1;
    if (depth > 0 && line_get(line, line_width[line_index(line)], depth - 1) == 0)
        depth = (uint32_t)__builtin_ctzll(line_match(line, slots, 0)); /* behind the last one */
    line_move(line, slots - 1, depth, cut_to(line, print));
}

static __attribute__((noinline)) bool observe_ranked(weir *w, const struct arrival *a)
{
    uint8_t *line = line_of(w, a);
    uint32_t print = (uint32_t)a->at[PRINT], depth = depth_of(w, a->key);

    if (has_window(&w->config))
        weir_age(w, line);
    uint64_t found = line_match(line, slots_of(w, line), cut_to(line, print));
    uint32_t at = found ? (uint32_t)__builtin_ctzll(found) : 0;
    if (!found) {
        insert(w, line, print, depth);
    } else {
        if (has_window(&w->config)) /* one that was in front already is of this quarter too now */
            mark_moved(w, line, at);
        if (at > depth / 2)
            line_move(line, at, depth / 2, cut_to(line, print));
    }
    if (w->config.window)
        weir_tick(w);
    return found != 0;
}

static inline bool is_ranked(const weir *w)
{
    return has_window(&w->config) || w->config.importance.mode != IMPORTANCE_NONE;
}

#define FUSED_SHOW
static inline bool show(weir *w, const struct arrival *a)
{
    bool seen = is_ranked(w) ? observe_ranked(w, a)
                             : observe_recent(w, line_of(w, a), (uint32_t)a->at[PRINT]);

    w->shown++;
    w->seen += seen;
    return seen;
}

#include "filter/loops.h"

/* ---- the common case in a batch ---- */

/* One line per key is so little work that the loop around it counts. Where the
 * order is by recency alone, and a line has come down to the floor, the width is
 * a constant here; other lines take the long way. Asking changes nothing. */
struct spot {
    uint8_t *line;
    uint32_t print;
};

static inline struct spot spot_of(const weir *w, struct weir_key key)
{
    struct spot s = {w->cells + place(key, 0, w->shape.cells / LINE_BYTES) * LINE_BYTES,
                     line_print(key.hi)};

    cells_fetch(s.line);
    return s;
}

INLINED bool visit(weir *w, struct spot s, const uint32_t index, uint32_t slots, const bool asking)
{
    const uint32_t width = line_width[index];
    uint64_t found;

    if (__builtin_expect(line_index(s.line) != index, false))
        return asking ? line_match(s.line, slots_of(w, s.line), cut_to(s.line, s.print)) != 0
                      : observe_recent(w, s.line, s.print);
    found = line_match_in(s.line, index, slots, s.print >> (32 - width));
    if (!asking)
        line_to_front(s.line, width, (uint32_t)__builtin_ctzll(found | UINT64_C(1) << (slots - 1)),
                      s.print >> (32 - width));
    return found != 0;
}

static inline void tell(weir *w, const uint8_t *verdicts, size_t n)
{
    uint64_t seen = 0;

    for (size_t i = 0; i < n; i++)
        seen += verdicts[i];
    w->shown += n;
    w->seen += seen;
}

INLINED void walk(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts,
                  const uint32_t index, const bool asking)
{
    const weir fixed = *w; /* what the loop would otherwise read again for every key */
    struct spot ring[KEYS_AHEAD];

    for (size_t i = 0; i < n && i < KEYS_AHEAD; i++)
        ring[i] = spot_of(&fixed, keys[i]);
    for (size_t i = 0; i < n; i++) {
        struct spot *s = &ring[i % KEYS_AHEAD];

        verdicts[i] = visit(w, *s, index, (uint32_t)fixed.config.slots, asking);
        if (i + KEYS_AHEAD < n)
            *s = spot_of(&fixed, keys[i + KEYS_AHEAD]);
    }
    if (!asking)
        tell(w, verdicts, n);
}

/* One pair of loops for each floor. */
typedef void (*walker)(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);

#define FOR_EACH_WIDTH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define WALKERS(i)                                                                                 \
    static void observe_at_##i(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)  \
    {                                                                                              \
        walk(w, keys, n, verdicts, i, false);                                                      \
    }                                                                                              \
    static void ask_at_##i(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)      \
    {                                                                                              \
        walk(w, keys, n, verdicts, i, true);                                                       \
    }
FOR_EACH_WIDTH(WALKERS)

#define OBSERVE_AT(i) observe_at_##i,
#define ASK_AT(i) ask_at_##i,
static const walker observe_at[] = {FOR_EACH_WIDTH(OBSERVE_AT)};
static const walker ask_at[] = {FOR_EACH_WIDTH(ASK_AT)};

static uint32_t floor_of(const weir *w)
{
    uint32_t index = 0;

    while (line_width[index] != w->config.width)
        index++;
    return index;
}

static void observe_batch(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    if (is_ranked(w))
        observe_many(w, keys, n, verdicts);
    else
        observe_at[floor_of(w)](w, keys, n, verdicts);
}

static void ask_batch(const weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    if (has_window(&w->config))
        ask_many(w, keys, n, verdicts);
    else
        ask_at[floor_of(w)]((weir *)(uintptr_t)w, keys, n, verdicts);
}

const struct weir_paths WEIR_PATHS = {observe, observe_batch, ask, ask_batch, touch_key};
