/* recent_paths.h - observe and ask of the filter recent, for one key and for batches. Compiled
 * three times, by recent_plain.c, recent_avx2.c and recent_avx512.c, which name the result
 * WEIR_PATHS.
 *
 * A batch is processed in blocks of 32 keys. While one block is processed, the lines of keys up to
 * AHEAD later are prefetched, because memory latency dominates otherwise. Keys of one line keep
 * their order, and lines are independent, so the result is that of single calls.
 *
 * A block is processed in one of two ways:
 *
 *   observe_uniform  all lines of the previous block had the same width (the narrowest in a full
 *                    filter, the widest in one with free slots). This width is a constant.
 *   observe_mixed    any widths, by tables. With AVX-512 that is recent_steps.h, sixteen keys
 *                    at a time.
 *
 * The mode is a constant in the code for a line and in the loop around it. Everything else is
 * decided at run time. */
#include "filter/recent/recent_lines.h"

static inline enum mode mode_of(const weir_filter *w, bool asking)
{
    const struct config *c = &w->config;

    if (has_ttl(c))
        return asking ? ASKED_TTL : TTL;
    if (asking)
        return has_window(c) ? ASKED_TIMED : ASKED;
    return has_window(c)                                       ? TIMED
           : c->importance.mode != IMPORTANCE_NONE || c->enter ? DEEP
                                                               : RECENT;
}

/* ---- finding the lines ---- */

#define AHEAD 64 /* keys whose lines are being fetched; measured by bench/speed */
#define NEAR 12  /* of those, from the second cache to the first; measured likewise */
#define RING 128 /* keys: a multiple of BLOCK, not less than both together */

/* Keys on their way. */
struct ring {
    uint8_t *line[RING + NEAR]; /* after the last follow the first ones again */
    uint64_t print[RING];       /* in the upper half */
    uint32_t depth[RING];
    uint8_t code[RING]; /* of their expiry times, with ttl= */
};

/* What the loops over a batch need. */
struct walk {
    weir_filter *w;
    uint8_t *cells;
    uint64_t lines;
    struct picked p;
    struct batch_ctx *b;
    struct ring *ring;
};

/* The i-th of a batch, or of those picked from it. */
INLINED size_t nth(const uint16_t *at, size_t i)
{
    return at ? at[i] : i;
}

INLINED struct slot_ref slot_ref_in(const struct walk *t, uint8_t *cells, uint64_t lines,
                                    size_t key)
{
    return t->p.slot_refs ? slot_ref_located(cells, t->p.slot_refs[key])
                          : slot_ref_of(cells, lines, t->p.keys[key]);
}

#ifdef LINE_ANY_WIDTH
#include "filter/recent/slot_refs.h"
#endif

/* Find lines and prints of the block that begins with the i-th key, and fetch the block of keys
 * after it: keys are read in blocks, too rarely for the processor to look ahead by itself. After
 * the last key follow lines of the next filter, so that memory is busy between the two. */
static __attribute__((noinline)) void find_block(const struct walk *t, size_t first, bool ranked)
{
    const size_t n = t->p.n, end = first + BLOCK < n ? first + BLOCK : n;
    const weir_filter *next = t->p.next;
    size_t i = first, at = first % RING;

    if (!t->p.at && first + 2 * BLOCK <= n)
        for (size_t j = 0; j < BLOCK * sizeof(struct weir_key); j += LINE_BYTES)
            cells_fetch_now((const uint8_t *)(t->p.keys + first + BLOCK) + j);
#ifdef LINE_ANY_WIDTH
    if (!t->p.at && first + BLOCK <= n && t->lines <= UINT32_MAX) {
        find_together(t, first, ranked);
        i = end;
    }
#endif
    for (; i < end; i++, at++) {
        size_t key = nth(t->p.at, i);
        struct slot_ref s = slot_ref_in(t, t->cells, t->lines, key);

        t->ring->line[at] = s.line;
        t->ring->print[at] = (uint64_t)s.print << 32;
        if (ranked)
            t->ring->depth[at] = t->p.keys[key].importance;
    }
    for (size_t j = first, slot = first % RING; t->b->stamps && j < end; j++, slot++)
        t->ring->code[slot] =
            t->p.expires ? expiry_code(&t->b->clock, t->p.expires[nth(t->p.at, j)], t->b->late)
                         : t->b->clock.longest;
    if (ranked && first < end)
        find_depths(t->w, t->ring->depth + first % RING, first, end - first, t->b);
    for (i = first > n ? first : n; i < first + BLOCK; i++)
        t->ring->line[i % RING] =
            i - n < t->p.next_n
                ? slot_ref_in(t, next->cells, next->shape.cells / LINE_BYTES, t->p.next_at[i - n])
                      .line
                : t->cells;
    if (first % RING == 0)
        memcpy(t->ring->line + RING, t->ring->line, NEAR * sizeof *t->ring->line);
}

/* ---- blocks ---- */

/* A block's first key, in the ring. */
struct block {
    uint8_t *const *line;
    const uint64_t *print;
    const uint32_t *depth;
    const uint8_t *code;
};

INLINED struct block block_at(const struct ring *ring, size_t first)
{
    return (struct block){ring->line + first % RING, ring->print + first % RING,
                          ring->depth + first % RING, ring->code + first % RING};
}

INLINED struct slot_ref nth_slot_ref(const struct block *k, uint32_t i, const enum mode m)
{
    return (struct slot_ref){k->line[i], (uint32_t)(k->print[i] >> 32),
                             has_depth(m) ? k->depth[i] : 0, m == TTL ? k->code[i] : 0};
}

/* One key, its line of any width. */
INLINED bool visit(weir_filter *w, struct slot_ref s, const enum mode m, struct batch_ctx *b)
{
    bool found;

#define VISIT(i)                                                                                   \
    const struct lines of = lines_of(b, i, (i) == b->floor);                                       \
    found = visit_line(w, s, i, &of, m, b);
    LINE_BY_WIDTH(line_index(s.line), VISIT)
#undef VISIT
    return found;
}

#define VISITOR(m)                                                                                 \
    static __attribute__((noinline)) bool visit_##m(weir_filter *w, struct slot_ref s,             \
                                                    struct batch_ctx *b)                           \
    {                                                                                              \
        return visit(w, s, m, b);                                                                  \
    }
VISITOR(ASKED)
VISITOR(ASKED_TIMED)
VISITOR(RECENT)
VISITOR(DEEP)
VISITOR(TIMED)
VISITOR(ASKED_TTL)
VISITOR(TTL)

INLINED bool visit_one(weir_filter *w, struct slot_ref s, const enum mode m, struct batch_ctx *b)
{
    return m == RECENT      ? visit_RECENT(w, s, b)
           : m == ASKED     ? visit_ASKED(w, s, b)
           : m == DEEP      ? visit_DEEP(w, s, b)
           : m == TIMED     ? visit_TIMED(w, s, b)
           : m == TTL       ? visit_TTL(w, s, b)
           : m == ASKED_TTL ? visit_ASKED_TTL(w, s, b)
                            : visit_ASKED_TIMED(w, s, b);
}

#define OTHERS_MOST 2 /* lines of other widths in a block of one width; guessed */

/* The n keys of a block; bit i of the result if key i was found. For each key, the line of a later
 * one is fetched. */
INLINED uint32_t observe_uniform(const struct walk *t, size_t first, size_t n, const uint32_t index,
                                 const bool at_floor, const enum mode m)
{
    const struct block k = block_at(t->ring, first);
    uint8_t *const *ahead = t->ring->line + (first + AHEAD) % RING;
    const struct lines of = lines_of(t->b, index, at_floor);
    uint32_t seen = 0, others = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct slot_ref s = nth_slot_ref(&k, i, m);
        bool found;

        cells_fetch(ahead[i]);
        cells_fetch_near(k.line[i + NEAR]);
        if (__builtin_expect(line_index(s.line) == index, true)) {
            found = visit_line(t->w, s, index, &of, m, t->b);
        } else {
            found = visit_one(t->w, s, m, t->b);
            others++;
        }
        seen |= (uint32_t)found << i;
    }
    if (others > OTHERS_MOST)
        t->b->all_at_floor = t->b->all_widest = false;
    return seen;
}

#ifdef LINE_ANY_WIDTH
#include "filter/recent/recent_steps.h"
#else
INLINED uint32_t observe_mixed(const struct walk *t, size_t first, size_t n, const enum mode m)
{
    const struct block k = block_at(t->ring, first);
    uint8_t *const *ahead = t->ring->line + (first + AHEAD) % RING;
    uint32_t seen = 0, above = 0, cut = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct slot_ref s = nth_slot_ref(&k, i, m);

        if (m == TTL)
            clean(t->w, s.line, t->b);
        uint32_t index = line_index(s.line);
        if (!observes(m)) /* a damaged view contains any */
            index = index < LINE_WIDTHS ? index : LINE_WIDTHS - 1;
        cells_fetch(ahead[i]);
        cells_fetch_near(k.line[i + NEAR]);
        above |= index ^ t->b->floor;
        cut |= index;
        seen |= (uint32_t)visit_line(t->w, s, index, &t->b->lines[index], m, t->b) << i;
    }
    t->b->all_at_floor = !above;
    t->b->all_widest = !cut;
    return seen;
}
#endif

INLINED uint32_t observe_block(const struct walk *t, size_t first, size_t n, const enum mode m)
{
    const uint32_t floor = t->b->floor;
    uint32_t seen;

#define SHOW(i) seen = observe_uniform(t, first, n, i, true, m);
    if (is_timed(m) || expires(m)) {
        seen = observe_mixed(t, first, n, m);
    } else if (t->b->all_at_floor && 64 % line_width[floor] == 0) {
        LINE_BY_WIDTH(floor, SHOW)
#ifdef LINE_ANY_WIDTH
    } else if (t->b->all_at_floor && m == RECENT) {
        LINE_BY_EACH_WIDTH(floor, SHOW)
    } else if (t->b->all_at_floor && has_depth(m)) {
        SHOW(floor)
#endif
    } else if (t->b->all_widest && floor != 0) {
        seen = observe_uniform(t, first, n, 0, false, m);
    } else {
        seen = observe_mixed(t, first, n, m);
    }
#undef SHOW
    return seen;
}

/* ---- one key ---- */

INLINED bool one(weir_filter *w, const struct weir_key *key, const enum mode m)
{
    struct batch_ctx b;
    struct slot_ref s = slot_ref_of(w->cells, w->shape.cells / LINE_BYTES, *key);

    cells_fetch_now(s.line);
    share(w, &b, m, 0);
    s.code = m == TTL ? b.clock.longest : 0;
    if (has_depth(m) && b.ranked) {
        learn(w, key->importance, 0, &b);
        s.depth = depth_of(w, key->importance, &b);
    } else if (has_depth(m)) {
        s.depth = b.depth;
    }
    if (m == TTL)
        clean(w, s.line, &b);
    bool found = visit_one(w, s, m, &b);
    if (observes(m)) {
        w->observed++;
        w->seen += found;
    }
    return found;
}

/* ---- the modes ---- */

#define PER_MODE(m)                                                                                \
    static __attribute__((noinline))                                                               \
    uint32_t show_##m(const struct walk *t, size_t first, size_t n)                                \
    {                                                                                              \
        return observe_block(t, first, n, m);                                                      \
    }                                                                                              \
    static bool one_##m(weir_filter *w, const struct weir_key *key)                                \
    {                                                                                              \
        return one(w, key, m);                                                                     \
    }
PER_MODE(ASKED)
PER_MODE(ASKED_TIMED)
PER_MODE(RECENT)
PER_MODE(DEEP)
PER_MODE(TIMED)
PER_MODE(ASKED_TTL)
PER_MODE(TTL)

static const struct {
    uint32_t (*show)(const struct walk *t, size_t first, size_t n);
    bool (*one)(weir_filter *w, const struct weir_key *key);
} modes[] = {
    [ASKED] = {show_ASKED, one_ASKED},    [ASKED_TIMED] = {show_ASKED_TIMED, one_ASKED_TIMED},
    [RECENT] = {show_RECENT, one_RECENT}, [DEEP] = {show_DEEP, one_DEEP},
    [TIMED] = {show_TIMED, one_TIMED},    [ASKED_TTL] = {show_ASKED_TTL, one_ASKED_TTL},
    [TTL] = {show_TTL, one_TTL}};

/* ---- batches ---- */

static void write_verdicts(const struct picked *p, size_t first, size_t n, uint32_t seen)
{
    if (p->at || n < BLOCK) {
        for (size_t i = 0; i < n; i++)
            p->verdicts[nth(p->at, first + i)] = seen >> i & 1;
        return;
    }
    for (uint32_t i = 0; i < BLOCK; i += 8) { /* of eight copies of a byte, bit j of the j-th */
        uint64_t bits = (seen >> i & 255) * (UINT64_MAX / 255) & UINT64_C(0x8040201008040201);

        bits_store64(p->verdicts + first + i,
                     (bits + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_MAX / 255);
    }
}

static void walk(weir_filter *w, const struct picked *p, enum mode m)
{
    const size_t n = p->n;
    struct ring ring;
    struct batch_ctx b;
    const struct walk t = {w, w->cells, w->shape.cells / LINE_BYTES, *p, &b, &ring};
    uint64_t seen = 0;

    share(w, &b, m, n);
    const bool ranked = has_depth(m) && b.ranked;
    for (size_t i = 0; has_depth(m) && !ranked && i < RING; i++)
        ring.depth[i] = b.depth;
    for (size_t i = 0; i < AHEAD; i += BLOCK)
        find_block(&t, i, ranked);
    for (size_t i = 0; i < n && i < AHEAD; i++)
        cells_fetch(ring.line[i]);
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t some = n - first < BLOCK ? n - first : BLOCK;

        find_block(&t, first + AHEAD, ranked);
        uint32_t found = modes[m].show(&t, first, some);
        write_verdicts(p, first, some, found);
        seen += (uint32_t)__builtin_popcount(found);
    }
    if (!observes(m))
        return;
    w->observed += n;
    w->seen += seen;
}

/* Up to where a quarter of a window ends. */
static void observe_batch(weir_filter *w, const struct picked *whole)
{
    const enum mode m = mode_of(w, false);
    struct picked p = *whole;

    for (size_t left = p.n; left > 0; left -= p.n) {
        p.n = recent_until_turn(w, left);
        p.next_n = p.n == left ? whole->next_n : 0;
        walk(w, &p, m);
        recent_turn(w, p.n);
        if (p.at) {
            p.at += p.n;
        } else {
            p.keys += p.n;
            p.verdicts += p.n;
        }
    }
}

static void ask_batch(const weir_filter *w, const struct weir_key *keys, size_t n,
                      uint8_t *verdicts)
{
    walk((weir_filter *)(uintptr_t)w, &(struct picked){.keys = keys, .verdicts = verdicts, .n = n},
         mode_of(w, true));
}

static bool observe(weir_filter *w, const struct weir_key *key)
{
    const enum mode m = mode_of(w, false);
    bool found = modes[m].one(w, key);

    if (m == TIMED)
        recent_turn(w, 1);
    return found;
}

static bool ask(const weir_filter *w, const struct weir_key *key)
{
    return modes[mode_of(w, true)].one((weir_filter *)(uintptr_t)w, key);
}

static bool locate(const weir_filter *w, const struct weir_key *keys, size_t n, uint64_t *slot_refs)
{
    const uint64_t lines = w->shape.cells / LINE_BYTES;

    if (mode_of(w, false) != RECENT || lines > UINT32_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        slot_refs[i] = place(keys[i], 0, lines) << 32 | line_print(keys[i].hi);
    return true;
}

static void prefetch_key(const weir_filter *w, struct weir_key key)
{
    cells_fetch(slot_ref_of(w->cells, w->shape.cells / LINE_BYTES, key).line);
}

const struct recent_paths WEIR_PATHS = {observe,   observe_batch, ask,
                                        ask_batch, prefetch_key,  locate};
