/* weir_lines.h - what observe and ask of the weir filter do to one line. Included by
 * weir_paths.h, which has one key or many go there.
 *
 * One line per key is so little work that what lies around it counts: a branch that
 * is guessed wrong costs as much as the line. So hits and misses go the same way:
 * find the fingerprint, work out from which slot to which it moves, move it. Only which
 * width a line has branches, for each is compiled by itself. A key whose line is full and
 * to be cut goes that way too, but is put off: it moves in a spare line, its own is marked,
 * and is cut later, with others (make_up). */
#ifndef WEIR_FILTER_RECENT_WEIR_LINES_H
#define WEIR_FILTER_RECENT_WEIR_LINES_H

#include "filter/recent/recent.h"

/* What is done to a line; each is compiled by itself. */
enum manner {
    ASKED,
    ASKED_TIMED, /* with a window */
    RECENT,      /* new keys enter at the front */
    DEEP,        /* new keys enter at a depth */
    RANKED,      /* at a depth by importance */
    TIMED,       /* with a window */
    TIMED_ONCE   /* with a window that repeats do not renew */
};

/* A key and its line. */
struct spot {
    uint8_t *line;
    uint32_t print;
    uint32_t depth; /* at which it enters, by importance */
};

/* What the keys of a batch share. */
struct common {
    uint32_t floor;              /* index of the narrowest width */
    uint32_t slots[LINE_WIDTHS]; /* by width */
    uint32_t depth;              /* at which new keys enter, */
    uint32_t tried_depth;        /* and in the lines that try another */
    bool tried, counts;          /* the last key's line: one that tries; at the floor */
    uint32_t at;                 /* the slot it was found in, or LINE_SLOTS_MOST */
    struct line_rounds rounds;
    _Alignas(LINE_BYTES) uint8_t spare[LINE_BYTES]; /* where keys move that are put off */
    uint64_t epoch;                                 /* with a window */
    uint64_t first;                                 /* arrivals before the batch */
    bool many; /* enough of them that steps of importance pay */
    bool has_steps;
    struct steps steps;
};

/* What lines of one width share. */
struct lines {
    bool at_floor;
    uint32_t slots;
    uint64_t last_mask; /* where the last slot lies: of the eight bytes from */
    uint32_t last_byte; /* here on, these bits */
};

#define MANY 64 /* keys; guessed */

INLINED struct spot spot_of(uint8_t *cells, uint64_t lines, struct weir_key key)
{
    return (struct spot){cells + place(key, 0, lines) * LINE_BYTES, line_print(key.hi), 0};
}

/* The same, of a key of which it was worked out before: the number of the line, and the print. */
INLINED struct spot spot_located(uint8_t *cells, uint64_t located)
{
    return (struct spot){cells + (located >> 32) * LINE_BYTES, (uint32_t)located, 0};
}

INLINED uint32_t room_of(const enum manner m)
{
    return m == TIMED || m == TIMED_ONCE || m == ASKED_TIMED ? LINE_ROOM_WINDOW : LINE_ROOM;
}

static __attribute__((noinline)) bool find_steps(const weir *w, struct common *b)
{
    return importance_steps(&w->config.importance, &w->sample, b->slots[b->floor], &b->steps);
}

/* How deep a key enters, by importance: the top class at the front, the lowest at the end. */
INLINED uint32_t depth_of(const weir *w, uint32_t value, const struct common *b)
{
    uint32_t slots = b->slots[b->floor];

    return slots - importance_class(&w->config.importance, &w->sample, value, slots);
}

/* The i-th key of a batch may be drawn for the sample. */
INLINED void learn(weir *w, uint32_t value, size_t i, struct common *b)
{
    if (!importance_samples(&w->config.importance) || !sample_draws(&w->sample, b->first + i))
        return;
    sample_take(&w->sample, value, b->first + i, w->config.seed);
    b->has_steps = b->many && find_steps(w, b);
}

/* How deep n keys enter, from the i-th of a batch on; before, their importance. The sample learns
 * from every arrival, whatever becomes of it: so this may be worked out long before their lines are
 * there. */
static inline void find_depths(weir *w, uint32_t *depth, size_t i, size_t n, struct common *b)
{
    const bool samples = importance_samples(&w->config.importance);
    const uint32_t slots = b->slots[b->floor];

    for (size_t done = 0, some; done < n; done += some) {
        uint32_t *now = depth + done;

        learn(w, *now, i + done, b);
        some = n - done;
        if (samples) {
            uint64_t alike = sample_rests(&w->sample, b->first + i + done) + 1;

            some = alike < some ? (size_t)alike : some;
        }
        if (b->has_steps) {
            steps_classes(&b->steps, now, now, some);
            for (size_t j = 0; j < some; j++)
                now[j] = slots - now[j];
        } else {
            for (size_t j = 0; j < some; j++)
                now[j] = depth_of(w, now[j], b);
        }
    }
}

/* n: of keys. */
static inline void share(const weir *w, struct common *b, const enum manner m, size_t n)
{
    for (b->floor = 0; line_width[b->floor] > w->config.width; b->floor++)
        b->slots[b->floor] = slots_at(&w->config, b->floor);
    b->slots[b->floor] = slots_at(&w->config, b->floor);
    if (m == ASKED || m == ASKED_TIMED) /* damaged cells of a view may say any width */
        for (uint32_t i = b->floor + 1; i < LINE_WIDTHS; i++)
            b->slots[i] = slots_at(&w->config, i);
    b->rounds.round = 0;
    b->epoch = w->reg[EPOCH];
    if (m == RANKED) {
        b->first = w->shown;
        b->many = n >= MANY;
        b->has_steps = b->many && find_steps(w, b);
    }
    if (m != DEEP)
        return;
    b->depth = weir_depth(w);
    b->tried_depth = is_adaptive(&w->config) ? weir_tried_depth(&w->config) : b->depth;
}

/* The same for lines of one width. Where it is a constant, so is whether it is the floor. */
INLINED struct lines lines_of(const struct common *b, const uint32_t index, bool at_floor)
{
    const uint32_t bits = line_width[index];
    struct lines of = {.at_floor = at_floor, .slots = b->slots[index]};
    uint32_t shift;

    of.last_byte = line_word(bits, of.slots - 1, &shift);
    of.last_mask = ((UINT64_C(1) << bits) - 1) << shift;
    return of;
}

/* ---- asking ---- */

/* Here and below `index` is that of the line's width, and a constant. */
INLINED bool ask_line(const weir *w, struct spot s, const uint32_t index, uint32_t slots,
                      const enum manner m)
{
    if (m == ASKED_TIMED)
        slots = live_slots(w, s.line, slots);
    return line_match_in(s.line, index, slots, s.print >> (32 - line_width[index])) != 0;
}

/* ---- making room ---- */

/* Is a key's line one of those that try another depth? */
INLINED bool tries(const weir *w, struct spot s)
{
    return (uint64_t)(s.line - w->cells) / LINE_BYTES % TRIED_LINES == 0;
}

INLINED uint32_t depth_in(const weir *w, struct spot s, const struct common *b)
{
    return tries(w, s) ? b->tried_depth : b->depth;
}

/* Cut a full line above the floor, until it is not full or there. Tells how many slots are in use
 * then, and what index it has. */
static uint32_t make_room(const weir *w, uint8_t *line, uint32_t *index, const enum manner m,
                          struct common *b)
{
    uint32_t used = b->slots[*index];

    do {
        uint32_t kept = line_cut(line, *index, used, room_of(m), m != TIMED, &b->rounds);

        if (!kept) {
            weir_cut(w, line);
            kept = line_used(line, *index + 1, room_of(m));
        }
        ++*index;
        used = kept;
    } while (*index != b->floor && used == b->slots[*index]);
    return used;
}

/* Are keys put off? In windows it does not pay. */
INLINED bool puts_off(const enum manner m)
{
    return m == RECENT || m == DEEP || m == RANKED;
}

#define MARKED 128 /* in a line's last byte */

/* Is a line full? */
INLINED bool is_full(const uint8_t *line, struct lines of)
{
    return bits_load64(line + of.last_byte) & of.last_mask;
}

/* Only after it has moved: a line of which a byte was just written is slow to read. */
INLINED void mark_if_put_off(struct spot s, const uint32_t index, bool put_off)
{
    s.line[LINE_BYTES - 1] = (uint8_t)(index | put_off * MARKED);
}

/* A slot moved to the front: each quarter that did not have it has one more. Two quarters at
 * a time, twelve bits apart, so that the sixth of each says whether its mark is not above. */
INLINED uint32_t marks_moved(uint32_t marks, uint32_t from)
{
    const uint32_t field = 0x3f03f, one = 0x1001;
    uint32_t most = from * one + 64 * one;
    uint32_t even = (most - (marks & field)) >> 6 & one;
    uint32_t odd = (most - (marks >> 6 & field)) >> 6 & one;

    return marks + even + (odd << 6);
}

/* Show a key that is not in its line, which is cut. If it was put off the line is marked. */
static __attribute__((noinline)) void make_up(weir *w, struct spot s, const enum manner m,
                                              struct common *b)
{
    uint32_t index = line_index(s.line) & (MARKED - 1u);

    if (m == TIMED)
        weir_age(w, s.line);
    uint32_t used = make_room(w, s.line, &index, m, b);
    uint32_t bits = line_width[index], last = b->slots[index] - 1, print = s.print >> (32 - bits);
    if (m == TIMED) {
        uint32_t marks = marks_moved((uint32_t)(bits_load64(s.line + 56) >> 16) & 0xffffff, last);

        w->reg[OVERFLOW] += used > last;
        line_renew(s.line, s.line, bits, LINE_ROOM_WINDOW, last + 1, last, print,
                   (uint64_t)index << 56 | (w->reg[EPOCH] & (QUARTER_WRAP - 1)) << 40 |
                       (uint64_t)marks << 16);
        return;
    }
    if (m == RECENT) {
        line_to_front(s.line, s.line, bits, last, print);
        return;
    }
    uint32_t depth = m == RANKED ? s.depth : depth_in(w, s, b);
    depth = depth < used ? depth : used;
    line_move(s.line, s.line, bits, last, depth < last ? depth : last, print);
}

/* ---- by recency ---- */

/* The slot found, or the last one, goes to the front. */
INLINED uint64_t show_front(struct spot s, const uint32_t index, struct lines of, struct common *b,
                            bool *put_off)
{
    const uint32_t bits = line_width[index];
    uint32_t last = of.slots - 1, value = s.print >> (32 - bits);
    uint64_t found = line_match_in(s.line, index, of.slots, value);

    if (of.at_floor) {
        line_to_front(s.line, s.line, bits, (uint32_t)__builtin_ctzll(found | UINT64_C(1) << last),
                      value);
        return found;
    }
    *put_off = !line_find_front(s.line, bits, found, is_full(s.line, of), last, value, b->spare);
    mark_if_put_off(s, index, *put_off);
    return found;
}

/* ---- at a depth ---- */

/* One of two, without a branch: it would be guessed wrong for every other key. */
INLINED uint32_t either(bool first, uint32_t a, uint32_t b)
{
    return b ^ ((a ^ b) & -(uint32_t)first);
}

/* A hit moves to slot `up`, unless it is there or before it; a new key enters at slot
 * `down`, or behind the last one in use. */
INLINED uint64_t show_at(struct spot s, const uint32_t index, struct lines of, uint32_t up,
                         uint32_t down, struct common *b, bool *put_off)
{
    const uint32_t bits = line_width[index];
    uint32_t last = of.slots - 1, used = of.slots, value = s.print >> (32 - bits);
    uint64_t found = line_match_in(s.line, index, of.slots, value);
    uint32_t at = (uint32_t)__builtin_ctzll(found | UINT64_C(1) << 63);

    if (!of.at_floor || !is_full(s.line, of)) /* at the floor most are, or most are not */
        used = (uint32_t)__builtin_ctzll(line_match_in(s.line, index, of.slots, 0) |
                                         UINT64_C(1) << of.slots);
    down = down < last ? down : last;
    down = down < used ? down : used;
    up = up < at ? up : at;
    uint32_t from = either(found, at, last), to = either(found, up, down);
    if (of.at_floor) {
        line_move(s.line, s.line, bits, from, to, value);
        return found;
    }
    *put_off = (used > last) & !found;
    line_move(line_or_spare(s.line, b->spare, *put_off), s.line, bits, from, to, value);
    mark_if_put_off(s, index, *put_off);
    return found;
}

INLINED bool show_deep(weir *w, struct spot s, const uint32_t index, struct lines of,
                       struct common *b, bool *put_off)
{
    b->tried = tries(w, s);
    b->counts = of.at_floor;
    uint32_t depth = depth_in(w, s, b);
    uint64_t found =
        depth ? show_at(s, index, of, 0, depth, b, put_off) : show_front(s, index, of, b, put_off);
    b->at = (uint32_t)__builtin_ctzll(found | UINT64_C(1) << LINE_SLOTS_MOST);
    return found != 0;
}

/* ---- with a window ---- */

/* A line of which all is too old begins anew, with one key. */
static __attribute__((noinline)) bool begin_anew(const weir *w, struct spot s)
{
    const uint64_t marks = 1 | 1 << 6 | 1 << 12 | 1 << 18;

    memset(s.line, 0, LINE_BYTES);
    bits_store64(s.line, s.print);
    bits_store64(s.line + 56, (w->reg[EPOCH] & (QUARTER_WRAP - 1)) << 40 | marks << 16);
    return false;
}

INLINED bool show_timed(weir *w, struct spot s, const uint32_t index, struct lines of,
                        const enum manner m, struct common *b)
{
    const uint32_t bits = line_width[index];
    uint64_t tail = bits_load64(s.line + 56), now = b->epoch & (QUARTER_WRAP - 1);
    uint64_t aged = aged_marks(tail, line_age(b->epoch, tail));
    uint32_t slots = of.slots, live = (uint32_t)(aged >> 24);
    live = live < slots ? live : slots;
    uint64_t found = line_match_in(s.line, index, live, s.print >> (32 - bits));

    if (m == TIMED_ONCE && found)
        return true;
    if (__builtin_expect(live == 0, false))
        return begin_anew(w, s);
    bool full = (live == slots) & !found & is_full(s.line, of);
    if (__builtin_expect(full & !of.at_floor, false)) { /* rare: not put off */
        make_up(w, s, TIMED, b);
        return false;
    }
    uint32_t at = (uint32_t)__builtin_ctzll(found | UINT64_C(1) << (slots - 1));
    w->reg[OVERFLOW] += full;
    line_renew(s.line, s.line, bits, LINE_ROOM_WINDOW, live, at, s.print >> (32 - bits),
               (uint64_t)index << 56 | now << 40 |
                   (uint64_t)marks_moved((uint32_t)aged & 0xffffff, at) << 16);
    return found != 0;
}

/* ---- all of them ---- */

/* Tells whether a key is in its line, and whether it is put off: then its line is marked. */
INLINED bool visit_at(weir *w, struct spot s, const uint32_t index, struct lines of,
                      const enum manner m, struct common *b, bool *put_off)
{
    *put_off = false;
    return m == RECENT   ? show_front(s, index, of, b, put_off) != 0
           : m == DEEP   ? show_deep(w, s, index, of, b, put_off)
           : m == RANKED ? show_at(s, index, of, s.depth / 2, s.depth, b, put_off) != 0
           : m == TIMED || m == TIMED_ONCE ? show_timed(w, s, index, of, m, b)
                                           : ask_line(w, s, index, of.slots, m);
}

/* Each width is compiled by itself: DO(i) for a line's index. Builds that look for mistakes
 * are compiled for all widths at once, twelve times as fast. */
#ifdef WEIR_DEBUG
#define BY_WIDTH(index, DO)                                                                        \
    {                                                                                              \
        DO((index) < LINE_WIDTHS ? (index) : LINE_WIDTHS - 1)                                      \
    }
#else
#define WIDTH_CASE(i, DO)                                                                          \
    case i:                                                                                        \
        DO(i)                                                                                      \
        break;
/* clang-format off */
#define BY_WIDTH(index, DO)                                                                        \
    switch (index) {                                                                               \
    WIDTH_CASE(0, DO) WIDTH_CASE(1, DO) WIDTH_CASE(2, DO) WIDTH_CASE(3, DO) WIDTH_CASE(4, DO)      \
    WIDTH_CASE(5, DO) WIDTH_CASE(6, DO) WIDTH_CASE(7, DO) WIDTH_CASE(8, DO) WIDTH_CASE(9, DO)      \
    WIDTH_CASE(10, DO)                                                                             \
    default:                                                                                       \
        DO(11)                                                                                     \
    }
/* clang-format on */
#endif

INLINED bool visit(weir *w, struct spot s, const enum manner m, struct common *b)
{
    bool found, put_off;

#define VISIT(i) found = visit_at(w, s, i, lines_of(b, i, (i) == b->floor), m, b, &put_off);
    BY_WIDTH(line_index(s.line), VISIT)
#undef VISIT
    if (puts_off(m) && put_off)
        make_up(w, s, m, b);
    return found;
}

#endif
