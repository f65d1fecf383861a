/* weir_decide.h - what becomes of the keys of a step, eight at a time; included by weir_steps.h,
 * which says what a step is. What weir_lines.h does for one key is done here for eight in a
 * register, one to a word. Places in lines are told in bits. */

#define STEP 16
#define TRIES (LINE_SLOTS_MOST + 1)

/* What is known of the keys of a step. */
struct step {
    /* from looking for them */
    _Alignas(64) uint64_t equal[STEP]; /* lanes that hold the print, and */
    uint64_t empty[STEP];              /* those that hold nothing */
    uint64_t last[STEP];               /* the eight bytes that hold the last slot */
    uint64_t tail[STEP];               /* and those at the end of the line */
    uint32_t again;                    /* bit i for key i: its line came before, or is marked */
    /* what becomes of them */
    uint64_t begin[STEP], next[STEP]; /* the bits of the line between which the print goes; */
    uint64_t after[STEP];             /* from here on it stays */
    uint64_t mark[STEP];              /* a bit for its last byte; with a window its last bytes, */
    uint64_t live[STEP];              /* where its slots ended before, */
    uint64_t index[STEP];             /* what index it has, */
    uint8_t *out[STEP];               /* and where it is written to */
    uint64_t slot[STEP];              /* found in; TRIES more, if its line tries another depth */
    uint32_t seen, counts;            /* bit i for key i: found; its line is at the floor */
    uint32_t above, cut;              /* its line is above the floor; it was cut */
};

/* Keys of a block that are put off to its end: their numbers in it, in order. */
#define UNSEEN 64 /* added to a number: it is not known yet whether the key is in its line */

struct deferred {
    uint32_t n;
    uint64_t at[BLOCK + 8];
};

/* Are keys shown, not only asked for? */
INLINED bool shows(const enum manner m)
{
    return m != ASKED && m != ASKED_TIMED;
}

/* A number of each width, for eight lines: by their indexes. */
INLINED __m512i by_index(const uint64_t table[16], __m512i index)
{
    return _mm512_permutex2var_epi64(_mm512_loadu_si512(table), index,
                                     _mm512_loadu_si512(table + 8));
}

/* The number of the lowest bit that is set. */
INLINED __m512i lowest_bit(__m512i words)
{
    __m512i lowest = _mm512_and_si512(words, _mm512_sub_epi64(_mm512_setzero_si512(), words));

    return _mm512_sub_epi64(_mm512_set1_epi64(63), _mm512_lzcnt_epi64(lowest));
}

INLINED __m512i all_of(uint64_t word)
{
    return _mm512_set1_epi64((long long)word);
}

/* Of the lanes of some slots those that are alike: each two bytes by themselves, or both halves of
 * four. */
INLINED __m512i whole_lanes(const uint64_t *alike, __m512i slots, const struct any_width *any,
                            __m512i index)
{
    __m512i lanes = _mm512_loadu_si512(alike);
    __m512i both = _mm512_ternarylogic_epi64(lanes, _mm512_srli_epi64(lanes, 1),
                                             by_index(any->narrow, index), 0xe0);

    return _mm512_and_si512(both, slots);
}

/* Put off some of eight keys, the first of which has this number in its block. */
INLINED void defer(struct deferred *late, uint32_t first, __mmask8 some, __mmask8 unseen)
{
    __m512i numbers = _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), all_of(first));

    numbers = _mm512_mask_add_epi64(numbers, unseen, numbers, all_of(UNSEEN));
    _mm512_storeu_si512(late->at + late->n, _mm512_maskz_compress_epi64(some, numbers));
    late->n += (uint32_t)__builtin_popcount(some);
}

/* The mark in the last word of those lines for which a key is put off. */
INLINED __m512i mark_of(__mmask8 late)
{
    return _mm512_maskz_mov_epi64(late, all_of((uint64_t)LINE_MARKED << 56));
}

/* Eight keys, from the i-th of a step on, whose lines have these indexes. Tells which have to
 * be put off, but for those whose lines came before. */
INLINED __mmask8 decide_front(struct step *step, uint32_t i, __m512i index, __m512i found,
                              __mmask8 again, const struct common *b)
{
    const struct any_width *any = &b->any;
    __mmask8 open =
        _mm512_testn_epi64_mask(_mm512_loadu_si512(step->last + i), by_index(any->cut_mask, index));
    __m512i from = _mm512_mask_or_epi64(found, open, found, by_index(any->last_lane, index));
    __mmask8 late = _mm512_testn_epi64_mask(from, from) & (__mmask8)~again;
    __m512i at = _mm512_mul_epu32(lowest_bit(from), by_index(any->lane_bits, index));

    _mm512_storeu_si512(step->after + i, _mm512_maskz_add_epi64((__mmask8) ~(late | again), at,
                                                                by_index(any->bits, index)));
    _mm512_storeu_si512(step->mark + i, mark_of(late));
    return late;
}

/* How deep eight keys enter, and to where they move up when they are found: in slots. */
INLINED __m512i depths_of(const struct walk *t, const struct block *k, uint32_t i, __mmask8 *tried,
                          const enum manner m)
{
    const struct common *b = t->b;

    if (m == RANKED)
        return _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(k->depth + i)));
    __m512i place = _mm512_sub_epi64(_mm512_loadu_si512(k->line + i), all_of((uintptr_t)t->cells));
    *tried = _mm512_testn_epi64_mask(place, all_of(LINE_BYTES * TRIED_LINES - 1));
    return _mm512_mask_mov_epi64(all_of(b->depth), *tried, all_of(b->tried_depth));
}

INLINED __mmask8 decide_depth(const struct walk *t, const struct block *k, struct step *step,
                              uint32_t i, __m512i index, __m512i found, __mmask8 again,
                              const enum manner m)
{
    const struct common *b = t->b;
    const struct any_width *any = &b->any;
    const __mmask8 seen = _mm512_test_epi64_mask(found, found);
    const __mmask8 at_floor = _mm512_cmpeq_epi64_mask(index, all_of(b->floor));
    __m512i bits = by_index(any->bits, index), lane_bits = by_index(any->lane_bits, index);
    __m512i last = by_index(any->last_bit, index);
    __m512i empty = whole_lanes(step->empty + i, by_index(any->lanes, index), any, index);
    empty = _mm512_or_si512(empty, by_index(any->end_lane, index));
    __m512i used = _mm512_mul_epu32(lowest_bit(empty), lane_bits);
    __m512i lane = lowest_bit(found), at = _mm512_mul_epu32(lane, lane_bits);
    __mmask8 tried = 0;
    __m512i depth = depths_of(t, k, i, &tried, m);
    __m512i down = _mm512_min_epu64(_mm512_mul_epu32(depth, bits), _mm512_min_epu64(last, used));
    __m512i up = m == RANKED
                     ? _mm512_min_epu64(_mm512_mul_epu32(_mm512_srli_epi64(depth, 1), bits), at)
                     : _mm512_setzero_si512();
    __m512i to = _mm512_mask_mov_epi64(down, seen, up);
    __m512i from = _mm512_mask_mov_epi64(last, seen, at);
    __mmask8 late = _mm512_cmpgt_epu64_mask(used, last) & (__mmask8) ~(seen | at_floor | again);
    __mmask8 moves = (__mmask8) ~(late | again);

    _mm512_storeu_si512(step->begin + i, _mm512_maskz_mov_epi64(moves, to));
    _mm512_storeu_si512(step->next + i, _mm512_maskz_add_epi64(moves, to, bits));
    _mm512_storeu_si512(step->after + i, _mm512_maskz_add_epi64(moves, from, bits));
    _mm512_storeu_si512(step->mark + i, mark_of(late));
    if (m == RANKED)
        return late;
    __m512i slot =
        _mm512_mask_srlv_epi64(all_of(LINE_SLOTS_MOST), seen, lane, by_index(any->wide, index));
    _mm512_storeu_si512(step->slot + i, _mm512_mask_add_epi64(slot, tried, slot, all_of(TRIES)));
    step->counts |= (uint32_t)(at_floor & (__mmask8)~again) << i;
    return late;
}

/* The marks of lines as they are now, and before them how many slots are live. */
INLINED __m512i marks_of(__m512i tail, const struct common *b)
{
    __m512i age = _mm512_sub_epi64(all_of(b->epoch), _mm512_srli_epi64(tail, 40));
    age = _mm512_min_epu64(_mm512_and_si512(age, all_of(QUARTER_WRAP - 1)), all_of(QUARTERS + 1));
    __m512i marks = _mm512_and_si512(_mm512_srli_epi64(tail, 16), all_of(0xffffff));
    __m512i shift = _mm512_mullo_epi16(age, all_of(6));

    return _mm512_and_si512(_mm512_sllv_epi64(_mm512_or_si512(marks, all_of(63 << 24)), shift),
                            all_of(0x3fffffff));
}

/* As marks_moved(). */
INLINED __m512i marks_moved_of(__m512i marks, __m512i from)
{
    const __m512i field = all_of(0x3f03f), one = all_of(0x1001);
    __m512i most = _mm512_or_si512(from, _mm512_slli_epi64(from, 12));
    most = _mm512_add_epi64(most, all_of(64 * 0x1001));
    __m512i even = _mm512_sub_epi64(most, _mm512_and_si512(marks, field));
    __m512i odd = _mm512_sub_epi64(most, _mm512_and_si512(_mm512_srli_epi64(marks, 6), field));

    even = _mm512_and_si512(_mm512_srli_epi64(even, 6), one);
    odd = _mm512_and_si512(odd, _mm512_slli_epi64(one, 6)); /* shifted down and up again */
    return _mm512_add_epi64(marks, _mm512_add_epi64(even, odd));
}

INLINED __mmask8 decide_timed(const struct walk *t, const struct block *k, struct step *step,
                              uint32_t i, __m512i index, __m512i aged, __m512i live, __m512i found,
                              __mmask8 again, const enum manner m)
{
    struct common *b = t->b;
    const struct any_width *any = &b->any;
    const __mmask8 seen = _mm512_test_epi64_mask(found, found);
    const __mmask8 at_floor = _mm512_cmpeq_epi64_mask(index, all_of(b->floor));
    __m512i bits = by_index(any->bits, index), slots = by_index(any->slots, index);
    __mmask8 full =
        _mm512_test_epi64_mask(_mm512_loadu_si512(step->last + i), by_index(any->last_mask, index));
    full &= _mm512_cmpeq_epi64_mask(live, slots) & (__mmask8)~seen;
    __m512i from = _mm512_mask_mov_epi64(by_index(any->last_lane, index), seen, found);
    __m512i lane = lowest_bit(from);
    __mmask8 late = full & (__mmask8) ~(at_floor | again),
             anew = _mm512_testn_epi64_mask(live, live);
    __mmask8 moves = (__mmask8) ~(late | again | (m == TIMED_ONCE ? seen : 0));
    __m512i after = _mm512_mul_epu32(lane, by_index(any->lane_bits, index));
    __m512i marks = marks_moved_of(_mm512_and_si512(aged, all_of(0xffffff)),
                                   _mm512_srlv_epi64(lane, by_index(any->wide, index)));
    __m512i end = all_of((b->epoch & (QUARTER_WRAP - 1)) << 40);
    __m512i before = _mm512_or_si512(_mm512_loadu_si512(step->tail + i), mark_of(late));

    index = _mm512_maskz_mov_epi64((__mmask8)~anew, index); /* a line that is empty now */
    end = _mm512_or_si512(
        end, _mm512_or_si512(_mm512_slli_epi64(index, 56), _mm512_slli_epi64(marks, 16)));
    _mm512_storeu_si512(step->after + i, _mm512_maskz_add_epi64(moves, after, bits));
    _mm512_storeu_si512(step->live + i,
                        _mm512_mask_mul_epu32(all_of(8 * LINE_BYTES), moves, live, bits));
    _mm512_storeu_si512(step->index + i, index);
    _mm512_storeu_si512(step->out + i, _mm512_mask_mov_epi64(_mm512_loadu_si512(k->line + i), again,
                                                             all_of((uintptr_t)b->spare)));
    _mm512_storeu_si512(step->mark + i, _mm512_mask_mov_epi64(before, moves, end));
    t->w->reg[OVERFLOW] += (uint64_t)__builtin_popcount(full & at_floor & (__mmask8)~again);
    return late;
}

/* What becomes of eight keys, from the i-th of a step on; `first` is that in its block. */
INLINED void decide(const struct walk *t, const struct block *k, struct step *step, uint32_t i,
                    uint32_t first, struct deferred *late, const enum manner m)
{
    const bool timed = m == TIMED || m == TIMED_ONCE || m == ASKED_TIMED;
    const struct any_width *any = &t->b->any;
    __m512i tail = _mm512_loadu_si512(step->tail + i), index = _mm512_srli_epi64(tail, 56);
    __m512i aged = _mm512_setzero_si512(), live = aged;
    __mmask8 again = (__mmask8)(step->again >> i);

    if (!shows(m)) {
        index = _mm512_min_epu64(index, all_of(LINE_WIDTHS - 1)); /* a damaged view has any */
    } else {
        again |= _mm512_test_epi64_mask(index, all_of(LINE_MARKED));
        index = _mm512_and_si512(index, all_of(LINE_MARKED - 1));
    }
    if (!timed) {
        step->above |= _mm512_cmpneq_epi64_mask(index, all_of(t->b->floor));
        step->cut |= _mm512_test_epi64_mask(index, index);
    }
    __m512i lanes = by_index(any->lanes, index);
    if (timed) {
        aged = marks_of(tail, t->b);
        live = _mm512_min_epu64(_mm512_srli_epi64(aged, 24), by_index(any->slots, index));
        __m512i end = _mm512_sllv_epi64(live, by_index(any->wide, index));
        lanes = _mm512_andnot_si512(_mm512_sllv_epi64(all_of(UINT64_MAX), end), lanes);
    }
    __m512i found = whole_lanes(step->equal + i, lanes, any, index);
    step->seen |= (uint32_t)_mm512_test_epi64_mask(found, found) << i;
    if (!shows(m))
        return;
    __mmask8 cut = m == RECENT ? decide_front(step, i, index, found, again, t->b)
                   : m == DEEP || m == RANKED
                       ? decide_depth(t, k, step, i, index, found, again, m)
                       : decide_timed(t, k, step, i, index, aged, live, found, again, m);
    defer(late, first + i, cut | again, again);
}
