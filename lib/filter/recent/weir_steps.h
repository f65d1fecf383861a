/* weir_steps.h - many keys of the weir filter, sixteen at a time; included by weir_paths.h where it
 * is compiled for AVX-512.
 *
 * Lines of all widths go one way (base/line_avx512.h): no branch on the width is guessed wrong.
 * Sixteen keys go it together, in three stages:
 *
 *   look_for   compare all slots of each key's line with its print
 *   decide     work out, for eight keys in one register, which bits of their lines move
 *   move_all   move them
 *
 * Between the first stage and the last a line must not change. So a key is put off to the end of
 * its step if an earlier one of the sixteen has its line, and if its line is full and is to be cut.
 * Keys of one line keep their order. */

#include "filter/recent/weir_decide.h"

/* Which of sixteen lines came before, among them: bit i for line i. Mostly none. */
INLINED uint32_t lines_again(uint8_t *const *line)
{
    __m256i low = _mm512_cvtepi64_epi32(_mm512_srli_epi64(_mm512_loadu_si512(line), 6));
    __m256i high = _mm512_cvtepi64_epi32(_mm512_srli_epi64(_mm512_loadu_si512(line + 8), 6));
    __m512i before =
        _mm512_conflict_epi32(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));

    return _mm512_test_epi32_mask(before, before);
}

/* Lines that come later are fetched one by one, in all three stages: a processor has only so many
 * on their way, and waits if it is to fetch more. */

/* ---- looking for them ---- */

INLINED void look_for(const struct block *k, struct step *step, const struct common *b,
                      uint8_t *const *ahead, const enum manner m)
{
#pragma GCC unroll 2
    for (uint32_t i = 0; i < STEP; i++) {
        const uint8_t *line = k->line[i];
        uint64_t tail = bits_load64(line + 56), index = tail >> 56;

        if (!shows(m))
            index = index < LINE_WIDTHS ? index : LINE_WIDTHS - 1; /* a damaged view has any */
        const struct line_place *t = &line_place[index];
        step->tail[i] = tail;
        line_store_equal((struct line_zeros){step->even + i, step->odd + i}, line, t, k->print[i]);
        if (!shows(m) || i % 2 == 0)
            cells_fetch(ahead[i]);
        if (m == DEEP || m == RANKED)
            line_store_empty((struct line_zeros){step->even_empty + i, step->odd_empty + i}, line,
                             t);
        else if (m == TIMED || m == TIMED_ONCE)
            step->last[i] = bits_load64(line + b->any.last_byte[index]);
    }
    for (uint32_t i = 0; m == RECENT && !b->any.edge_in_tail && i < STEP; i++) /* rare */
        step->last[i] = bits_load64(k->line[i] + b->any.last_byte[line_index(k->line[i])]);
}

/* ---- moving them ---- */

INLINED void move_all(const struct block *k, const struct step *step, uint8_t *const *ahead,
                      const enum manner m)
{
#pragma GCC unroll 2
    for (uint32_t i = 0; i < STEP; i++) {
        uint8_t *line = k->line[i];

        if (i % 4 == 1)
            cells_fetch(ahead[i]);
        __m512i old = line_register(line), after = line_beyond_at(&step->after[i]);
        __m512i bits = line_word_at(&step->bits[i]), prints = line_word_at(&k->print[i]);

        if (is_timed(m))
            _mm512_storeu_si512(step->out[i],
                                line_renewed(old, bits, LINE_ROOM_WINDOW, prints,
                                             line_beyond_at(&step->live[i]), after, &step->end[i]));
        else if (m == RECENT)
            _mm512_storeu_si512(line, line_either(after, old, line_shifted(old, bits, prints)));
        else
            _mm512_storeu_si512(line, line_moved(old, bits, prints, &step->next[i],
                                                 line_beyond_at(&step->begin[i]), after));
    }
}

/* Show the keys that were put off. */
static __attribute__((noinline)) void show_late(const struct walk *t, const struct block *k,
                                                const struct deferred *late, uint32_t *seen,
                                                const enum manner m)
{
    for (uint32_t i = 0; i < late->n; i++) {
        uint32_t at = (uint32_t)late->at[i] % UNSEEN, bit = UINT32_C(1) << at;
        const struct spot s = nth_spot(k, at, m);

        if (late->at[i] < UNSEEN) {
            make_up(t->w, s, m == TIMED_ONCE ? TIMED : m, t->b);
            continue;
        }
        bool found = visit_cut(t->w, s, m, t->b);
        *seen = found ? *seen | bit : *seen & ~bit;
        if (m == DEEP)
            t->hits[t->b->tried][t->b->at] += t->b->counts;
    }
}

/* Show sixteen keys, the first of which has this number in its block, and fetch as many lines. */
INLINED uint32_t show_step(const struct walk *t, const struct block *whole, uint32_t first,
                           uint8_t *const *ahead, const enum manner m)
{
    const struct block k = {whole->line + first, whole->print + first, whole->depth + first};
    struct deferred late;
    struct step step;

    late.n = 0;
    step.seen = step.again = step.counts = step.above = step.cut = 0;
    look_for(&k, &step, t->b, ahead, m);
    if (shows(m))
        step.again = lines_again(k.line);
    for (uint32_t i = 0; i < STEP; i += 8) {
        for (uint32_t j = 3; shows(m) && j < 8; j += 4)
            cells_fetch(ahead[i + j]);
        decide(t, &k, &step, i, &late, m);
    }
    t->b->all_at_floor &= !step.above;
    t->b->all_widest &= !step.cut;
    if (!shows(m))
        return step.seen;
    move_all(&k, &step, ahead, m);
    for (uint32_t i = 0; m == DEEP && i < STEP; i++)
        t->hits[step.slot[i] / TRIES][step.slot[i] % TRIES] += step.counts >> i & 1;
    if (late.n)
        show_late(t, &k, &late, &step.seen, m);
    return step.seen;
}

/* The keys of a block, whose lines are here. For each of them another line is fetched. */
INLINED uint32_t show_whole(const struct walk *t, size_t first, const enum manner m)
{
    const struct block k = block_at(t->ring, first);
    uint32_t seen = 0;

    t->b->all_at_floor = t->b->all_widest = true;
#pragma GCC unroll 1
    for (uint32_t i = 0; i < BLOCK; i += STEP)
        seen |= show_step(t, &k, i, t->ring->line + (first + AHEAD + i) % RING, m) << i;
    return seen;
}

/* ---- lines of one width ---- */

/* In a filter that is full all lines are at the floor, in one that is not nearly all have the
 * widest slots. Then it is faster to go one way for each key, compiled for that width; others, of
 * which there are a few, go another. Of those that are asked it pays for widths that are lanes
 * only, and with a window not at all. */
#define OTHERS_MOST 2 /* in a block; guessed */

INLINED uint32_t show_uniform(const struct walk *t, size_t first, const uint32_t index,
                              const bool at_floor, const enum manner m)
{
    const struct block k = block_at(t->ring, first);
    uint8_t *const *ahead = t->ring->line + (first + AHEAD) % RING;
    const struct lines of = lines_of(t->b, index, at_floor);
    uint32_t seen = 0, others = 0;

#pragma GCC unroll 4
    for (uint32_t i = 0; i < BLOCK; i++) {
        const struct spot s = nth_spot(&k, i, m);
        bool found;

        cells_fetch(ahead[i]);
        if (__builtin_expect(line_index(s.line) == index, true)) {
            uint64_t slots = find(s, index, of, m, t->b);

            found = slots;
            if (__builtin_expect(!show(t->w, s, index, of, slots, m, t->b), false))
                make_up(t->w, s, m, t->b);
        } else {
            found = m == ASKED ? visit(t->w, s, m, t->b) : visit_cut(t->w, s, m, t->b);
            others++;
        }
        seen |= (uint32_t)found << i;
        if (m == DEEP)
            t->hits[t->b->tried][t->b->at] += t->b->counts;
    }
    if (others > OTHERS_MOST)
        t->b->all_at_floor = t->b->all_widest = false;
    return seen;
}

INLINED bool pays_at_floor(const struct common *b, const enum manner m)
{
    const uint32_t bits = line_width[b->floor];

    return m == RECENT || m == DEEP || m == RANKED ||
           (m == ASKED && (bits == 32 || bits == 16 || bits == 8));
}

/* ---- all of them ---- */

/* Fewer keys, one after the other. */
static __attribute__((noinline)) uint32_t show_few(const struct walk *t, size_t first, size_t n,
                                                   const enum manner m)
{
    const struct block k = block_at(t->ring, first);
    uint32_t seen = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct spot s = nth_spot(&k, i, m);
        bool found = shows(m) ? visit_cut(t->w, s, m, t->b) : visit(t->w, s, m, t->b);

        cells_fetch(t->ring->line[(first + AHEAD + i) % RING]);
        seen |= (uint32_t)found << i;
        if (m == DEEP)
            t->hits[t->b->tried][t->b->at] += t->b->counts;
    }
    return seen;
}

/* The n keys of a block. */
INLINED void show_block(const struct walk *t, size_t first, size_t n, const enum manner m,
                        const bool amid)
{
    uint32_t seen;

    if (!amid && n < BLOCK) {
        seen = show_few(t, first, n, m);
    } else if (t->b->all_at_floor && pays_at_floor(t->b, m)) {
#define SHOW(i) seen = show_uniform(t, first, i, true, m);
        LINE_BY_WIDTH(t->b->floor, SHOW)
#undef SHOW
    } else if (t->b->all_widest && (m == RECENT || m == DEEP || m == RANKED || m == ASKED)) {
        seen = show_uniform(t, first, 0, false, m);
    } else {
        seen = show_whole(t, first, m);
    }
    for (uint32_t i = 0; amid && i < BLOCK; i += 8)
        bits_store64(t->p.verdicts + first + i, _pdep_u64(seen >> i, UINT64_MAX / 255));
    for (size_t i = 0; !amid && i < n; i++)
        t->p.verdicts[nth(t->p.at, first + i)] = seen >> i & 1;
}
