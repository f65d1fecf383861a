/* line_avx2_cut.h - how line_avx2.h, which includes it, cuts the numbers of a line. */
#ifndef WEIR_BASE_LINE_AVX2_CUT_H
#define WEIR_BASE_LINE_AVX2_CUT_H

/* Slots are cut by chunks of four, or of two where they are wide: a chunk begins at a byte, or in
 * the middle of one, and fits into a word. PEXT drops the low bits of all its slots at once, and
 * PDEP spreads what is left into lanes. Here and below `index` is a constant. */
#define IN_CHUNK(bits) ((bits) > 16 ? 2u : 4u)

/* n fields of `bits` bits, `apart` bits from one to the next, above `low` others. */
INLINED uint64_t line_fields(const uint32_t n, const uint32_t bits, const uint32_t low,
                             const uint32_t apart)
{
    const uint64_t field = ((UINT64_C(1) << bits) - 1) << low;

    return field | field << apart |
           (n == 4 ? field << (2 * apart & 63) | field << (3 * apart & 63) : 0);
}

/* Chunk c of a line. */
INLINED uint64_t line_chunk(const uint8_t *line, const uint32_t bits, const uint32_t c)
{
    const uint32_t bit = c * IN_CHUNK(bits) * bits, byte = LEAST(bit / 8, LINE_BYTES - 8);

    return bits_load64(line + byte) >> (bit - 8 * byte);
}

/* The numbers of a line cut: packed, and the low bits of each in a lane. What comes after those in
 * use is undefined. */
struct line_cuts {
    _Alignas(32) uint8_t packed[LINE_BYTES + 16];
    _Alignas(32) uint16_t lanes[2 * LINE_BYTES / sizeof(uint16_t)];
};

/* So few that all are compared with all: then they lie there twice, one after the other. */
#define FEW(slots) ((slots) <= 16 ? 16u : (slots) <= 32 ? 32u : 0u)

/* How many of a number's bits are looked at. */
#define LOW_BITS(slots, bits) LEAST(bits, FEW(slots) ? 16 : LINE_LOW_BITS)

INLINED void line_cut_chunks(const uint8_t *line, const uint32_t index, struct line_cuts *cuts)
{
    const uint32_t old = line_width[index], bits = line_width[index + 1], n = IN_CHUNK(old);
    const uint32_t slots = LINE_ROOM / old, chunks = (slots + n - 1) / n;
    const uint32_t low = LOW_BITS(slots, bits);
    uint64_t carried = 0;

    if (FEW(slots) == 32) { /* lanes that no chunk reaches */
        _mm256_store_si256((__m256i *)(cuts->lanes + 16), _mm256_setzero_si256());
        _mm256_store_si256((__m256i *)(cuts->lanes + 48), _mm256_setzero_si256());
    }
#pragma GCC unroll 16
    for (uint32_t c = 0; c < chunks; c++) {
        const uint32_t to = c * n * bits, next = to + n * bits;
        uint64_t chunk = line_chunk(line, old, c);
        uint64_t cut = _pext_u64(chunk, line_fields(n, bits, old - bits, old));
        uint64_t lows = low == bits ? cut : _pext_u64(chunk, line_fields(n, low, old - bits, old));
        uint64_t word = cut << to % 8 | carried,
                 lanes = _pdep_u64(lows, line_fields(n, low, 0, 16));

        memcpy(cuts->lanes + n * c, &lanes, 2 * n);
        if (FEW(slots))
            memcpy(cuts->lanes + FEW(slots) + n * c, &lanes, 2 * n);
        bits_store64(cuts->packed + to / 8, word);
        carried = next % 8 ? word >> (next / 8 - to / 8) * 8 : 0;
    }
}

/* May two of the first n numbers be equal, of a few? All of their low bits are compared, and with
 * what lies after them: so it may say yes where it is no. */
INLINED bool line_few_meet(const struct line_cuts *cuts, const uint32_t few, uint32_t n)
{
    const uint16_t *lanes = cuts->lanes;
    __m256i low = _mm256_load_si256((const __m256i *)lanes), low_met = _mm256_setzero_si256();
    __m256i high = _mm256_load_si256((const __m256i *)(lanes + 16)), high_met = low_met;

#pragma GCC unroll 16
    for (uint32_t i = 1; i <= few / 2; i++) {
        __m256i other = _mm256_loadu_si256((const __m256i *)(lanes + i));

        low_met = _mm256_or_si256(low_met, _mm256_cmpeq_epi16(low, other));
        if (few == 16 || i == 16)
            continue;
        other = _mm256_loadu_si256((const __m256i *)(lanes + 16 + i));
        high_met = _mm256_or_si256(high_met, _mm256_cmpeq_epi16(high, other));
    }
    __m256i both =
        _mm256_permute4x64_epi64(_mm256_packs_epi16(low_met, high_met), _MM_SHUFFLE(3, 1, 2, 0));
    return (uint32_t)_mm256_movemask_epi8(both) & (UINT32_MAX >> (32 - n));
}

/* Of the first n numbers those of which the low bits came before: bit n - 1 - i for number i. */
INLINED uint64_t line_lows_repeated(const struct line_cuts *cuts, uint32_t n, const uint32_t low,
                                    struct line_rounds *r)
{
    uint64_t news = 0;

    line_next_round(r);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *came = &r->came[cuts->lanes[i] & ((1 << low) - 1)];

        news = 2 * news + (*came < r->round);
        *came = r->round;
    }
    return ~news & UINT64_MAX >> (64 - n);
}

/* Of the first n numbers those that came before: bit i for number i. */
INLINED uint64_t line_cut_repeats(const struct line_cuts *cuts, const uint32_t index, uint32_t n,
                                  struct line_rounds *r)
{
    const uint32_t bits = line_width[index + 1], slots = LINE_ROOM / line_width[index];
    uint64_t repeats = 0;

    if (FEW(slots) && !line_few_meet(cuts, FEW(slots), n))
        return 0;
    uint64_t left = line_lows_repeated(cuts, n, LEAST(bits, LINE_LOW_BITS), r);
    for (; left; left &= left - 1) {
        uint32_t i = n - 1 - (uint32_t)__builtin_ctzll(left), j = 0;

        while (bits > LINE_LOW_BITS && j < i &&
               line_get(cuts->packed, bits, j) != line_get(cuts->packed, bits, i))
            j++;
        repeats |= (uint64_t)(j < i) << i;
    }
    return repeats;
}

/* Drop slot n of a line, and move those after it one place up. */
static inline struct line_halves line_without(struct line_halves h, const uint32_t bits, uint32_t n)
{
    const int down = (int)bits, up = 64 - (int)bits;
    __m256i low = _mm256_permute4x64_epi64(h.low, _MM_SHUFFLE(0, 3, 2, 1));
    __m256i high = _mm256_permute4x64_epi64(h.high, _MM_SHUFFLE(0, 3, 2, 1));
    __m256i low_kept = line_beyond(n * bits, 0), high_kept = line_beyond(n * bits, 1);

    low = _mm256_blend_epi32(low, high, 0xc0);
    high = _mm256_blend_epi32(high, _mm256_setzero_si256(), 0xc0);
    low = _mm256_or_si256(_mm256_srli_epi64(h.low, down), _mm256_slli_epi64(low, up));
    high = _mm256_or_si256(_mm256_srli_epi64(h.high, down), _mm256_slli_epi64(high, up));
    return (struct line_halves){
        _mm256_or_si256(_mm256_and_si256(low_kept, low), _mm256_andnot_si256(low_kept, h.low)),
        _mm256_or_si256(_mm256_and_si256(high_kept, high), _mm256_andnot_si256(high_kept, h.high))};
}

INLINED uint32_t line_cut_in(uint8_t *line, const uint32_t index, uint32_t used, uint32_t room,
                             bool may_drop, struct line_rounds *r)
{
    const uint32_t bits = line_width[index + 1];
    const uint64_t kept = UINT64_MAX << (room - 448) & UINT64_MAX >> 8;
    uint64_t tail = (bits_load64(line + 56) & kept) | (uint64_t)(index + 1) << 56;
    struct line_cuts cuts;

    line_cut_chunks(line, index, &cuts);
    uint64_t repeats = line_cut_repeats(&cuts, index, used, r);
    if (repeats && !may_drop)
        return 0;
    struct line_halves h = line_load(cuts.packed);
    h.low = _mm256_andnot_si256(line_beyond(used * bits, 0), h.low);
    h.high = _mm256_andnot_si256(line_beyond(used * bits, 1), h.high);
    for (uint64_t left = repeats; left; used--) {
        uint32_t n = 63 - (uint32_t)__builtin_clzll(left);

        h = line_without(h, bits, n);
        left ^= UINT64_C(1) << n;
    }
    h.high = _mm256_or_si256(h.high, _mm256_set_epi64x((int64_t)tail, 0, 0, 0));
    line_store(line, h);
    return used;
}

#endif
