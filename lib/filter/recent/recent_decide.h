/* recent_decide.h - what becomes of the keys of a step, eight at a time. Included by
 * recent_steps.h, which explains steps. It computes what recent_lines.h computes for one key, with
 * eight keys in a register, one per word. Positions in lines are counted in bits. */

#define STEP 16

struct step {
    /* from look_for() */
    _Alignas(64) uint64_t even[STEP], odd[STEP]; /* where lines contain the print, */
    uint64_t even_empty[STEP], odd_empty[STEP];  /* and where zeros */
    uint64_t last[STEP];                         /* the eight bytes that hold the last slot */
    uint64_t tail[STEP];                         /* and those at the end of the line */
    uint32_t again;                              /* bit i for key i: an earlier key has its line */
    /* from decide() */
    uint64_t begin[STEP], next[STEP]; /* the bits of the line between which the print goes; */
    uint64_t after[STEP];             /* from here on it stays */
    uint64_t bits[STEP];              /* the width of its slots */
    union {
        struct { /* with ttl=: codes between the bits first and last move, and the key's goes
                  * between last and end */
            uint64_t code_first[STEP], code_last[STEP], code_end[STEP], code[STEP];
        };
        struct {                /* with a window: */
            uint64_t map[STEP]; /* its map; from find_ends() on as in window_now(), with its */
            uint64_t age[STEP], map_end[STEP]; /* age and end; from decide() on the aged map */
            uint64_t live[STEP];               /* where the slots in the window end, */
            uint64_t slot[STEP];               /* which one moves, */
            uint64_t end[STEP];                /* the last two bytes of the result, */
            uint8_t *out[STEP];                /* and where it is written to */
        };
    };
    uint32_t seen, above, cut; /* bit i for key i: found; its line is above the floor; it was cut */
};

/* Keys of a step that are deferred to its end: their numbers in it, in order. */
#define UNSEEN STEP /* added to a number: the key has not been looked for yet */

struct deferred {
    uint32_t n;
    uint64_t at[STEP + 8];
};

INLINED __m512i all_of(uint64_t word)
{
    return _mm512_set1_epi64((long long)word);
}

/* Eight keys of a step and their lines: indexes, the forms of their widths, and widths. */
struct eight {
    uint32_t i; /* the first */
    __m512i index, form, bits;
    __m512i found; /* slots that hold the print */
    __mmask8 seen, again;
};

/* Where the first of some slots begins: a bit of the line. */
INLINED __m512i first_bit(const struct eight *e, __m512i slots)
{
    return _mm512_mullo_epi16(line_firsts(slots, e->form), e->bits);
}

/* Defer some of eight keys. */
INLINED void defer(struct deferred *late, const struct eight *e, __mmask8 some)
{
    __m512i numbers = _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), all_of(e->i));

    numbers = _mm512_mask_add_epi64(numbers, e->again, numbers, all_of(UNSEEN));
    _mm512_storeu_si512(late->at + late->n, _mm512_maskz_compress_epi64(some, numbers));
    late->n += (uint32_t)__builtin_popcount(some);
}

/* Here and below, returns which of eight keys have full lines that must be cut. */
INLINED __mmask8 decide_front(struct step *step, const struct eight *e, const struct batch_ctx *b)
{
    __m512i edge = line_by_index32(b->any.edge, e->index);
    __m512i last = _mm512_loadu_si512((b->any.edge_in_tail ? step->tail : step->last) + e->i);
    __m512i top = _mm512_srlv_epi64(last, _mm512_and_si512(edge, all_of(0xffff)));
    __mmask8 open = _mm512_testn_epi64_mask(top, all_of(0xff));
    __m512i from = _mm512_mask_add_epi64(_mm512_srli_epi64(edge, 16), e->seen,
                                         first_bit(e, e->found), e->bits);
    __mmask8 moves = (e->seen | open) & (__mmask8)~e->again;

    _mm512_storeu_si512(step->after + e->i, _mm512_maskz_mov_epi64(moves, from));
    _mm512_storeu_si512(step->bits + e->i, e->bits);
    return (__mmask8) ~(moves | e->again);
}

INLINED __mmask8 decide_deep(const struct block *k, struct step *step, const struct eight *e,
                             const struct batch_ctx *b)
{
    const struct any_width *any = &b->any;
    const __mmask8 at_floor = _mm512_cmpeq_epi64_mask(e->index, all_of(b->floor));
    const struct line_zeros empty = {step->even_empty + e->i, step->odd_empty + e->i};
    __m512i end = _mm512_srli_epi64(line_by_index32(any->edge, e->index), 16);
    __m512i last = _mm512_sub_epi64(end, e->bits);
    __m512i left = line_equal_slots(empty, e->index, line_by_index(any->begins, e->index));
    __m512i used =
        _mm512_mask_mov_epi64(end, _mm512_test_epi64_mask(left, left), first_bit(e, left));
    __m512i slot = line_firsts(e->found, e->form);
    __m512i at = _mm512_maskz_mullo_epi16((__mmask32)0x11111111, slot, e->bits);
    __m512i depth = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(k->depth + e->i)));
    __m512i down =
        _mm512_min_epu64(_mm512_mullo_epi16(depth, e->bits), _mm512_min_epu64(last, used));
    __m512i up = _mm512_srl_epi64(depth, line_count(b->up));
    up = _mm512_min_epu64(_mm512_mullo_epi16(up, e->bits), at);
    __m512i to = _mm512_mask_mov_epi64(down, e->seen, up);
    __m512i from = _mm512_mask_mov_epi64(last, e->seen, at);
    __mmask8 late =
        _mm512_cmpgt_epu64_mask(used, last) & (__mmask8) ~(e->seen | at_floor | e->again);
    __mmask8 moves = (__mmask8) ~(late | e->again);

    _mm512_storeu_si512(step->begin + e->i, _mm512_maskz_mov_epi64(moves, to));
    _mm512_storeu_si512(step->next + e->i, _mm512_maskz_add_epi64(moves, to, e->bits));
    _mm512_storeu_si512(step->after + e->i, _mm512_maskz_add_epi64(moves, from, e->bits));
    _mm512_storeu_si512(step->bits + e->i, e->bits);
    return late;
}

/* The highest slot of each set. */
INLINED __m512i highest_of(__m512i slots)
{
    return _mm512_sllv_epi64(all_of(1), _mm512_sub_epi64(all_of(63), _mm512_lzcnt_epi64(slots)));
}

/* As observe_ttl(). */
INLINED __mmask8 decide_ttl(const struct walk *t, const struct block *k, struct step *step,
                            const struct eight *e)
{
    const struct batch_ctx *b = t->b;
    const struct any_width *any = &b->any;
    const __m512i bits = all_of(b->clock.ttl->bits), room = all_of(LINE_ROOM_TTL);
    const struct line_zeros zeros = {step->even_empty + e->i, step->odd_empty + e->i};
    __m512i all = line_by_index(any->begins, e->index);
    __m512i empty = line_equal_slots(zeros, e->index, all);
    __m512i last = _mm512_sub_epi64(line_by_index32(any->slots, e->index), all_of(1));
    __m512i depth = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(k->depth + e->i)));
    __m512i code = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(k->code + e->i)));
    const __mmask8 kept = _mm512_cmpneq_epi64_mask(code, all_of(NOT_KEPT));
    const __mmask8 at_floor = _mm512_cmpeq_epi64_mask(e->index, all_of(b->floor));
    const __mmask8 full = (__mmask8)~e->seen & _mm512_testn_epi64_mask(empty, empty);
    const __mmask8 late = full & kept & (__mmask8) ~(at_floor | e->again);
    const __mmask8 moves = kept & (__mmask8) ~(late | e->again);

    depth = _mm512_mask_srl_epi64(depth, e->seen, depth, line_count(b->up));
    depth = _mm512_min_epu64(depth, last);
    __m512i to = _mm512_mullo_epi16(depth, e->bits);
    __m512i behind =
        _mm512_and_si512(empty, _mm512_sllv_epi64(all_of(UINT64_MAX), _mm512_srli_epi64(to, 3)));
    __m512i taken = _mm512_mask_mov_epi64(behind, e->seen, e->found);
    __m512i before = _mm512_mask_mov_epi64(all, _mm512_test_epi64_mask(empty, empty), empty);
    taken = _mm512_mask_mov_epi64(highest_of(before), _mm512_test_epi64_mask(taken, taken), taken);
    __m512i slot = line_firsts(taken, e->form), from = _mm512_mullo_epi16(slot, e->bits);
    __m512i first =
        _mm512_sub_epi64(room, _mm512_mullo_epi16(_mm512_add_epi64(slot, all_of(1)), bits));
    __m512i end = _mm512_sub_epi64(room, _mm512_mullo_epi16(_mm512_min_epu64(depth, slot), bits));

    to = _mm512_min_epu64(to, from);
    _mm512_storeu_si512(step->begin + e->i, _mm512_maskz_mov_epi64(moves, to));
    _mm512_storeu_si512(step->next + e->i, _mm512_maskz_add_epi64(moves, to, e->bits));
    _mm512_storeu_si512(step->after + e->i, _mm512_maskz_add_epi64(moves, from, e->bits));
    _mm512_storeu_si512(step->bits + e->i, e->bits);
    _mm512_storeu_si512(step->code_first + e->i, _mm512_mask_mov_epi64(room, moves, first));
    _mm512_storeu_si512(step->code_last + e->i, _mm512_mask_sub_epi64(room, moves, end, bits));
    _mm512_storeu_si512(step->code_end + e->i, _mm512_mask_mov_epi64(room, moves, end));
    _mm512_storeu_si512(step->code + e->i, _mm512_maskz_mov_epi64(moves, code));
    t->w->reg[OVERFLOW] += (uint64_t)__builtin_popcount(full & moves);
    return late;
}

/* window_now() in two steps, the first of which is this: nth_one() is computed key by key. */
INLINED void find_ends(struct step *step, const struct batch_ctx *b)
{
    for (uint32_t i = 0; i < STEP; i += 8) {
        __m512i clock = _mm512_srli_epi64(_mm512_loadu_si512(step->tail + i), 40);
        __m512i age = _mm512_sub_epi64(all_of(b->epoch), clock);
        __m512i map = _mm512_slli_epi64(_mm512_loadu_si512(step->map + i), 1);

        age = _mm512_and_si512(age, all_of(CLOCK_WRAP - 1));
        age = _mm512_min_epu64(age, all_of(PARTS + 1));
        map = _mm512_and_si512(map, all_of(MAP_MASK << 1));
        _mm512_storeu_si512(step->map + i, _mm512_xor_si512(map, all_of(MAP_FRAME)));
        _mm512_storeu_si512(step->age + i, age);
    }
    for (uint32_t i = 0; i < STEP; i++)
        step->map_end[i] = nth_one(step->map[i], PARTS + 1 - (uint32_t)step->age[i]);
}

/* The second: how many slots are within the window; and the map. */
INLINED __m512i live_of(const struct step *step, uint32_t i)
{
    __m512i from_top = _mm512_lzcnt_epi64(_mm512_loadu_si512(step->map_end + i));
    __m512i age = _mm512_loadu_si512(step->age + i);

    return _mm512_sub_epi64(_mm512_add_epi64(age, all_of(63 - (PARTS + 1))), from_top);
}

INLINED __m512i aged_map_of(const struct step *step, uint32_t i)
{
    const __m512i one = all_of(1), age = _mm512_loadu_si512(step->age + i);
    __m512i below = _mm512_sub_epi64(_mm512_loadu_si512(step->map_end + i), one);
    __m512i kept = _mm512_and_si512(_mm512_loadu_si512(step->map + i), below);
    __m512i fresh = _mm512_sub_epi64(_mm512_sllv_epi64(one, age), one);

    return _mm512_srli_epi64(_mm512_or_si512(_mm512_sllv_epi64(kept, age), fresh), 1);
}

INLINED __mmask8 decide_timed(const struct walk *t, const struct block *k, struct step *step,
                              const struct eight *e, __m512i live)
{
    struct batch_ctx *b = t->b;
    const __mmask8 at_floor = _mm512_cmpeq_epi64_mask(e->index, all_of(b->floor));
    __m512i edge = line_by_index32(b->any.edge, e->index), end = _mm512_srli_epi64(edge, 16);
    __m512i top = _mm512_srlv_epi64(_mm512_loadu_si512(step->last + e->i),
                                    _mm512_and_si512(edge, all_of(0xffff)));
    __m512i live_bits = _mm512_mullo_epi16(live, e->bits);
    __mmask8 full = _mm512_test_epi64_mask(top, all_of(0xff)) & (__mmask8)~e->seen;
    full &= _mm512_cmpeq_epi64_mask(live_bits, end);
    __mmask8 late = full & (__mmask8) ~(at_floor | e->again),
             is_fresh = _mm512_testn_epi64_mask(live, live);
    __mmask8 moves = (__mmask8) ~(late | e->again | (b->once ? e->seen : 0));
    __m512i last = _mm512_sub_epi64(line_by_index32(b->any.slots, e->index), all_of(1));
    __m512i slot = _mm512_mask_mov_epi64(last, e->seen, line_firsts(e->found, e->form));
    __m512i after = _mm512_mullo_epi16(slot, e->bits);

    /* a line that is empty now begins with the widest slots */
    __m512i index = _mm512_maskz_mov_epi64((__mmask8)~is_fresh, e->index);
    __m512i bits = _mm512_mask_mov_epi64(e->bits, is_fresh, all_of(line_width[0]));
    __m512i end_bytes =
        _mm512_or_si512(_mm512_slli_epi64(index, 8), all_of(window_end(0, b->epoch)));
    _mm512_storeu_si512(step->after + e->i, _mm512_add_epi64(after, e->bits));
    _mm512_storeu_si512(step->live + e->i, live_bits);
    _mm512_storeu_si512(step->bits + e->i, bits);
    _mm512_storeu_si512(step->map + e->i, aged_map_of(step, e->i));
    _mm512_storeu_si512(step->slot + e->i, slot);
    _mm512_storeu_si512(step->end + e->i, end_bytes);
    _mm512_storeu_si512(step->out + e->i, _mm512_mask_loadu_epi64(all_of((uintptr_t)b->any.spare),
                                                                  moves, k->line + e->i));
    t->w->reg[OVERFLOW] += (uint64_t)__builtin_popcount(full & at_floor & (__mmask8)~e->again);
    return late;
}

/* Process eight keys, starting with the i-th of a step. */
INLINED void decide(const struct walk *t, const struct block *k, struct step *step, uint32_t i,
                    struct deferred *late, const enum mode m)
{
    const struct any_width *any = &t->b->any;
    const struct line_zeros equal = {step->even + i, step->odd + i};
    __m512i tail = _mm512_loadu_si512(step->tail + i);
    __m512i live = _mm512_setzero_si512();
    struct eight e = {.i = i, .again = (__mmask8)(step->again >> i)};

    e.index = _mm512_srli_epi64(tail, 56);
    if (!observes(m))
        e.index = _mm512_min_epu64(e.index, all_of(LINE_WIDTHS - 1)); /* a damaged view has any */
    if (!is_timed(m)) {
        step->above |= _mm512_cmpneq_epi64_mask(e.index, all_of(t->b->floor));
        step->cut |= _mm512_test_epi64_mask(e.index, e.index);
    }
    e.form = line_by_index32(line_forms, e.index);
    e.bits = _mm512_srli_epi64(e.form, 16);
    __m512i slots = line_by_index(any->begins, e.index);
    if (is_timed(m)) {
        live = _mm512_min_epu64(live_of(step, i), line_by_index32(any->slots, e.index));
        __m512i byte = _mm512_srli_epi64(_mm512_mullo_epi16(live, e.bits), 3);
        slots = _mm512_andnot_si512(_mm512_sllv_epi64(all_of(UINT64_MAX), byte), slots);
    }
    e.found = line_equal_slots(equal, e.index, slots);
    e.seen = _mm512_test_epi64_mask(e.found, e.found);
    step->seen |= (uint32_t)e.seen << i;
    if (!observes(m))
        return;
    __mmask8 cut = m == RECENT ? decide_front(step, &e, t->b)
                   : m == DEEP ? decide_deep(k, step, &e, t->b)
                   : m == TTL  ? decide_ttl(t, k, step, &e)
                               : decide_timed(t, k, step, &e, live);
    defer(late, &e, cut | e.again);
}
