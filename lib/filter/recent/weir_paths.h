/* weir_paths.h - observe and ask of the weir filter, one key and many. Included by weir_plain.c,
 * weir_avx2.c and weir_avx512.c, which name the result WEIR_PATHS.
 *
 * Many keys go in blocks. While those of one block are shown, the lines of later ones are
 * fetched. In a block, keys whose lines are of one width are shown together: in a filter with
 * room to spare lines are of several, and a jump by width from key to key would be guessed
 * wrong. Keys of one line keep their order, and lines know nothing of each other: so it
 * comes to the same as one key after the other. */
#include "filter/recent/weir_lines.h"

static inline enum manner manner_of(const weir *w, bool asking)
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
#define BURST 8  /* of them that are fetched together; likewise */
#define RING 128 /* keys: a multiple of BLOCK, not less than both together */

/* Is it worth it to compile apart what lines at the floor need, and batches without gaps? Where
 * vectors do the rest. */
#ifdef __AVX2__
#define APART true
#else
#define APART false
#endif

/* Keys on their way. */
struct ring {
    uint8_t *line[RING];
#ifdef LINE_ANY_WIDTH
    uint64_t print[RING]; /* as line_forms() has it */
#else
    uint32_t print[RING];
#endif
    uint32_t depth[RING];
};

/* What a loop over keys would otherwise read again for each. */
struct walk {
    weir *w;
    uint8_t *cells;
    uint64_t lines;
    struct picked p;
    bool located; /* the keys' spots are known */
    struct common *b;
    struct ring *ring;
    uint32_t (*hits)[LINE_SLOTS_MOST + 1];
};

/* The i-th of a batch, or of those picked from it. */
INLINED size_t nth(const uint16_t *at, size_t i)
{
    return at ? at[i] : i;
}

INLINED struct spot spot_in(const struct walk *t, uint8_t *cells, uint64_t lines, size_t key)
{
    return t->located ? spot_located(cells, t->p.spots[key])
                      : spot_of(cells, lines, t->p.keys[key]);
}

#ifdef LINE_ANY_WIDTH
/* The upper half of a * b, eight times; b is less than 2^32. */
INLINED __m512i scale_eight(__m512i a, uint64_t b)
{
    __m512i factor = _mm512_set1_epi64((long long)b);
    __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(a, factor), 32);
    __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), factor);

    return _mm512_srli_epi64(_mm512_add_epi64(low, high), 32);
}

/* One word out of three, of eight keys. */
INLINED __m512i nth_words(const __m512i keys[3], const long long n)
{
    const __m512i first = _mm512_set_epi64(0, 0, n + 15, n + 12, n + 9, n + 6, n + 3, n);
    const __m512i last = _mm512_set_epi64(n + 13, n + 10, n > 0 ? n + 7 : 5, 4, 3, 2, 1, 0);

    _Static_assert(sizeof(struct weir_key) == 24, "a key is three words");
    return _mm512_permutex2var_epi64(_mm512_permutex2var_epi64(keys[0], first, keys[1]), last,
                                     keys[2]);
}

/* Find the spots of eight keys of a batch, from the i-th on. */
INLINED void find_eight(const struct walk *t, size_t i, const enum manner m)
{
    const size_t at = i % RING;
    __m512i keys[3], lines, prints;

    if (t->located) {
        __m512i spots = _mm512_loadu_si512(t->p.spots + i);

        lines = _mm512_srli_epi64(spots, 32);
        prints = _mm512_and_si512(spots, _mm512_set1_epi64(UINT32_MAX));
    } else {
        for (uint32_t j = 0; j < 3; j++)
            keys[j] = _mm512_loadu_si512((const uint8_t *)(t->p.keys + i) + 64 * j);
        lines = scale_eight(nth_words(keys, 0), t->lines);
        prints = _mm512_add_epi64(scale_eight(nth_words(keys, 1), UINT64_C(255) << 24),
                                  _mm512_set1_epi64(1 << 24));
    }
    _mm512_storeu_si512(t->ring->line + at,
                        _mm512_add_epi64(_mm512_slli_epi64(lines, 6),
                                         _mm512_set1_epi64((long long)(uintptr_t)t->cells)));
    _mm512_storeu_si512(t->ring->print + at, line_forms_of(prints));
    if (m == RANKED)
        _mm256_storeu_si256((__m256i *)(t->ring->depth + at),
                            _mm512_cvtepi64_epi32(nth_words(keys, 2)));
}
#endif

/* Find the spots of keys i to end - 1, which lie in one block; amid a batch of which none is left
 * out. Their lines are fetched later, by fetch_burst(). */
INLINED void find_spots(const struct walk *t, size_t i, size_t end, const enum manner m,
                        const bool amid)
{
    const size_t begin = i;

    /* Keys are read in blocks, too rarely for the processor to look ahead itself. */
    if (amid && end + BLOCK <= t->p.n)
#pragma GCC unroll 16
        for (size_t j = 0; j < BLOCK * sizeof(struct weir_key); j += LINE_BYTES)
            cells_fetch((const uint8_t *)(t->p.keys + end) + j);
#ifdef LINE_ANY_WIDTH
    if (amid && t->lines <= UINT32_MAX)
        for (; i < end; i += 8)
            find_eight(t, i, m);
#endif
    for (size_t at = i % RING; i < end; i++, at++) {
        size_t key = amid ? i : nth(t->p.at, i);
        struct spot s = spot_in(t, t->cells, t->lines, key);

        t->ring->line[at] = s.line;
#ifdef LINE_ANY_WIDTH
        t->ring->print[at] = line_forms(s.print);
#else
        t->ring->print[at] = s.print;
#endif
        if (m == RANKED)
            t->ring->depth[at] = t->p.keys[key].importance;
    }
    if (m == RANKED && begin < end)
        find_depths(t->w, t->ring->depth + begin % RING, begin, end - begin, t->b);
}

/* The same of the block that is AHEAD of the one whose keys are to be shown. After the last key
 * come lines of the next filter: so memory is kept busy between the two. */
INLINED void find_block(const struct walk *t, size_t first, const enum manner m)
{
    const size_t n = t->p.n, end = first + BLOCK;
    const weir *next = t->p.next;

    find_spots(t, first, end < n ? end : n, m, false);
    for (size_t i = first > n ? first : n; i < end; i++)
        t->ring->line[i % RING] =
            i - n < t->p.next_n
                ? spot_in(t, next->cells, next->shape.cells / LINE_BYTES, t->p.next_at[i - n]).line
                : t->cells;
}

/* A line that an earlier key of its block has cut: rare. */
#define VISITOR(m)                                                                                 \
    static __attribute__((noinline)) bool visit_##m(weir *w, struct spot s, struct common *b)      \
    {                                                                                              \
        return visit(w, s, m, b);                                                                  \
    }
VISITOR(RECENT)
VISITOR(DEEP)
VISITOR(RANKED)
VISITOR(TIMED)
VISITOR(TIMED_ONCE)

INLINED bool visit_cut(weir *w, struct spot s, const enum manner m, struct common *b)
{
    return m == RECENT   ? visit_RECENT(w, s, b)
           : m == DEEP   ? visit_DEEP(w, s, b)
           : m == RANKED ? visit_RANKED(w, s, b)
           : m == TIMED  ? visit_TIMED(w, s, b)
                         : visit_TIMED_ONCE(w, s, b);
}

/* A block's first key, in the ring. */
struct block {
    uint8_t *const *line;
#ifdef LINE_ANY_WIDTH
    const uint64_t *print;
#else
    const uint32_t *print;
#endif
    const uint32_t *depth;
};

INLINED struct block block_at(const struct ring *ring, size_t first)
{
    return (struct block){ring->line + first % RING, ring->print + first % RING,
                          ring->depth + first % RING};
}

INLINED struct spot nth_spot(const struct block *k, uint32_t i, const enum manner m)
{
    return (struct spot){k->line[i], (uint32_t)k->print[i], m == RANKED ? k->depth[i] : 0};
}

/* Fetch some lines together. One at a time, amid the work on others, each would be waited for while
 * the processor looks up where its page is; more would be waited for by those that come after. */
INLINED void fetch_burst(uint8_t *const *line)
{
#pragma GCC unroll 8
    for (uint32_t i = 0; i < BURST; i++)
        cells_fetch(line[i]);
}

/* Keys of a group that were put off. */
struct late {
    uint32_t n;
    uint32_t at[BLOCK]; /* in their block */
};

INLINED void make_up_all(const struct walk *t, const struct block *k, struct late *late,
                         const enum manner m)
{
    for (uint32_t i = 0; i < late->n; i++)
        make_up(t->w, nth_spot(k, late->at[i], m), m, t->b);
    late->n = 0;
}

/* Show one key of a group. If its line is not of their width any more, an earlier key of
 * the group is about to have it cut, or has. */
INLINED bool show_one(const struct walk *t, const struct block *k, uint32_t i, struct late *late,
                      const uint32_t index, struct lines of, const enum manner m)
{
    struct spot s = nth_spot(k, i, m);

    if (m != ASKED && m != ASKED_TIMED && __builtin_expect(line_index(s.line) != index, false)) {
        if (puts_off(m))
            make_up_all(t, k, late, m);
        return visit_cut(t->w, s, m, t->b);
    }
    uint64_t found = find(s, index, of, m, t->b);
    bool shown = show(t->w, s, index, of, found, m, t->b);
    if (puts_off(m) && !of.at_floor) {
        late->at[late->n] = i;
        late->n += !shown;
    }
    return found;
}

#ifndef LINE_ANY_WIDTH
/* Show the keys of a group, whose lines are of one width; `first` is the first key of their
 * block. For each of them another line is fetched. */
INLINED void show_group(const struct walk *t, size_t first, uint64_t group, size_t ahead,
                        const uint32_t index, const bool at_floor, const enum manner m,
                        const bool amid)
{
    const struct block k = block_at(t->ring, first);
    const struct lines of = lines_of(t->b, index, at_floor);
    uint8_t *verdicts = t->p.verdicts + (amid ? first : 0);
    struct late late;

    __asm__("" : "+r"(verdicts)); /* else it would be worked out for every key */
    late.n = 0;
    for (; group; group &= group - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(group);
        bool found = show_one(t, &k, i, &late, index, of, m);

        if (ahead++ % BURST == 0)
            fetch_burst(t->ring->line + (ahead - 1) % RING);
        verdicts[amid ? i : nth(t->p.at, first + i)] = found;
        if (m == DEEP)
            t->hits[t->b->tried][t->b->at] += t->b->counts;
    }
    if (puts_off(m) && !at_floor)
        make_up_all(t, &k, &late, m);
}

/* The widths of a block's lines, a byte each. In words and not in an array: bytes that were stored
 * one by one are slow to be read together, and which keys make a group waits for them. */
struct widths {
    uint64_t word[BLOCK / 8];
};

INLINED struct widths widths_of(uint8_t *const *lines, size_t n)
{
    struct widths all = {{0}};

#pragma GCC unroll 32
    for (size_t i = 0; i < BLOCK; i++)
        all.word[i / 8] |= (uint64_t)line_index(lines[i < n ? i : 0]) << i % 8 * 8;
    return all;
}

#ifdef __AVX2__
INLINED uint64_t of_width(const struct widths *all, uint8_t index)
{
    __m256i bytes = _mm256_set_epi64x((int64_t)all->word[3], (int64_t)all->word[2],
                                      (int64_t)all->word[1], (int64_t)all->word[0]);

    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8((char)index)));
}
#else
/* Which bytes of a word are equal to one: bit i for byte i. */
INLINED uint64_t equal_bytes(uint64_t word, uint8_t value)
{
    const uint64_t ones = UINT64_MAX / 255, low = 127 * ones;
    uint64_t unlike = word ^ value * ones;
    uint64_t equal = ~(((unlike & low) + low) | unlike) & ~low; /* in each byte's highest bit */

    return (equal >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

INLINED uint64_t of_width(const struct widths *all, uint8_t index)
{
    uint64_t group = 0;

#pragma GCC unroll 4
    for (size_t i = 0; i < BLOCK / 8; i++)
        group |= equal_bytes(all->word[i], index) << 8 * i;
    return group;
}
#endif

/* The n keys of a block, whose lines are here. */
INLINED void show_block(const struct walk *t, size_t first, size_t n, const enum manner m,
                        const bool amid)
{
    uint8_t *const *lines = t->ring->line + first % RING;
    const struct widths widths = widths_of(lines, n);
    uint64_t left = UINT64_MAX >> (64 - n);
    size_t ahead = first + AHEAD;

    while (left) {
        uint32_t index = line_index(lines[__builtin_ctzll(left)]);
        uint64_t group = left & of_width(&widths, (uint8_t)index);

        group |= left & -left; /* a view's file may have been written to meanwhile */
        left &= ~group;
#define SHOW(i, at_floor) show_group(t, first, group, ahead, i, at_floor, m, amid);
#define SHOW_AT_FLOOR(i) SHOW(i, true)
#define SHOW_ABOVE(i) SHOW(i, false)
#define SHOW_EITHER(i) SHOW(i, at_floor)
        const bool at_floor = index == t->b->floor || m == ASKED || m == ASKED_TIMED;
        if (!APART)
            LINE_BY_WIDTH(index, SHOW_EITHER)
        else if (at_floor)
            LINE_BY_WIDTH(index, SHOW_AT_FLOOR)
        else
            LINE_BY_WIDTH(index, SHOW_ABOVE)
#undef SHOW_EITHER
#undef SHOW_ABOVE
#undef SHOW_AT_FLOOR
#undef SHOW
        ahead += (size_t)__builtin_popcountll(group);
    }
}

#else
#include "filter/recent/weir_steps.h"
#endif

/* Of a whole batch, or some of it. */
INLINED void walk(weir *w, const struct picked *p, const enum manner m, const bool located)
{
    const size_t n = p->n;
    uint32_t hits[2][LINE_SLOTS_MOST + 1] = {{0}};
    struct ring ring;
    struct common b;
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
    w->shown += n;
    w->seen += seen;
    if (m == DEEP && is_adaptive(&w->config))
        weir_count_hits(w, hits);
}

/* ---- one key ---- */

INLINED bool walk_one(weir *w, const struct weir_key *key, const enum manner m)
{
    struct common b;

    share(w, &b, m, 1);
    struct spot s = spot_of(w->cells, w->shape.cells / LINE_BYTES, *key);
    cells_fetch(s.line);
    if (m == RANKED) {
        learn(w, key->importance, 0, &b);
        s.depth = depth_of(w, key->importance, &b);
    }
    bool found = visit(w, s, m, &b);
    if (m == ASKED || m == ASKED_TIMED)
        return found;
    w->shown++;
    w->seen += found;
    if (m == DEEP && b.counts && is_adaptive(&w->config))
        weir_count_hit(w, b.tried, b.at, 1);
    return found;
}

#define WALKER(m)                                                                                  \
    static void walk_##m(weir *w, const struct picked *p)                                          \
    {                                                                                              \
        walk(w, p, m, false);                                                                      \
    }                                                                                              \
    static bool one_##m(weir *w, const struct weir_key *key)                                       \
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

static void walk_located(weir *w, const struct picked *p)
{
    walk(w, p, RECENT, true);
}

static const struct {
    void (*many)(weir *w, const struct picked *p);
    bool (*one)(weir *w, const struct weir_key *key);
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
static void observe_batch(weir *w, const struct picked *whole)
{
    const enum manner m = manner_of(w, false);
    struct picked p = *whole;

    for (size_t left = p.n; left > 0; left -= p.n) {
        p.n = weir_until_turn(w, left);
        p.next_n = p.n == left ? whole->next_n : 0;
        if (p.spots)
            walk_located(w, &p);
        else
            walkers[m].many(w, &p);
        weir_turn(w, p.n);
        if (p.at) {
            p.at += p.n;
        } else {
            p.keys += p.n;
            p.verdicts += p.n;
        }
    }
}

static void ask_batch(const weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    walkers[manner_of(w, true)].many((weir *)(uintptr_t)w,
                                     &(struct picked){.keys = keys, .verdicts = verdicts, .n = n});
}

static bool observe(weir *w, const struct weir_key *key)
{
    const enum manner m = manner_of(w, false);
    bool found = walkers[m].one(w, key);

    if (m != RECENT && m != RANKED) /* these have no turns */
        weir_turn(w, 1);
    return found;
}

static bool ask(const weir *w, const struct weir_key *key)
{
    return walkers[manner_of(w, true)].one((weir *)(uintptr_t)w, key);
}

static bool locate(const weir *w, const struct weir_key *keys, size_t n, uint64_t *spots)
{
    const uint64_t lines = w->shape.cells / LINE_BYTES;

    if (manner_of(w, false) != RECENT || lines > UINT32_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        spots[i] = place(keys[i], 0, lines) << 32 | line_print(keys[i].hi);
    return true;
}

static void touch_key(const weir *w, struct weir_key key)
{
    cells_fetch(spot_of(w->cells, w->shape.cells / LINE_BYTES, key).line);
}

const struct weir_paths WEIR_PATHS = {observe, observe_batch, ask, ask_batch, touch_key, locate};
