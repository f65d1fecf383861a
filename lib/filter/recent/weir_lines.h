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

/* A key on its way: its line is being fetched. */
struct spot {
    uint8_t *line;
    uint32_t print;
    uint32_t depth; /* at which it enters, by importance */
};

/* What the keys of a batch share. */
struct common {
    uint32_t floor;              /* index of the narrowest width */
    uint32_t slots[LINE_WIDTHS]; /* by width */
    struct {                     /* where the last of them lies: of the eight bytes from */
        uint64_t mask;           /* `byte` on, these bits */
        uint32_t byte;
    } last[LINE_WIDTHS];
    uint32_t depth;       /* at which new keys enter, */
    uint32_t tried_depth; /* and in the lines that try another */
    bool tried, counts;   /* the last key's line: one that tries; at the floor */
    uint32_t at;          /* the slot it was found in, or LINE_SLOTS_MOST */
    struct line_rounds rounds;
    bool put_off;                                   /* was the last key? Its line is marked then */
    _Alignas(LINE_BYTES) uint8_t spare[LINE_BYTES]; /* where such keys move */
    uint64_t epoch;                                 /* with a window */
    uint64_t first;                                 /* arrivals before the batch */
    bool many; /* enough of them that steps of importance pay */
    bool has_steps;
    struct steps steps;
};

#define MANY 64 /* keys; guessed */

INLINED struct spot spot_of(uint8_t *cells, uint64_t lines, struct weir_key key)
{
    struct spot s = {cells + place(key, 0, lines) * LINE_BYTES, line_print(key.hi), 0};

    cells_fetch(s.line);
    return s;
}

/* The same, of a key of which it was worked out before: the number of the line, and the print. */
INLINED struct spot spot_located(uint8_t *cells, uint64_t located)
{
    struct spot s = {cells + (located >> 32) * LINE_BYTES, (uint32_t)located, 0};

    cells_fetch(s.line);
    return s;
}

INLINED uint32_t room_of(const enum manner m)
{
    return m == TIMED || m == TIMED_ONCE || m == ASKED_TIMED ? LINE_ROOM_WINDOW : LINE_ROOM;
}

static __attribute__((noinline)) bool find_steps(const weir *w, struct common *b)
{
    return importance_steps(&w->config.importance, &w->sample, b->slots[b->floor], &b->steps);
}

/* How deep the i-th key of a batch enters, by importance: the top class at the front, the lowest at
 * the end. The sample learns from every arrival, whatever becomes of it: so this may be worked out
 * long before its line is there. */
INLINED uint32_t depth_of(weir *w, uint32_t value, size_t i, struct common *b)
{
    const struct importance *imp = &w->config.importance;
    uint32_t slots = b->slots[b->floor];

    if (importance_samples(imp) && sample_draws(&w->sample, b->first + i)) {
        sample_take(&w->sample, value, b->first + i, w->config.seed);
        b->has_steps = b->many && find_steps(w, b);
    }
    return slots - (b->has_steps ? steps_class(&b->steps, value)
                                 : importance_class(imp, &w->sample, value, slots));
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

/* The same for lines of one width. */
static inline void share_last(struct common *b, uint32_t index)
{
    uint32_t bits = line_width[index], shift;

    b->last[index].byte = line_word(bits, b->slots[index] - 1, &shift);
    b->last[index].mask = ((UINT64_C(1) << bits) - 1) << shift;
}

/* ---- asking ---- */

/* Here and below `index` is that of the line's width, and a constant. */
INLINED bool ask_line(const weir *w, struct spot s, const uint32_t index, const enum manner m,
                      const struct common *b)
{
    uint32_t slots = b->slots[index];

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
INLINED bool is_full(const uint8_t *line, const uint32_t index, const struct common *b)
{
    return bits_load64(line + b->last[index].byte) & b->last[index].mask;
}

/* Where a key moves: in its line, or if it is to be put off in the spare one. Without a branch: it
 * would be guessed wrong. */
INLINED uint8_t *place_of(struct spot s, const uint32_t index, bool put_off, struct common *b)
{
    uintptr_t own = (uintptr_t)s.line, spare = (uintptr_t)b->spare;

    if (index == b->floor)
        return s.line;
    b->put_off = put_off;
    return (uint8_t *)(own ^ ((own ^ spare) & -(uintptr_t)put_off));
}

/* Only after it has moved: a line of which a byte was just written is slow to read. */
INLINED void mark_if_put_off(struct spot s, const uint32_t index, const struct common *b)
{
    if (index != b->floor)
        s.line[LINE_BYTES - 1] = (uint8_t)(index | b->put_off * MARKED);
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
    uint32_t depth = m == RANKED ? s.depth : m == DEEP ? depth_in(w, s, b) : 0;
    depth = depth < used ? depth : used;
    line_move(s.line, s.line, bits, last, depth < last ? depth : last, print);
}

/* ---- by recency ---- */

/* The slot found, or the last one, goes to the front. */
INLINED uint64_t show_front(struct spot s, const uint32_t index, struct common *b)
{
    const uint32_t bits = line_width[index];
    uint32_t last = b->slots[index] - 1;
    uint64_t found = line_match_in(s.line, index, last + 1, s.print >> (32 - bits));

    line_to_front(place_of(s, index, is_full(s.line, index, b) & !found, b), s.line, bits,
                  (uint32_t)__builtin_ctzll(found | UINT64_C(1) << last), s.print >> (32 - bits));
    mark_if_put_off(s, index, b);
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
INLINED uint64_t show_at(struct spot s, const uint32_t index, uint32_t up, uint32_t down,
                         struct common *b)
{
    const uint32_t bits = line_width[index];
    uint32_t last = b->slots[index] - 1;
    uint64_t found = line_match_in(s.line, index, last + 1, s.print >> (32 - bits));
    uint32_t at = (uint32_t)__builtin_ctzll(found | UINT64_C(1) << 63), used = last + 1;

    if (index != b->floor ||
        !is_full(s.line, index, b)) /* at the floor most are, or most are not */
        used = (uint32_t)__builtin_ctzll(line_match_in(s.line, index, last + 1, 0) |
                                         UINT64_C(1) << (last + 1));
    down = down < last ? down : last;
    down = down < used ? down : used;
    up = up < at ? up : at;
    line_move(place_of(s, index, (used > last) & !found, b), s.line, bits, either(found, at, last),
              either(found, up, down), s.print >> (32 - bits));
    mark_if_put_off(s, index, b);
    return found;
}

INLINED bool show_deep(weir *w, struct spot s, const uint32_t index, struct common *b)
{
    b->tried = tries(w, s);
    b->counts = index == b->floor;
    uint32_t depth = depth_in(w, s, b);
    uint64_t found = depth ? show_at(s, index, 0, depth, b) : show_front(s, index, b);
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

INLINED bool show_timed(weir *w, struct spot s, const uint32_t index, const enum manner m,
                        struct common *b)
{
    const uint32_t bits = line_width[index];
    uint64_t tail = bits_load64(s.line + 56), now = b->epoch & (QUARTER_WRAP - 1);
    uint64_t aged = aged_marks(tail, line_age(b->epoch, tail));
    uint32_t slots = b->slots[index], live = (uint32_t)(aged >> 24);
    live = live < slots ? live : slots;
    uint64_t found = line_match_in(s.line, index, live, s.print >> (32 - bits));

    if (m == TIMED_ONCE && found)
        return true;
    if (__builtin_expect(live == 0, false))
        return begin_anew(w, s);
    bool full = (live == slots) & !found & is_full(s.line, index, b);
    if (__builtin_expect(full & (index != b->floor), false)) { /* rare: not put off */
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

INLINED bool visit_at(weir *w, struct spot s, const uint32_t index, const enum manner m,
                      struct common *b)
{
    if (puts_off(m))
        b->put_off = false;
    return m == RECENT                     ? show_front(s, index, b) != 0
           : m == DEEP                     ? show_deep(w, s, index, b)
           : m == RANKED                   ? show_at(s, index, s.depth / 2, s.depth, b) != 0
           : m == TIMED || m == TIMED_ONCE ? show_timed(w, s, index, m, b)
                                           : ask_line(w, s, index, m, b);
}

/* Each width is compiled by itself: DO(i) for a line's index. Builds that look for mistakes
 * are compiled for all widths at once, twelve times as fast. */
#ifdef WEIR_DEBUG
#define BY_WIDTH(index, DO) DO((index) < LINE_WIDTHS ? (index) : LINE_WIDTHS - 1)
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
    bool found;

#define VISIT(i) found = visit_at(w, s, i, m, b);
    BY_WIDTH(line_index(s.line), VISIT)
#undef VISIT
    if (puts_off(m) && b->put_off)
        make_up(w, s, m, b);
    return found;
}

#endif
