/* recent_steps.h - blocks of a batch with AVX-512: sixteen keys at a time. Included by
 * recent_paths.h.
 *
 * Lines of all widths run through the same instructions (base/line_avx512_place.h), in three
 * stages:
 *
 *   look_for   compare all slots of each key's line with its print
 *   decide     compute, for eight keys in one register, which bits of their lines move
 *   move_all   move them
 *
 * A line must not change between the first stage and the last. So a key is deferred to the end of
 * its step if an earlier one of the sixteen has the same line, or if its line is full and must be
 * cut. Keys of one line keep their order. */

#include "filter/recent/recent_decide.h"

/* Which of sixteen lines equal an earlier one: bit i for line i. Usually none. */
INLINED uint32_t lines_again(uint8_t *const *line)
{
    __m256i low = _mm512_cvtepi64_epi32(_mm512_srli_epi64(_mm512_loadu_si512(line), 6));
    __m256i high = _mm512_cvtepi64_epi32(_mm512_srli_epi64(_mm512_loadu_si512(line + 8), 6));
    __m512i before =
        _mm512_conflict_epi32(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));

    return _mm512_test_epi32_mask(before, before);
}

/* Lines of later keys are fetched one by one, in all three stages: a processor can wait for about a
 * dozen, and stalls if it is to fetch more. */
struct fetched {
    uint8_t *const *ahead; /* into the second cache */
    uint8_t *const *soon;  /* from there into the first */
};

/* ---- looking for them ---- */

INLINED void look_for_one(const struct walk *w, const struct block *k, uint32_t i,
                          struct step *step, const enum mode m)
{
    const struct batch_ctx *b = w->b;
    uint8_t *line = k->line[i];

    if (m == TTL)
        clean(w->w, line, b);
    uint64_t tail = bits_load64(line + 56), index = tail >> 56;

    if (!observes(m))
        index = index < LINE_WIDTHS ? index : LINE_WIDTHS - 1; /* a damaged view has any */
    const struct line_place *t = &line_place[index];
    step->tail[i] = tail;
    line_store_equal((struct line_zeros){step->even + i, step->odd + i}, line, t, k->print[i]);
    if (has_depth(m))
        line_store_empty((struct line_zeros){step->even_empty + i, step->odd_empty + i}, line, t);
    else if (m == TIMED)
        step->last[i] = bits_load64(line + b->any.last_byte[index]);
    if (is_timed(m))
        step->map[i] = bits_load64(line + LINE_ROOM_WINDOW / 8);
}

INLINED void look_for(const struct walk *w, const struct block *k, struct step *step,
                      struct fetched f, const enum mode m)
{
    const struct batch_ctx *b = w->b;

#pragma GCC unroll 1
    for (uint32_t i = 0; i < STEP; i += 2) {
        cells_fetch(f.ahead[i]);
        cells_fetch_near(f.soon[i]);
        look_for_one(w, k, i, step, m);
        if (!observes(m))
            cells_fetch(f.ahead[i + 1]);
        cells_fetch_near(f.soon[i + 1]);
        look_for_one(w, k, i + 1, step, m);
    }
    if (is_timed(m))
        find_ends(step, b);
    for (uint32_t i = 0; m == RECENT && !b->any.edge_in_tail && i < STEP; i++) /* rare */
        step->last[i] = bits_load64(k->line[i] + b->any.last_byte[line_index(k->line[i])]);
}

/* ---- moving them ---- */

/* The codes of a line are moved, and the key's is inserted. */
INLINED __m512i move_codes(__m512i line, const uint8_t *at, uint32_t i, const struct step *step,
                           const struct batch_ctx *b)
{
    const uint32_t bits = b->clock.ttl->bits;
    const uint64_t code =
        code_kept(b, step->seen >> i & 1, code_at(at, bits, (uint32_t)step->code_first[i]),
                  (uint32_t)step->code[i]);

    return codes_moved(line, _mm512_set1_epi64(bits), &step->code_first[i], &step->code_last[i],
                       &step->code_end[i], &code);
}

INLINED void move_one(const struct block *k, uint32_t i, const struct step *step,
                      const struct batch_ctx *b, const enum mode m)
{
    uint8_t *line = k->line[i];
    __m512i old = line_register(line), after = line_beyond_at(&step->after[i]);
    __m512i bits = line_word_at(&step->bits[i]), prints = line_word_at(&k->print[i]);

    if (m == TTL)
        old = move_codes(old, line, i, step, b);
    if (m == TIMED) {
        uint64_t map = map_moved(step->map[i], (uint32_t)step->slot[i]) ^ b->epoch_bits;
        __m512i now = line_renewed(old, bits, prints, line_beyond_at(&step->live[i]), after);

        now = _mm512_mask_mov_epi8(now, UINT64_C(255) << LINE_ROOM_WINDOW / 8,
                                   _mm512_set1_epi64((long long)(map << 48 | map >> 16)));
        _mm512_storeu_si512(step->out[i],
                            _mm512_mask_set1_epi16(now, UINT32_C(1) << 31, (short)step->end[i]));
    } else if (m == RECENT)
        _mm512_storeu_si512(line, line_either(after, old, line_shifted(old, bits, prints)));
    else
        _mm512_storeu_si512(line, line_moved(old, bits, prints, &step->next[i],
                                             line_beyond_at(&step->begin[i]), after));
}

INLINED void move_all(const struct block *k, const struct step *step, struct fetched f,
                      const struct batch_ctx *b, const enum mode m)
{
#pragma GCC unroll 1
    for (uint32_t i = 0; i < STEP; i += 4) {
        move_one(k, i, step, b, m);
        cells_fetch(f.ahead[i + 1]);
        move_one(k, i + 1, step, b, m);
        move_one(k, i + 2, step, b, m);
        move_one(k, i + 3, step, b, m);
    }
}

/* Process the deferred keys. */
static __attribute__((noinline)) void observe_late(const struct walk *t, const struct block *k,
                                                   const struct deferred *late, uint32_t *seen,
                                                   const enum mode m)
{
    for (uint32_t i = 0; i < late->n; i++) {
        uint32_t at = (uint32_t)late->at[i] % UNSEEN, bit = UINT32_C(1) << at;
        const struct slot_ref s = nth_slot_ref(k, at, m);

        if (late->at[i] < UNSEEN) {
            insert_into_full(t->w, s, m, t->b);
            continue;
        }
        *seen = visit_one(t->w, s, m, t->b) ? *seen | bit : *seen & ~bit;
    }
}

/* The sixteen keys of a block from the first-th on. */
INLINED struct block step_of(const struct block *whole, uint32_t first)
{
    return (struct block){whole->line + first, whole->print + first, whole->depth + first,
                          whole->code + first};
}

/* What is fetched meanwhile: sixteen lines from memory, and those of the next step from the second
 * cache. */
INLINED struct fetched fetched_by(const struct walk *t, size_t first)
{
    return (struct fetched){t->ring->line + (first + AHEAD) % RING,
                            t->ring->line + (first + STEP) % RING};
}

INLINED void note_widths(struct batch_ctx *b, const struct step *step)
{
    b->all_at_floor &= !step->above;
    b->all_widest &= !step->cut;
}

/* Observe sixteen keys, the first of which has this number in its block. */
INLINED uint32_t observe_step(const struct walk *t, const struct block *whole, uint32_t first,
                              struct fetched f, const enum mode m)
{
    const struct block k = step_of(whole, first);
    struct deferred late;
    struct step step;

    late.n = 0;
    step.seen = step.above = step.cut = 0;
    look_for(t, &k, &step, f, m);
    step.again = lines_again(k.line);
    for (uint32_t i = 0; i < STEP; i += 8) {
        cells_fetch(f.ahead[i + 3]);
        cells_fetch(f.ahead[i + 7]);
        decide(t, &k, &step, i, &late, m);
    }
    note_widths(t->b, &step);
    move_all(&k, &step, f, t->b, m);
    if (late.n)
        observe_late(t, &k, &late, &step.seen, m);
    return step.seen;
}

/* Ask for the keys of a block. No line changes, so all are looked for before the first answer is
 * computed, which must wait until the results are in memory. */
INLINED uint32_t ask_block(const struct walk *t, size_t first, const enum mode m)
{
    const struct block whole = block_at(t->ring, first);
    struct step step[BLOCK / STEP];
    uint32_t seen = 0;

#pragma GCC unroll 2
    for (uint32_t i = 0; i < BLOCK / STEP; i++) {
        const struct block k = step_of(&whole, i * STEP);

        look_for(t, &k, &step[i], fetched_by(t, first + i * STEP), m);
    }
#pragma GCC unroll 2
    for (uint32_t i = 0; i < BLOCK / STEP; i++) {
        const struct block k = step_of(&whole, i * STEP);

        step[i].seen = step[i].again = step[i].above = step[i].cut = 0;
        decide(t, &k, &step[i], 0, NULL, m);
        decide(t, &k, &step[i], 8, NULL, m);
        note_widths(t->b, &step[i]);
        seen |= step[i].seen << i * STEP;
    }
    return seen;
}

/* The keys of a whole block. */
INLINED uint32_t observe_whole(const struct walk *t, size_t first, const enum mode m)
{
    const struct block k = block_at(t->ring, first);
    uint32_t seen = 0;

    t->b->all_at_floor = t->b->all_widest = true;
    if (!observes(m))
        return ask_block(t, first, m);
#pragma GCC unroll 1
    for (uint32_t i = 0; i < BLOCK; i += STEP)
        seen |= observe_step(t, &k, i, fetched_by(t, first + i), m) << i;
    return seen;
}

/* Fewer keys, one after the other. */
static __attribute__((noinline)) uint32_t observe_few(const struct walk *t, size_t first, size_t n,
                                                      const enum mode m)
{
    const struct block k = block_at(t->ring, first);
    uint32_t seen = 0;

    for (uint32_t i = 0; i < n; i++) {
        cells_fetch(t->ring->line[(first + AHEAD + i) % RING]);
        if (m == TTL)
            clean(t->w, k.line[i], t->b);
        seen |= (uint32_t)visit_one(t->w, nth_slot_ref(&k, i, m), m, t->b) << i;
    }
    return seen;
}

INLINED uint32_t observe_mixed(const struct walk *t, size_t first, size_t n, const enum mode m)
{
    return n < BLOCK || m == ASKED_TTL ? observe_few(t, first, n, m) : observe_whole(t, first, m);
}
