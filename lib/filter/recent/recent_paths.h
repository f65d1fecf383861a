/* recent_paths.h - observe and ask of the filter recent, one key and many. Included by
 * recent_plain.c, recent_avx2.c and recent_avx512.c, which name the result WEIR_PATHS.
 *
 * Many keys go in blocks. While those of one block are shown, the lines of later ones are
 * fetched. In which order the keys of a block are shown is for recent_groups.h or, with AVX-512,
 * recent_steps.h to say: keys of one line keep theirs, and lines know nothing of each other. So it
 * comes to the same as one key after the other. */
#include "filter/recent/recent_lines.h"

static inline enum mode mode_of(const weir_filter *w, bool asking)
{
    const struct config *c = &w->config;

    if (asking)
        return has_window(c) ? ASKED_TIMED : ASKED;
    return has_window(c)                           ? (c->refresh ? TIMED_ONCE : TIMED)
           : c->importance.mode != IMPORTANCE_NONE ? RANKED
           : c->enter                              ? DEEP
                                                   : RECENT;
}

/* ---- many keys ---- */

#define AHEAD 64 /* keys whose lines are on their way; measured by bench/speed */
#define NEAR 12  /* of those, from the second cache to the first; measured likewise */
#define RING 128 /* keys: a multiple of BLOCK, not less than both together */

/* Is it worth it to compile apart what lines at the floor need, and batches without gaps? Where
 * vectors do the rest. */
#ifdef __AVX2__
#define APART true
#else
#define APART false
#endif

/* A print as the stages after it want it. */
#ifdef LINE_ANY_WIDTH
typedef uint64_t kept_print;
#define KEPT_PRINT(print) ((uint64_t)(print) << 32)
#define GIVEN_PRINT(kept) ((uint32_t)((kept) >> 32))
#else
typedef uint32_t kept_print;
#define KEPT_PRINT(print) (print)
#define GIVEN_PRINT(kept) (kept)
#endif

/* Keys on their way. */
struct ring {
    uint8_t *line[RING + NEAR]; /* after the last come the first ones again */
    kept_print print[RING];
    uint32_t depth[RING];
};

/* What a loop over keys would otherwise read again for each. */
struct walk {
    weir_filter *w;
    uint8_t *cells;
    uint64_t lines;
    struct picked p;
    bool located; /* the keys' slot_refs are known */
    struct batch_ctx *b;
    struct ring *ring;
    uint32_t (*hits)[LINE_SLOTS_MOST + 1];
};

/* The i-th of a batch, or of those picked from it. */
INLINED size_t nth(const uint16_t *at, size_t i)
{
    return at ? at[i] : i;
}

INLINED struct slot_ref spot_in(const struct walk *t, uint8_t *cells, uint64_t lines, size_t key)
{
    return t->located ? slot_ref_located(cells, t->p.slot_refs[key])
                      : slot_ref_of(cells, lines, t->p.keys[key]);
}

#ifdef LINE_ANY_WIDTH
#include "filter/recent/slot_refs.h"
#endif

/* The first lines of the ring are there a second time. */
INLINED void repeat_first(struct ring *ring, size_t i)
{
    if (i % RING == 0)
        memcpy(ring->line + RING, ring->line, NEAR * sizeof *ring->line);
}

/* Find the slot_refs of keys i to end - 1, which lie in one block; amid a batch of which none is
 * left out. Their lines are fetched later, by fetch_burst(). */
INLINED void find_spots(const struct walk *t, size_t i, size_t end, const enum mode m,
                        const bool amid)
{
    const size_t begin = i;

    /* Keys are read in blocks, too rarely for the processor to look ahead itself. */
    if (amid && end + BLOCK <= t->p.n)
#pragma GCC unroll 16
        for (size_t j = 0; j < BLOCK * sizeof(struct weir_key); j += LINE_BYTES)
            cells_fetch_now((const uint8_t *)(t->p.keys + end) + j);
#ifdef LINE_ANY_WIDTH
    if (amid && t->lines <= UINT32_MAX) {
        find_together(t, i, m);
        i = end;
    }
#endif
    for (size_t at = i % RING; i < end; i++, at++) {
        size_t key = amid ? i : nth(t->p.at, i);
        struct slot_ref s = spot_in(t, t->cells, t->lines, key);

        t->ring->line[at] = s.line;
        t->ring->print[at] = KEPT_PRINT(s.print);
        if (m == RANKED)
            t->ring->depth[at] = t->p.keys[key].importance;
    }
    repeat_first(t->ring, begin);
    if (m == RANKED && begin < end)
        find_depths(t->w, t->ring->depth + begin % RING, begin, end - begin, t->b);
}

/* The same of the block that is AHEAD of the one whose keys are to be shown. After the last key
 * come lines of the next filter: so memory is kept busy between the two. */
INLINED void find_block(const struct walk *t, size_t first, const enum mode m)
{
    const size_t n = t->p.n, end = first + BLOCK;
    const weir_filter *next = t->p.next;

    find_spots(t, first, end < n ? end : n, m, false);
    for (size_t i = first > n ? first : n; i < end; i++)
        t->ring->line[i % RING] =
            i - n < t->p.next_n
                ? spot_in(t, next->cells, next->shape.cells / LINE_BYTES, t->p.next_at[i - n]).line
                : t->cells;
    repeat_first(t->ring, first);
}

/* A line that an earlier key of its block has cut: rare. */
#define VISITOR(m)                                                                                 \
    static __attribute__((noinline)) bool visit_##m(weir_filter *w, struct slot_ref s,             \
                                                    struct batch_ctx *b)                           \
    {                                                                                              \
        return visit(w, s, m, b);                                                                  \
    }
VISITOR(RECENT)
VISITOR(DEEP)
VISITOR(RANKED)
VISITOR(TIMED)
VISITOR(TIMED_ONCE)

INLINED bool visit_cut(weir_filter *w, struct slot_ref s, const enum mode m, struct batch_ctx *b)
{
    return m == RECENT   ? visit_RECENT(w, s, b)
           : m == DEEP   ? visit_DEEP(w, s, b)
           : m == RANKED ? visit_RANKED(w, s, b)
           : m == TIMED  ? visit_TIMED(w, s, b)
                         : visit_TIMED_ONCE(w, s, b);
}

/* Count where a key was found. */
INLINED void count_found(const struct walk *t, struct slot_ref s, struct lines of, uint64_t found)
{
    t->hits[tries(t->w, s)][counted_slot(found)] += of.at_floor;
}

INLINED bool visit_counted(const struct walk *t, struct slot_ref s, const enum mode m)
{
    bool found =
        m == ASKED || m == ASKED_TIMED ? visit(t->w, s, m, t->b) : visit_cut(t->w, s, m, t->b);

    if (m == DEEP)
        t->hits[t->b->tried][t->b->at] += t->b->counts;
    return found;
}

/* A block's first key, in the ring. */
struct block {
    uint8_t *const *line;
    const kept_print *print;
    const uint32_t *depth;
};

INLINED struct block block_at(const struct ring *ring, size_t first)
{
    return (struct block){ring->line + first % RING, ring->print + first % RING,
                          ring->depth + first % RING};
}

INLINED struct slot_ref nth_slot_ref(const struct block *k, uint32_t i, const enum mode m)
{
    return (struct slot_ref){k->line[i], GIVEN_PRINT(k->print[i]), m == RANKED ? k->depth[i] : 0};
}

#ifdef LINE_ANY_WIDTH
#include "filter/recent/recent_steps.h"
#else
#include "filter/recent/recent_groups.h"
#endif

/* Of a whole batch, or some of it. */
INLINED void walk(weir_filter *w, const struct picked *p, const enum mode m, const bool located)
{
    const size_t n = p->n;
    uint32_t hits[2][LINE_SLOTS_MOST + 1] = {{0}};
    struct ring ring;
    struct batch_ctx b;
    const struct walk t = {w, w->cells, w->shape.cells / LINE_BYTES, *p, located, &b, &ring, hits};
    size_t first = 0;

    share(w, &b, m, n);
    for (size_t i = 0; i < AHEAD; i += BLOCK)
        find_block(&t, i, m);
    for (size_t i = 0; i < n && i < AHEAD; i++)
        cells_fetch(ring.line[i]);
    if (APART && !p->at)
        for (; first + AHEAD + BLOCK <= n; first += BLOCK) {
            find_spots(&t, first + AHEAD, first + AHEAD + BLOCK, m, true);
            show_block(&t, first, BLOCK, m, true);
        }
    for (; first < n; first += BLOCK) {
        find_block(&t, first + AHEAD, m);
        show_block(&t, first, n - first < BLOCK ? n - first : BLOCK, m, false);
    }
    if (m == ASKED || m == ASKED_TIMED)
        return;
    uint64_t seen = 0;
    for (size_t i = 0; i < n; i++)
        seen += p->verdicts[nth(p->at, i)];
    w->observed += n;
    w->seen += seen;
    if (m == DEEP && is_adaptive(&w->config))
        recent_count_hits(w, hits);
}

/* ---- one key ---- */

INLINED bool walk_one(weir_filter *w, const struct weir_key *key, const enum mode m)
{
    struct batch_ctx b;

    share(w, &b, m, 1);
    struct slot_ref s = slot_ref_of(w->cells, w->shape.cells / LINE_BYTES, *key);
    cells_fetch_now(s.line);
    if (m == RANKED) {
        learn(w, key->importance, 0, &b);
        s.depth = depth_of(w, key->importance, &b);
    }
    bool found = visit(w, s, m, &b);
    if (m == ASKED || m == ASKED_TIMED)
        return found;
    w->observed++;
    w->seen += found;
    if (m == DEEP && b.counts && is_adaptive(&w->config))
        recent_count_hit(w, b.tried, b.at, 1);
    return found;
}

#define WALKER(m)                                                                                  \
    static void walk_##m(weir_filter *w, const struct picked *p)                                   \
    {                                                                                              \
        walk(w, p, m, false);                                                                      \
    }                                                                                              \
    static bool one_##m(weir_filter *w, const struct weir_key *key)                                \
    {                                                                                              \
        return walk_one(w, key, m);                                                                \
    }
WALKER(ASKED)
WALKER(ASKED_TIMED)
WALKER(RECENT)
WALKER(DEEP)
WALKER(RANKED)
WALKER(TIMED)
WALKER(TIMED_ONCE)

static void walk_located(weir_filter *w, const struct picked *p)
{
    walk(w, p, RECENT, true);
}

static const struct {
    void (*many)(weir_filter *w, const struct picked *p);
    bool (*one)(weir_filter *w, const struct weir_key *key);
} walkers[] = {
    [ASKED] = {walk_ASKED, one_ASKED},
    [ASKED_TIMED] = {walk_ASKED_TIMED, one_ASKED_TIMED},
    [RECENT] = {walk_RECENT, one_RECENT},
    [DEEP] = {walk_DEEP, one_DEEP},
    [RANKED] = {walk_RANKED, one_RANKED},
    [TIMED] = {walk_TIMED, one_TIMED},
    [TIMED_ONCE] = {walk_TIMED_ONCE, one_TIMED_ONCE},
};

/* Up to where a quarter of a window ends or the depth is chosen again. */
static void observe_batch(weir_filter *w, const struct picked *whole)
{
    const enum mode m = mode_of(w, false);
    struct picked p = *whole;

    for (size_t left = p.n; left > 0; left -= p.n) {
        p.n = recent_until_turn(w, left);
        p.next_n = p.n == left ? whole->next_n : 0;
        if (p.slot_refs)
            walk_located(w, &p);
        else
            walkers[m].many(w, &p);
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
    walkers[mode_of(w, true)].many((weir_filter *)(uintptr_t)w,
                                   &(struct picked){.keys = keys, .verdicts = verdicts, .n = n});
}

static bool observe(weir_filter *w, const struct weir_key *key)
{
    const enum mode m = mode_of(w, false);
    bool found = walkers[m].one(w, key);

    if (m != RECENT && m != RANKED) /* these have no turns */
        recent_turn(w, 1);
    return found;
}

static bool ask(const weir_filter *w, const struct weir_key *key)
{
    return walkers[mode_of(w, true)].one((weir_filter *)(uintptr_t)w, key);
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

static void touch_key(const weir_filter *w, struct weir_key key)
{
    cells_fetch(slot_ref_of(w->cells, w->shape.cells / LINE_BYTES, key).line);
}

const struct recent_paths WEIR_PATHS = {observe, observe_batch, ask, ask_batch, touch_key, locate};
