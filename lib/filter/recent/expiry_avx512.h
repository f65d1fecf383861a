/* expiry_avx512.h - observe_ttl() of recent_lines.h in registers, without a branch that depends on
 * which slots expired. Rare cases (a line that must be truncated or that is empty, a key that is
 * not recorded) are left to observe_ttl(). Included by recent_lines.h. */

/* Codes of `e` bits, from bit 488 down. Word q of a register of bytes has those of slots 8 q to 8 q
 * + 7, from the eight bytes in which they are. */
#define CODE_BIT(e, i) (LINE_ROOM_TTL - (e) * ((i) + 1))
#define CODES_FROM(e, q) (CODE_BIT(e, 8 * (q) + 7) / 8) /* byte */
#define CODE_SOURCE(e, q, i) ((CODES_FROM(e, q) + (i)) & 63)
#define CODE_CUT(e, q, i) ((CODE_BIT(e, 8 * (q) + (i)) - 8 * CODES_FROM(e, q)) & 63)
/* The slots whose codes have bits in byte i of the line: the first three, from the highest bit on.
 * And those bits. */
#define SLOT_OF_BIT(e, bit) ((LINE_ROOM_TTL - 1 - (bit)) / (e))
#define HAS_CODES(i) ((i) >= 32 && (i) < LINE_ROOM_TTL / 8)
#define CODE_OWNER(e, i, n) ((SLOT_OF_BIT(e, 8 * (i) + 7) + (n)) & 63)
#define OWNED_BIT(e, i, n, bit)                                                                    \
    ((HAS_CODES(i) && SLOT_OF_BIT(e, 8 * (i) + (bit)) == SLOT_OF_BIT(e, 8 * (i) + 7) + (n))        \
     << (bit))
#define CODE_BITS(e, i, n)                                                                         \
    (OWNED_BIT(e, i, n, 0) | OWNED_BIT(e, i, n, 1) | OWNED_BIT(e, i, n, 2) |                       \
     OWNED_BIT(e, i, n, 3) | OWNED_BIT(e, i, n, 4) | OWNED_BIT(e, i, n, 5) |                       \
     OWNED_BIT(e, i, n, 6) | OWNED_BIT(e, i, n, 7))
#define OWNER0(e, i) CODE_OWNER(e, i, 0)
#define OWNER1(e, i) CODE_OWNER(e, i, 1)
#define OWNER2(e, i) CODE_OWNER(e, i, 2)
#define OWNED0(e, i) CODE_BITS(e, i, 0)
#define OWNED1(e, i) CODE_BITS(e, i, 1)
#define OWNED2(e, i) CODE_BITS(e, i, 2)
#define EXPIRY_PLACES(e)                                                                           \
    {                                                                                              \
        WORDS(CODE_SOURCE, e, 0), WORDS(CODE_CUT, e, 0),                                           \
            {BYTES(OWNER0, e), BYTES(OWNER1, e), BYTES(OWNER2, e)},                                \
        {                                                                                          \
            BYTES(OWNED0, e), BYTES(OWNED1, e), BYTES(OWNED2, e)                                   \
        }                                                                                          \
    }

static const struct expiry_places {
    _Alignas(LINE_BYTES) uint8_t source[LINE_BYTES]; /* for each byte of codes: byte of the line, */
    uint8_t cut[LINE_BYTES];                         /* and the first of its bits */
    uint8_t owner[3][LINE_BYTES];                    /* for each byte of the line: slots */
    uint8_t owned[3][LINE_BYTES];                    /* whose codes have these bits */
} expiry_places[] = {EXPIRY_PLACES(4), EXPIRY_PLACES(5), EXPIRY_PLACES(6), EXPIRY_PLACES(7)};

/* A byte for each of 128 codes. */
INLINED __m512i expiry_look_up(const uint8_t *table, __m512i codes)
{
    return _mm512_permutex2var_epi8(line_register(table), codes, line_register(table + LINE_BYTES));
}

/* Which slots are alive now in a line that was last observed `passed` units ago: as
 * expiry_clean(). */
INLINED uint64_t expiry_alive(const struct expiry_clock *c, __m512i codes, uint64_t passed)
{
    const __m512i k = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    /* units from now to the next step of each level, less one */
    __m512i rest =
        _mm512_sub_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(1), k), _mm512_set1_epi32(1));
    rest = _mm512_andnot_si512(_mm512_set1_epi32((int)(uint32_t)c->now), rest);
    __m512i steps = _mm512_srlv_epi32(_mm512_add_epi32(_mm512_set1_epi32((int)passed), rest), k);
    __m128i below =
        _mm_subs_epu8(_mm_set1_epi8((char)c->ttl->residues), _mm512_cvtusepi32_epi8(steps));
    __m512i levels = expiry_look_up(expiry_levels_of(c->ttl), codes);

    return _mm512_cmplt_epu8_mask(expiry_look_up(c->ahead, codes),
                                  _mm512_shuffle_epi8(_mm512_broadcast_i32x4(below), levels));
}

/* A line without the codes of some slots. */
INLINED __m512i expiry_cleared(__m512i line, const struct expiry_places *p, uint64_t dead)
{
    __m512i all = _mm512_movm_epi8(dead), bits = _mm512_setzero_si512();

#pragma GCC unroll 3
    for (uint32_t n = 0; n < 3; n++) /* bits |= ... & owned */
        bits = _mm512_ternarylogic_epi64(bits,
                                         _mm512_permutexvar_epi8(line_register(p->owner[n]), all),
                                         line_register(p->owned[n]), 0xf8);
    return _mm512_andnot_si512(bits, line);
}

/* As expiry_move(). */
INLINED __m512i expiry_moved(__m512i line, uint64_t bits, uint32_t from, uint32_t to, uint64_t code)
{
    const uint64_t last = LINE_ROOM_TTL - bits * (to + 1);
    __m512i at = line_beyond(last), next = _mm512_alignr_epi64(_mm512_setzero_si512(), line, 1);
    __m512i shifted = _mm512_shrdv_epi64(line, next, _mm512_set1_epi64((long long)bits));
    __m512i word =
        _mm512_rolv_epi64(_mm512_set1_epi64((long long)code), _mm512_set1_epi64((long long)last));

    line = line_either(_mm512_andnot_si512(at, line_beyond(LINE_ROOM_TTL - bits * (from + 1))),
                       shifted, line);
    return line_either(_mm512_andnot_si512(line_beyond(last + bits), at), word, line);
}

INLINED bool observe_expiring_line(weir_filter *w, struct slot_ref s, struct batch_ctx *b)
{
    const struct expiry_clock *c = &b->clock;
    const uint32_t index = line_index(s.line), bits = c->ttl->bits, slots = slots_in(b, index);
    const struct expiry_places *p = &expiry_places[bits - EXPIRY_BITS_MIN];
    const struct line_spread *t = &line_spread[index];
    const uint64_t all = (UINT64_C(1) << slots) - 1;
    __m512i line = line_register(s.line);
    __m512i codes = _mm512_permutexvar_epi8(line_register(p->source), line);

    codes = _mm512_multishift_epi64_epi8(line_register(p->cut), codes);
    codes = _mm512_and_si512(codes, _mm512_set1_epi8((char)((1u << bits) - 1)));
    const uint64_t alive =
        expiry_alive(c, codes, (c->now - line_quarter(s.line)) & (CLOCK_WRAP - 1)) & all;
    uint64_t found = line_alike(s.line, index, alive, line_prints(t, s.print));
    const bool full = (found == 0) & (alive == all);

    found &= -found;
    if (__builtin_expect((alive == 0) | (full & (index != b->floor)) | (s.code == NOT_KEPT), false))
        return observe_ttl(w, s, b);
    const uint32_t depth = depth_in(s, b, found, slots);
    const uint32_t from = slot_taken(found, alive, slots, depth);
    const uint32_t to = depth < from ? depth : from;
    const uint32_t code = code_kept(b, found, expiry_get(s.line, bits, from), s.code);
    const uint64_t begin = to * t->bits, next = begin + t->bits;

    w->reg[OVERFLOW] += full;
    line = expiry_cleared(line, p, all & ~alive);
    line = line_moved(line, line_bits(t), line_prints(t, s.print), &next, line_beyond(begin),
                      line_beyond((from + 1) * t->bits));
    line = expiry_moved(line, bits, from, to, code);
    line = _mm512_mask_mov_epi8(line, UINT64_C(3) << 61,
                                _mm512_set1_epi64((long long)((c->now & (CLOCK_WRAP - 1)) << 40)));
    _mm512_storeu_si512(s.line, line);
    return found;
}
