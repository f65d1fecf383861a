/* recent_groups.h - many keys of the filter recent, by the width of their lines; included by
 * recent_paths.h where it is compiled for AVX2, or for any machine.
 *
 * Each width is compiled by itself. In a block, keys whose lines are of one width are shown
 * together: in a filter with room to spare lines are of several, and a jump by width from key to
 * key would be guessed wrong. */

#define BURST 8 /* lines that are fetched together; measured by bench/speed */

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
                         const enum mode m)
{
    for (uint32_t i = 0; i < late->n; i++)
        make_up(t->w, nth_slot_ref(k, late->at[i], m), m, t->b);
    late->n = 0;
}

/* Show one key of a group. If its line is not of their width any more, an earlier key of
 * the group is about to have it cut, or has. */
INLINED bool show_one(const struct walk *t, const struct block *k, uint32_t i, struct late *late,
                      const uint32_t index, struct lines of, const enum mode m)
{
    struct slot_ref s = nth_slot_ref(k, i, m);

    if (m != ASKED && m != ASKED_TIMED && __builtin_expect(line_index(s.line) != index, false)) {
        if (puts_off(m))
            make_up_all(t, k, late, m);
        return visit_counted(t, s, m);
    }
    uint64_t found = find(s, index, of, m, t->b);
    bool shown = show(t->w, s, index, of, found, m, t->b);
    if (m == DEEP)
        count_found(t, s, of, found);
    if (puts_off(m) && !of.at_floor) {
        late->at[late->n] = i;
        late->n += !shown;
    }
    return found;
}

/* Show the keys of a group, whose lines are of one width; `first` is the first key of their
 * block. For each of them another line is fetched. */
INLINED void show_group(const struct walk *t, size_t first, uint64_t group, size_t ahead,
                        const uint32_t index, const bool at_floor, const enum mode m,
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
INLINED void show_block(const struct walk *t, size_t first, size_t n, const enum mode m,
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
