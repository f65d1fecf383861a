/* line_avx2.h - the operations of line.h on vector registers; line.h includes it
 * where the file is compiled for AVX2. */
#ifndef WEIR_BASE_LINE_AVX2_H
#define WEIR_BASE_LINE_AVX2_H

#include <immintrin.h>

/* All slots are compared at once, in lanes: of two bytes where a slot never
 * touches three, of four elsewhere. Sixteen bytes of lanes make a group, two
 * groups a register, and registers are packed into a mask of 32 slots. Packing
 * takes first halves first: so the halves of a register are as many groups apart
 * as a block has registers, and the mask comes out in order. */
#define LANE(w) ((w) == 16 || (w) == 12 || (w) <= 10 ? 2 : 4) /* bytes; registers in a block */
#define GROUP(w) (16 / LANE(w))                               /* slots */
#define FIRST(w, r) (2 * LANE(w) * ((r) / LANE(w)) + (r) % LANE(w))
#define SECOND(w, r) (FIRST(w, r) + LANE(w))
#define REGISTERS_MOST 8

/* A group is gathered from sixteen bytes that never reach beyond the line: which
 * byte of them goes where is a table, by width and register. */
#define LAST 48 /* where the last sixteen begin */
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define BASE(w, g) LEAST((g)*GROUP(w) * (w) >> 3, LAST)
#define BYTE(w, g, i) (((g)*GROUP(w) + (i) / LANE(w)) * (w) / 8 + (i) % LANE(w) - BASE(w, g))
#define PICK(w, g, i) (BYTE(w, g, i) < 16 ? BYTE(w, g, i) : 0x80)
#define PICK4(w, g, i) PICK(w, g, i), PICK(w, g, i + 1), PICK(w, g, i + 2), PICK(w, g, i + 3)
#define PICKS(w, g) PICK4(w, g, 0), PICK4(w, g, 4), PICK4(w, g, 8), PICK4(w, g, 12)
#define TWO(w, r)                                                                                  \
    {                                                                                              \
        PICKS(w, FIRST(w, r)), PICKS(w, SECOND(w, r))                                              \
    }

/* How far up in its bytes a slot lies, by lane: the same in every other group.
 * Lanes of two bytes can only be shifted by multiplying. */
#define LOW(w, i) ((i) * (w)&7)
#define SHIFT(w, i) (LANE(w) == 2 ? 1 << LOW(w, i) | 1 << (LOW(w, (i) + 1) + 16) : LOW(w, i))
#define LANES(w, i)                                                                                \
    SHIFT(w, i), SHIFT(w, (i) + 4 / LANE(w)), SHIFT(w, (i) + 8 / LANE(w)),                         \
        SHIFT(w, (i) + 12 / LANE(w))
#define GATHER(w)                                                                                  \
    {                                                                                              \
        {TWO(w, 0), TWO(w, 1), TWO(w, 2), TWO(w, 3), TWO(w, 4), TWO(w, 5), TWO(w, 6), TWO(w, 7)},  \
            {{LANES(w, 0), LANES(w, 0)}, {LANES(w, GROUP(w)), LANES(w, GROUP(w))}},                \
    }

static const struct {
    _Alignas(32) uint8_t bytes[REGISTERS_MOST][32];
    _Alignas(32) uint32_t shift[2][8];
} line_gather[LINE_WIDTHS] = {GATHER(32), GATHER(24), GATHER(20), GATHER(16),
                              GATHER(15), GATHER(14), GATHER(13), GATHER(12),
                              GATHER(11), GATHER(10), GATHER(9),  GATHER(8)};

/* A number in every lane of a register, shifted to where the slots lie. */
INLINED __m256i line_spread(uint32_t index, uint32_t r, uint32_t value)
{
    __m256i shift = _mm256_load_si256((const __m256i *)line_gather[index].shift[r % 2]);

    return LANE(line_width[index]) == 2 ? _mm256_mullo_epi16(_mm256_set1_epi16((short)value), shift)
                                        : _mm256_sllv_epi32(_mm256_set1_epi32((int)value), shift);
}

/* Register r of the line's slots: its lanes become ones where they hold value. */
INLINED __m256i line_lanes(const uint8_t *line, uint32_t index, uint32_t r, uint32_t value)
{
    const uint32_t bits = line_width[index];
    const __m128i *first = (const __m128i *)(line + BASE(bits, FIRST(bits, r)));
    const __m128i *second = (const __m128i *)(line + BASE(bits, SECOND(bits, r)));
    __m256i bytes = _mm256_set_m128i(_mm_loadu_si128(second), _mm_loadu_si128(first));
    __m256i picks = _mm256_load_si256((const __m256i *)line_gather[index].bytes[r]);
    __m256i mask = line_spread(index, r, (uint32_t)((UINT64_C(1) << bits) - 1));
    __m256i slots = _mm256_and_si256(_mm256_shuffle_epi8(bytes, picks), mask);
    __m256i wanted = line_spread(index, r, value);

    if (FIRST(bits, r) * GROUP(bits) * bits >= LINE_ROOM)
        return _mm256_setzero_si256();
    return LANE(bits) == 2 ? _mm256_cmpeq_epi16(slots, wanted) : _mm256_cmpeq_epi32(slots, wanted);
}

/* The slots of a block of 32 that hold value: bit i for slot i. */
INLINED uint32_t line_block(const uint8_t *line, uint32_t index, uint32_t block, uint32_t value)
{
    const uint32_t registers = LANE(line_width[index]), r = registers * block;
    __m256i a = line_lanes(line, index, r, value), b = line_lanes(line, index, r + 1, value);

    if (registers == 4) {
        a = _mm256_packs_epi32(a, b);
        b = _mm256_packs_epi32(line_lanes(line, index, r + 2, value),
                               line_lanes(line, index, r + 3, value));
    }
    return (uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(a, b));
}

/* Slots of sixteen bits are lanes already. */
static inline uint32_t line_block16(const uint8_t *line, uint32_t value)
{
    __m256i wanted = _mm256_set1_epi16((short)value);
    __m256i low = _mm256_cmpeq_epi16(_mm256_loadu_si256((const __m256i *)line), wanted);
    __m256i high = _mm256_cmpeq_epi16(_mm256_loadu_si256((const __m256i *)line + 1), wanted);
    __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), _MM_SHUFFLE(3, 1, 2, 0));

    return (uint32_t)_mm256_movemask_epi8(both);
}

/* So are those of eight and of thirty-two. */
static inline uint64_t line_all8(const uint8_t *line, uint32_t value)
{
    __m256i wanted = _mm256_set1_epi8((char)value);
    __m256i low = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)line), wanted);
    __m256i high = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)line + 1), wanted);

    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

static inline uint32_t line_all32(const uint8_t *line, uint32_t value)
{
    __m256i wanted = _mm256_set1_epi32((int)value);
    __m256i low = _mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)line), wanted);
    __m256i high = _mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)line + 1), wanted);

    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(low)) |
           (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(high)) << 8;
}

/* Which of the first slots hold value: bit i for slot i. With the width known
 * when compiled, addresses and shifts are constants and the registers are laid
 * out one after the other. */
INLINED uint64_t line_match_in(const uint8_t *line, uint32_t index, uint32_t slots, uint32_t value)
{
    const uint32_t bits = line_width[index];
    uint64_t found = bits == 32   ? line_all32(line, value)
                     : bits == 16 ? line_block16(line, value)
                     : bits == 8  ? line_all8(line, value)
                                  : line_block(line, index, 0, value);

    if (bits != 8 && LINE_ROOM / bits > 32)
        found |= (uint64_t)line_block(line, index, 1, value) << 32;
    return found & ((UINT64_C(1) << slots) - 1);
}

/* ---- a width that is not known when compiled ---- */

/* The same tables with lanes of four bytes for every width, so that lines of any
 * width go one way: no branch on the width, which would be guessed wrong. */
#define WIDE_GROUP(r) (8 * ((r) / 4) + (r) % 4) /* four slots; its other half is four groups on */
#define WIDE_BASE(w, g) LEAST((g)*4 * (w) >> 3, LAST)
#define WIDE_BYTE(w, g, i) (((g)*4 + (i) / 4) * (w) / 8 + (i) % 4 - WIDE_BASE(w, g))
#define WIDE_PICK(w, g, i) (WIDE_BYTE(w, g, i) < 16 ? WIDE_BYTE(w, g, i) : 0x80)
#define WIDE_PICK4(w, g, i)                                                                        \
    WIDE_PICK(w, g, i), WIDE_PICK(w, g, i + 1), WIDE_PICK(w, g, i + 2), WIDE_PICK(w, g, i + 3)
#define WIDE_PICKS(w, g)                                                                           \
    WIDE_PICK4(w, g, 0), WIDE_PICK4(w, g, 4), WIDE_PICK4(w, g, 8), WIDE_PICK4(w, g, 12)
#define WIDE_TWO(w, r)                                                                             \
    {                                                                                              \
        WIDE_PICKS(w, WIDE_GROUP(r)), WIDE_PICKS(w, WIDE_GROUP(r) + 4)                             \
    }
#define WIDE_BASES(w, g)                                                                           \
    WIDE_BASE(w, g), WIDE_BASE(w, g + 1), WIDE_BASE(w, g + 2), WIDE_BASE(w, g + 3)
#define WIDE_LOW(w, i) ((i) * (w)&7)
#define WIDE_LOW4(w, i)                                                                            \
    WIDE_LOW(w, i), WIDE_LOW(w, (i) + 1), WIDE_LOW(w, (i) + 2), WIDE_LOW(w, (i) + 3)
#define WIDE_MASK(w, i) ((UINT32_C(0xffffffff) >> (32 - (w))) << WIDE_LOW(w, i))
#define WIDE_MASK4(w, i)                                                                           \
    WIDE_MASK(w, i), WIDE_MASK(w, (i) + 1), WIDE_MASK(w, (i) + 2), WIDE_MASK(w, (i) + 3)
#define WIDE(w)                                                                                    \
    {                                                                                              \
        {WIDE_TWO(w, 0), WIDE_TWO(w, 1), WIDE_TWO(w, 2), WIDE_TWO(w, 3),                           \
         WIDE_TWO(w, 4), WIDE_TWO(w, 5), WIDE_TWO(w, 6), WIDE_TWO(w, 7)},                          \
            {{WIDE_LOW4(w, 0), WIDE_LOW4(w, 0)}, {WIDE_LOW4(w, 4), WIDE_LOW4(w, 4)}},              \
            {{WIDE_MASK4(w, 0), WIDE_MASK4(w, 0)}, {WIDE_MASK4(w, 4), WIDE_MASK4(w, 4)}},          \
            {WIDE_BASES(w, 0), WIDE_BASES(w, 4), WIDE_BASES(w, 8), WIDE_BASES(w, 12)},             \
    }

static const struct line_wide {
    _Alignas(32) uint8_t bytes[REGISTERS_MOST][32];
    _Alignas(32) uint32_t shift[2][8];
    _Alignas(32) uint32_t mask[2][8];
    uint8_t base[2 * REGISTERS_MOST];
} line_wide[LINE_WIDTHS] = {WIDE(32), WIDE(24), WIDE(20), WIDE(16), WIDE(15), WIDE(14),
                            WIDE(13), WIDE(12), WIDE(11), WIDE(10), WIDE(9),  WIDE(8)};

/* Register r of the line's slots, each where it lies in its lane. */
INLINED __m256i line_wide_lanes(const uint8_t *line, const struct line_wide *t, const uint32_t r)
{
    const __m128i *first = (const __m128i *)(line + t->base[WIDE_GROUP(r)]);
    const __m128i *second = (const __m128i *)(line + t->base[WIDE_GROUP(r) + 4]);
    __m256i bytes = _mm256_set_m128i(_mm_loadu_si128(second), _mm_loadu_si128(first));
    __m256i picks = _mm256_load_si256((const __m256i *)t->bytes[r]);
    __m256i mask = _mm256_load_si256((const __m256i *)t->mask[r % 2]);

    return _mm256_and_si256(_mm256_shuffle_epi8(bytes, picks), mask);
}

/* How many slots are in use, of those that end before bit `room`: the highest bit that
 * is set lies in the last of them. */
static inline uint32_t line_used(const uint8_t *line, uint32_t index, uint32_t room)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)line), zero = _mm256_setzero_si256();
    __m256i limit = _mm256_set_epi64x((int64_t)((UINT64_C(1) << (room - 448)) - 1), -1, -1, -1);
    __m256i high = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)line + 1), limit);
    uint32_t empty =
        (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(low, zero))) |
        (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(high, zero))) << 4;
    uint32_t last = 31 - (uint32_t)__builtin_clz((~empty & 255) | 1);
    uint64_t word =
        bits_load64(line + 8 * last) & (last == 7 ? (UINT64_C(1) << (room - 448)) - 1 : UINT64_MAX);
    uint32_t bit = 64 * last + 63 - (uint32_t)__builtin_clzll(word | 1);
    uint32_t used = bit / line_width[index] + 1;

    return word ? used : 0;
}

/* All slots as numbers of 32 bits, without their low bits. */
static inline void line_read(const uint8_t *line, uint32_t index, uint32_t used, uint32_t dropped,
                             uint32_t values[LINE_SLOTS_MOST + 1])
{
    const struct line_wide *t = &line_wide[index];

    for (uint32_t r = 0; r < (used > 32 ? 8 : 4); r++) {
        __m256i shift = _mm256_load_si256((const __m256i *)t->shift[r % 2]);
        __m256i numbers = _mm256_srlv_epi32(line_wide_lanes(line, t, r), shift);

        numbers = _mm256_srl_epi32(numbers, _mm_cvtsi32_si128((int)dropped));
        _mm_storeu_si128((__m128i *)(values + 4 * WIDE_GROUP(r)), _mm256_castsi256_si128(numbers));
        _mm_storeu_si128((__m128i *)(values + 4 * WIDE_GROUP(r) + 16),
                         _mm256_extracti128_si256(numbers, 1));
    }
}

/* ---- moving ---- */

struct line_halves {
    __m256i low, high;
};

INLINED struct line_halves line_load(const uint8_t *line)
{
    return (struct line_halves){_mm256_loadu_si256((const __m256i *)line),
                                _mm256_loadu_si256((const __m256i *)line + 1)};
}

INLINED void line_store(uint8_t *line, struct line_halves h)
{
    _mm256_storeu_si256((__m256i *)line, h.low);
    _mm256_storeu_si256((__m256i *)line + 1, h.high);
}

/* Where the four words of the lower or upper half of a line begin. */
INLINED __m256i line_begins(const uint32_t half)
{
    const long long at = 256 * (long long)half;

    return _mm256_set_epi64x(at + 192, at + 128, at + 64, at);
}

/* Of one half of a line: the bits from bit n of the line on. */
INLINED __m256i line_beyond(uint32_t n, const uint32_t half)
{
    __m256i count = _mm256_subs_epu16(_mm256_set1_epi64x(n), line_begins(half));

    return _mm256_sllv_epi64(_mm256_set1_epi64x(-1), count);
}

/* Of one half of a line of slots of so many bits: ones from slot n on. */
INLINED __m256i line_from_slot(uint32_t n, const uint32_t bits, const uint32_t half)
{
    return line_beyond(n * bits, half);
}

/* ---- slots of whole bytes ---- */

/* These move by bytes: so masks need not be worked out, they lie ready. */
INLINED bool line_has_bytes(const uint32_t bits)
{
    return __builtin_constant_p(bits) && bits % 8 == 0;
}

static const _Alignas(64) uint8_t line_ones[2 * LINE_BYTES] = {LINE_REST64(255)};

/* Of both halves of a line: ones in the bytes below byte n of the line. */
INLINED struct line_halves line_below(uint32_t n)
{
    const uint8_t *ones = line_ones + LINE_BYTES - (size_t)n;

    __asm__("" : "+r"(ones)); /* else the address would be worked out twice */
    return line_load(ones);
}

/* A number at the end of each half of a register, where it is carried into slot 0; where slots
 * are lanes, in all of them. */
INLINED __m256i line_everywhere(const uint32_t bits, uint32_t value)
{
    return bits == 8    ? _mm256_set1_epi8((char)value)
           : bits == 16 ? _mm256_set1_epi16((short)value)
                        : _mm256_set1_epi32((int)(value << (32 - bits)));
}

/* Each half of a register one slot of whole bytes up, with what the half before it carries. */
INLINED __m256i line_carried(__m256i halves, __m256i before, const uint32_t bits)
{
    return bits == 8    ? _mm256_alignr_epi8(halves, before, 15)
           : bits == 16 ? _mm256_alignr_epi8(halves, before, 14)
           : bits == 24 ? _mm256_alignr_epi8(halves, before, 13)
                        : _mm256_alignr_epi8(halves, before, 12);
}

/* All slots one place down, and value in slot 0. */
INLINED struct line_halves line_shifted(struct line_halves h, const uint32_t bits, uint32_t value)
{
    const int up = (int)bits, down = 64 - (int)bits;
    __m256i middle = _mm256_permute2x128_si256(h.low, h.high, 0x21);

    if (line_has_bytes(bits)) {
        __m256i begin =
            _mm256_inserti128_si256(line_everywhere(bits, value), _mm256_castsi256_si128(h.low), 1);

        return (struct line_halves){line_carried(h.low, begin, bits),
                                    line_carried(h.high, middle, bits)};
    }
    /* Word by word: the one before the first is value, where it carries into slot 0. */
    __m256i own = _mm256_zextsi128_si256(_mm_cvtsi64_si128((long long)((uint64_t)value << down)));
    __m256i before_low =
        _mm256_blend_epi32(_mm256_permute4x64_epi64(h.low, _MM_SHUFFLE(2, 1, 0, 0)), own, 3);
    __m256i before_high = _mm256_alignr_epi8(h.high, middle, 8);

    return (struct line_halves){
        _mm256_or_si256(_mm256_slli_epi64(h.low, up), _mm256_srli_epi64(before_low, down)),
        _mm256_or_si256(_mm256_slli_epi64(h.high, up), _mm256_srli_epi64(before_high, down))};
}

/* A line of which the first n slots are changed for those of another. */
INLINED struct line_halves line_fronted(struct line_halves old, struct line_halves down,
                                        const uint32_t bits, uint32_t n)
{
    if (line_has_bytes(bits)) {
        struct line_halves moved = line_below(n * (bits / 8));

        return (struct line_halves){_mm256_blendv_epi8(old.low, down.low, moved.low),
                                    _mm256_blendv_epi8(old.high, down.high, moved.high)};
    }
    __m256i low = line_from_slot(n, bits, 0), high = line_from_slot(n, bits, 1);

    return (struct line_halves){
        _mm256_xor_si256(old.low, _mm256_andnot_si256(low, _mm256_xor_si256(old.low, down.low))),
        _mm256_xor_si256(old.high,
                         _mm256_andnot_si256(high, _mm256_xor_si256(old.high, down.high)))};
}

/* line_move() to slot 0, which is what most are; of slots of this many bits. */
INLINED void line_to_front(uint8_t *out, const uint8_t *line, const uint32_t index, uint32_t from,
                           uint32_t print)
{
    const uint32_t bits = line_width[index], value = line_number(index, print);
    struct line_halves old = line_load(line);

    line_store(out, line_fronted(old, line_shifted(old, bits, value), bits, from + 1));
}

/* line_to_front() of the slot found (a bit of that number is set) or, if there is none, of an empty
 * one. False if there is no empty one either: then the line stays. The spare one is not
 * needed here. */
INLINED bool line_find_front(uint8_t *line, const uint32_t index, uint64_t found, bool full,
                             uint32_t last, uint32_t print, uint8_t *spare)
{
    const uint32_t bits = line_width[index], value = line_number(index, print);
    uint64_t any = found | (uint64_t)!full << last;
    uint32_t moved = (uint32_t)(__builtin_ctzll(any | UINT64_C(1) << 63) + 1) & 63; /* 0: none */
    struct line_halves old = line_load(line);

    (void)spare;
    line_store(line, line_fronted(old, line_shifted(old, bits, value), bits, moved));
    return any;
}

/* line_to_front() of a line whose slots from `live` on are empty from now on, and whose
 * last bytes, from bit `room` on, become those of `tail`, a word. */
INLINED void line_renew(uint8_t *out, const uint8_t *line, const uint32_t index,
                        const uint32_t room, uint32_t live, uint32_t from, uint32_t print,
                        uint64_t tail)
{
    const uint32_t bits = line_width[index], value = line_number(index, print);
    struct line_halves h = line_load(line);

    (void)room; /* no slot reaches beyond it */
    if (line_has_bytes(bits)) {
        struct line_halves kept = line_below(live * (bits / 8));

        h.low = _mm256_and_si256(h.low, kept.low);
        h.high = _mm256_and_si256(h.high, kept.high);
    } else {
        h.low = _mm256_andnot_si256(line_from_slot(live, bits, 0), h.low);
        h.high = _mm256_andnot_si256(line_from_slot(live, bits, 1), h.high);
    }
    h = line_fronted(h, line_shifted(h, bits, value), bits, from + 1);
    h.high = _mm256_or_si256(h.high, _mm256_set_epi64x((int64_t)tail, 0, 0, 0));
    line_store(out, h);
}

/* line_move() of slots that are lanes: what lies before slot `to` becomes the value, so that it is
 * carried into that slot; then slots to..from are taken from the result, and the others stay. */
INLINED void line_move_lanes(uint8_t *out, const uint8_t *line, const uint32_t bits, uint32_t from,
                             uint32_t to, uint32_t value)
{
    struct line_halves old = line_load(line);
    __m256i all = line_everywhere(bits, value);
    struct line_halves before = line_below(to * (bits / 8));
    struct line_halves upto = line_below((from + 1) * (bits / 8));
    struct line_halves filled = {_mm256_blendv_epi8(old.low, all, before.low),
                                 _mm256_blendv_epi8(old.high, all, before.high)};

    filled = line_shifted(filled, bits, value);
    line_store(
        out, (struct line_halves){
                 _mm256_blendv_epi8(old.low, filled.low, _mm256_andnot_si256(before.low, upto.low)),
                 _mm256_blendv_epi8(old.high, filled.high,
                                    _mm256_andnot_si256(before.high, upto.high))});
}

/* A number in slot n of one half of a line, if it is there, and zeros. */
INLINED __m256i line_placed(uint32_t n, const uint32_t bits, const uint32_t half, uint32_t value)
{
    __m256i number = _mm256_set1_epi64x(value), where = _mm256_set1_epi64x(n * bits);

    return _mm256_or_si256(_mm256_sllv_epi64(number, _mm256_sub_epi64(where, line_begins(half))),
                           _mm256_srlv_epi64(number, _mm256_sub_epi64(line_begins(half), where)));
}

/* One half of line_move(): it stays before slot `to` and after slot `from`, and has the value
 * in slot `to`. */
INLINED __m256i line_moved(__m256i old, __m256i shifted, const uint32_t bits, const uint32_t half,
                           uint32_t from, uint32_t to, uint32_t value)
{
    __m256i after = line_from_slot(from + 1, bits, half), begin = line_from_slot(to, bits, half);
    __m256i moved = _mm256_andnot_si256(after, line_from_slot(to + 1, bits, half));
    __m256i kept = _mm256_andnot_si256(_mm256_andnot_si256(after, begin), old);

    return _mm256_or_si256(_mm256_or_si256(_mm256_and_si256(shifted, moved), kept),
                           line_placed(to, bits, half, value));
}

/* Shift the slots to..from-1 one place down and put a print in slot `to`. */
INLINED void line_move(uint8_t *out, const uint8_t *line, const uint32_t index, uint32_t from,
                       uint32_t to, uint32_t print)
{
    const uint32_t bits = line_width[index], value = line_number(index, print);

    if (line_has_bytes(bits) && bits != 24) {
        line_move_lanes(out, line, bits, from, to, value);
        return;
    }
    struct line_halves old = line_load(line), down = line_shifted(old, bits, 0);

    line_store(out,
               (struct line_halves){line_moved(old.low, down.low, bits, 0, from, to, value),
                                    line_moved(old.high, down.high, bits, 1, from, to, value)});
}

#include "base/line_avx2_cut.h"

#endif
