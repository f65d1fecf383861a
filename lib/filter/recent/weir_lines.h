/* weir_lines.h - what observe and ask of the weir filter do to one line. Included by
 * weir_paths.h, which has one key or many go there.
 *
 * One line per key is so little work that what lies around it counts: a branch that
 * is guessed wrong costs as much as the line. So hits and misses go the same way:
 * find the fingerprint, work out from which slot to which it moves, move it. Two
 * things branch: which width a line has, for each is compiled by itself; and, rarely,
 * whether a full line is to be cut. */
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
    uint32_t depth;              /* at which new keys enter, */
    uint32_t tried_depth;        /* and in the lines that try another */
    bool tried, counts;          /* the last key's line: one that tries; at the floor */
    uint32_t at;                 /* the slot it was found in, or LINE_SLOTS_MOST */
    struct line_rounds rounds;
    uint64_t first; /* arrivals before the batch */
    bool many;      /* enough of them that steps of importance pay */
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

static inline bool is_full(const uint8_t *line, uint32_t slots)
{
    return line_get(line, line_width[line_index(line)], slots - 1) != 0;
}

/* Cut a full line above the floor, until it is not full or there. */
static void make_room(const weir *w, uint8_t *line, const enum manner m, struct common *b)
{
    while (line_index(line) != b->floor && is_full(line, b->slots[line_index(line)]))
        if (!line_cut(line, b->slots[line_index(line)], room_of(m), m != TIMED, &b->rounds))
            weir_cut(w, line);
}

INLINED bool is_to_be_cut(const uint8_t *line, const uint32_t index, uint64_t found,
                          const struct common *b)
{
    if (index == b->floor)
        return false;
    bool full = line_get(line, line_width[index], b->slots[index] - 1) != 0;
    return __builtin_expect(full & !found, false);
}

/* A slot moved to the front: each quarter that did not have it has one more. */
INLINED uint32_t marks_moved(uint64_t marks, uint32_t from)
{
    uint32_t moved = (uint32_t)marks;

    for (uint32_t i = 0; i < QUARTERS; i++)
        moved += (uint32_t)((marks >> 6 * i & 63) <= from) << 6 * i;
    return moved;
}

/* A key that is not in its line, and the line full, or to begin anew: the rare case,
 * for any width. */
static __attribute__((noinline)) bool show_cut(weir *w, struct spot s, uint32_t depth,
                                               const enum manner m, struct common *b)
{
    make_room(w, s.line, m, b);
    uint32_t index = line_index(s.line), bits = line_width[index], last = b->slots[index] - 1;
    uint32_t used = line_used(s.line, index, room_of(m)), print = s.print >> (32 - bits);
    if (m == TIMED) {
        uint32_t marks = marks_moved((uint32_t)(bits_load64(s.line + 56) >> 16) & 0xffffff, last);

        w->reg[OVERFLOW] += used > last;
        line_renew(s.line, bits, LINE_ROOM_WINDOW, last + 1, last, print,
                   (uint64_t)index << 56 | (w->reg[EPOCH] & (QUARTER_WRAP - 1)) << 40 |
                       (uint64_t)marks << 16);
        return false;
    }
    depth = depth < used ? depth : used;
    line_move(s.line, bits, last, depth < last ? depth : last, print);
    return false;
}

/* ---- by recency ---- */

/* The slot found, or the last one, goes to the front. */
INLINED uint64_t show_front(weir *w, struct spot s, const uint32_t index, struct common *b)
{
    const uint32_t bits = line_width[index];
    uint32_t last = b->slots[index] - 1;
    uint64_t found = line_match_in(s.line, index, last + 1, s.print >> (32 - bits));

    if (is_to_be_cut(s.line, index, found, b))
        return show_cut(w, s, 0, RECENT, b);
    line_to_front(s.line, bits, (uint32_t)__builtin_ctzll(found | UINT64_C(1) << last),
                  s.print >> (32 - bits));
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
INLINED uint64_t show_at(weir *w, struct spot s, const uint32_t index, uint32_t up, uint32_t down,
                         struct common *b)
{
    const uint32_t bits = line_width[index];
    uint32_t last = b->slots[index] - 1;
    uint64_t found = line_match_in(s.line, index, last + 1, s.print >> (32 - bits));
    uint32_t at = (uint32_t)__builtin_ctzll(found | UINT64_C(1) << 63);

    if (is_to_be_cut(s.line, index, found, b))
        return show_cut(w, s, down, DEEP, b);
    down = down < last ? down : last;
    up = up < at ? up : at;
    if (line_get(s.line, bits, last) == 0) { /* most lines are full, or most are not */
        uint32_t used = line_used(s.line, index, LINE_ROOM);

        down = down < used ? down : used;
    }
    line_move(s.line, bits, either(found, at, last), either(found, up, down),
              s.print >> (32 - bits));
    return found;
}

INLINED bool show_deep(weir *w, struct spot s, const uint32_t index, struct common *b)
{
    b->tried = (uint64_t)(s.line - w->cells) / LINE_BYTES % TRIED_LINES == 0;
    b->counts = index == b->floor;
    uint32_t depth = b->tried ? b->tried_depth : b->depth;
    uint64_t found = depth ? show_at(w, s, index, 0, depth, b) : show_front(w, s, index, b);
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
    uint64_t tail = bits_load64(s.line + 56), now = w->reg[EPOCH] & (QUARTER_WRAP - 1);
    uint64_t aged = aged_marks(tail, line_age(w, tail));
    uint32_t slots = b->slots[index], live = (uint32_t)(aged >> 24);
    live = live < slots ? live : slots;
    uint64_t found = line_match_in(s.line, index, live, s.print >> (32 - bits));

    if (m == TIMED_ONCE && found)
        return true;
    if (__builtin_expect(live == 0, false))
        return begin_anew(w, s);
    bool full = (live == slots) & !found & (line_get(s.line, bits, slots - 1) != 0);
    if (__builtin_expect(full & (index != b->floor), false)) {
        weir_age(w, s.line);
        return show_cut(w, s, 0, TIMED, b);
    }
    uint32_t at = (uint32_t)__builtin_ctzll(found | UINT64_C(1) << (slots - 1));
    w->reg[OVERFLOW] += full;
    line_renew(s.line, bits, LINE_ROOM_WINDOW, live, at, s.print >> (32 - bits),
               (uint64_t)index << 56 | now << 40 |
                   (uint64_t)marks_moved(aged & 0xffffff, at) << 16);
    return found != 0;
}

/* ---- all of them ---- */

INLINED bool visit_at(weir *w, struct spot s, const uint32_t index, const enum manner m,
                      struct common *b)
{
    return m == RECENT                     ? show_front(w, s, index, b) != 0
           : m == DEEP                     ? show_deep(w, s, index, b)
           : m == RANKED                   ? show_at(w, s, index, s.depth / 2, s.depth, b) != 0
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
    return found;
}

#endif
