/* recent_lines.h - what observe and ask of the filter recent do to one line. Included by
 * recent_paths.h, which has one key or many go there.
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

#define BLOCK 32 /* keys that go together, a bit of a word each; measured by bench/speed */
#define MANY 64  /* keys; guessed */

/* What is done to a line; each is compiled by itself. */
enum mode {
    ASKED,
    ASKED_TIMED, /* with a window */
    RECENT,      /* new keys enter at the front */
    DEEP,        /* new keys enter at a depth */
    RANKED,      /* at a depth by importance */
    TIMED,       /* with a window */
    TIMED_ONCE   /* with a window that repeats do not renew */
};

/* A key and its line. */
struct slot_ref {
    uint8_t *line;
    uint32_t print;
    uint32_t depth; /* at which it enters, by importance */
};

/* What lines of one width share. */
struct lines {
    bool at_floor;
    uint32_t slots;
    uint64_t last_mask; /* where the last slot lies: of the eight bytes from */
    uint64_t last_byte; /* here on, these bits */
};

#ifdef LINE_ANY_WIDTH
/* The same of every width, by its index, for keys that go in steps (recent_steps.h). */
struct any_width {
    _Alignas(64) uint64_t begins[16]; /* of its slots: the bytes */
    uint32_t edge[16]; /* where the highest byte of the last slot begins, of the eight bytes from */
    uint64_t last_byte[16]; /* here on; or beyond them, if no line of this width is cut; and before
                             * that in `edge`, where the last slot ends */
    uint32_t slots[16];
    bool edge_in_tail; /* all in the last eight bytes of a line */
};
#endif

/* What the keys of a batch share. */
struct batch_ctx {
    uint32_t floor;              /* index of the narrowest width */
    uint32_t slots[LINE_WIDTHS]; /* by width */
#ifdef LINE_ANY_WIDTH
    struct any_width any;
    bool all_at_floor, all_widest; /* the lines of the block before */
#endif
    uint32_t depth;       /* at which new keys enter, */
    uint32_t tried_depth; /* and in the lines that try another */
    bool tried, counts;   /* the last key's line: one that tries; at the floor */
    uint32_t at;          /* the slot it was found in, or LINE_SLOTS_MOST */
    struct line_rounds rounds;
    _Alignas(LINE_BYTES) uint8_t spare[LINE_BYTES]; /* where keys move that are put off */
    uint64_t epoch;                                 /* with a window */
    uint64_t first;                                 /* arrivals before the batch */
    bool many; /* enough of them that steps of importance pay */
    bool has_steps;
    struct steps steps;
};

INLINED struct slot_ref slot_ref_of(uint8_t *cells, uint64_t lines, struct weir_key key)
{
    return (struct slot_ref){cells + place(key, 0, lines) * LINE_BYTES, line_print(key.hi), 0};
}

/* The same, of a key of which it was worked out before: the number of the line, and the print. */
INLINED struct slot_ref slot_ref_located(uint8_t *cells, uint64_t located)
{
    return (struct slot_ref){cells + (located >> 32) * LINE_BYTES, (uint32_t)located, 0};
}

INLINED uint32_t room_of(const enum mode m)
{
    return m == TIMED || m == TIMED_ONCE || m == ASKED_TIMED ? LINE_ROOM_WINDOW : LINE_ROOM;
}

static __attribute__((noinline)) bool find_steps(const weir_filter *w, struct batch_ctx *b)
{
    return importance_steps(&w->config.importance, &w->sample, b->slots[b->floor], &b->steps);
}

/* How deep a key enters, by importance: the top class at the front, the lowest at the end. */
INLINED uint32_t depth_of(const weir_filter *w, uint32_t value, const struct batch_ctx *b)
{
    uint32_t slots = b->slots[b->floor];

    return slots - importance_class(&w->config.importance, &w->sample, value, slots);
}

/* The i-th key of a batch may be drawn for the sample. */
INLINED void learn(weir_filter *w, uint32_t value, size_t i, struct batch_ctx *b)
{
    if (!importance_samples(&w->config.importance) || !sample_draws(&w->sample, b->first + i))
        return;
    uint32_t cap = sample_cap(&w->sample);
    sample_take(&w->sample, value, b->first + i, w->config.seed);
    if (b->has_steps && w->config.importance.mode == IMPORTANCE_CAPPED &&
        sample_cap(&w->sample) == cap)
        return;
    b->has_steps = b->many && find_steps(w, b);
}

/* How deep n keys enter, from the i-th of a batch on; before, their importance. The sample learns
 * from every arrival, whatever becomes of it: so this may be worked out long before their lines are
 * there. */
static inline void find_depths(weir_filter *w, uint32_t *depth, size_t i, size_t n,
                               struct batch_ctx *b)
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

/* What lines of one width share. Where it is a constant, so is whether it is the floor. */
INLINED struct lines lines_of(const struct batch_ctx *b, const uint32_t index, bool at_floor)
{
    const uint32_t bits = line_width[index];
    struct lines of = {.at_floor = at_floor, .slots = b->slots[index]};
    uint32_t shift;

    of.last_byte = line_word(bits, of.slots - 1, &shift);
    of.last_mask = ((UINT64_C(1) << bits) - 1) << shift;
    return of;
}

#ifdef LINE_ANY_WIDTH
/* Of all widths up to the last. */
static inline void share_widths(struct batch_ctx *b, uint32_t last, const enum mode m)
{
    struct any_width *any = &b->any;

    any->edge_in_tail = true;
    for (uint32_t i = 0; i <= last; i++) {
        const uint32_t end = b->slots[i] * line_width[i];
        const uint32_t byte = end / 8 - 1 < LINE_BYTES - 8 ? end / 8 - 1 : LINE_BYTES - 8;
        const bool cut = i != b->floor || m != RECENT;

        any->begins[i] = _bzhi_u64(line_begins[i], end / 8);
        any->last_byte[i] = byte;
        any->edge[i] = end << 16 | (cut ? end - 8 - 8 * byte : 64);
        any->slots[i] = b->slots[i];
        any->edge_in_tail &= !cut || end / 8 - 1 >= LINE_BYTES - 8;
    }
}
#endif

/* n: of keys. */
static inline void share(const weir_filter *w, struct batch_ctx *b, const enum mode m, size_t n)
{
    for (b->floor = 0; line_width[b->floor] > w->config.width; b->floor++)
        b->slots[b->floor] = slots_at(&w->config, b->floor);
    b->slots[b->floor] = slots_at(&w->config, b->floor);
    if (m == ASKED || m == ASKED_TIMED) /* damaged cells of a view may say any width */
        for (uint32_t i = b->floor + 1; i < LINE_WIDTHS; i++)
            b->slots[i] = slots_at(&w->config, i);
#ifdef LINE_ANY_WIDTH
    b->all_at_floor = b->all_widest = false;
    if (n >= BLOCK)
        share_widths(b, m == ASKED || m == ASKED_TIMED ? LINE_WIDTHS - 1 : b->floor, m);
#endif
    b->rounds.round = 0;
    b->epoch = w->reg[EPOCH];
    if (m == RANKED) {
        b->first = w->observed;
        b->many = n >= MANY;
        b->has_steps = b->many && find_steps(w, b);
    }
    if (m != DEEP)
        return;
    b->depth = recent_depth(w);
    b->tried_depth = is_adaptive(&w->config) ? recent_tried_depth(&w->config) : b->depth;
}

/* ---- asking ---- */

/* A line's marks as they are now, and before them how many slots are live. */
INLINED uint64_t marks_now(const uint8_t *line, const struct batch_ctx *b)
{
    uint64_t tail = bits_load64(line + 56);

    return aged_marks(tail, line_age(b->epoch, tail));
}

/* Which slot of its line holds a key: bit i for slot i. Here and below `index` is that of the
 * line's width; a constant, where each is compiled by itself. */
INLINED uint64_t find(struct slot_ref s, const uint32_t index, struct lines of, const enum mode m,
                      const struct batch_ctx *b)
{
    uint32_t slots = of.slots;

    if (m == ASKED_TIMED || m == TIMED || m == TIMED_ONCE) {
        uint32_t live = (uint32_t)(marks_now(s.line, b) >> 24);

        slots = live < slots ? live : slots;
    }
    return line_find(s.line, index, slots, s.print);
}

/* ---- making room ---- */

/* Is a key's line one of those that try another depth? */
INLINED bool tries(const weir_filter *w, struct slot_ref s)
{
    return (uint64_t)(s.line - w->cells) / LINE_BYTES % TRIED_LINES == 0;
}

INLINED uint32_t depth_in(const weir_filter *w, struct slot_ref s, const struct batch_ctx *b)
{
    return tries(w, s) ? b->tried_depth : b->depth;
}

/* Cut a full line above the floor, until it is not full or there. Tells how many slots are in use
 * then, and what index it has. */
INLINED uint32_t make_room(const weir_filter *w, uint8_t *line, uint32_t *index, const enum mode m,
                           struct batch_ctx *b)
{
    uint32_t used = b->slots[*index];

    do {
        uint32_t kept = line_cut(line, *index, used, room_of(m), m != TIMED, &b->rounds);

        if (!kept) {
            line[LINE_BYTES - 1] = (uint8_t)*index; /* it may be marked */
            recent_cut(w, line);
            kept = line_used(line, *index + 1, room_of(m));
        }
        ++*index;
        used = kept;
    } while (*index != b->floor && used == b->slots[*index]);
    return used;
}

/* Are keys put off? In windows it does not pay. */
INLINED bool puts_off(const enum mode m)
{
    return m == RECENT || m == DEEP || m == RANKED;
}

/* Is a line full? */
INLINED bool is_full(const uint8_t *line, struct lines of)
{
    return bits_load64(line + of.last_byte) & of.last_mask;
}

/* Only after it has moved: a line of which a byte was just written is slow to read. */
INLINED void mark_if_put_off(struct slot_ref s, const uint32_t index, bool put_off)
{
#ifdef LINE_ANY_WIDTH
    (void)s, (void)index, (void)put_off; /* recent_steps.h marks them itself */
#else
    s.line[LINE_BYTES - 1] = (uint8_t)(index | put_off * LINE_MARKED);
#endif
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
static __attribute__((noinline)) void make_up(weir_filter *w, struct slot_ref s, const enum mode m,
                                              struct batch_ctx *b)
{
    uint32_t index = line_index(s.line) & (LINE_MARKED - 1u);

    if (m == TIMED && line_quarter(s.line) != (b->epoch & (QUARTER_WRAP - 1))) {
        s.line[LINE_BYTES - 1] = (uint8_t)index;
        recent_age(w, s.line);
    }
    uint32_t used = make_room(w, s.line, &index, m, b);
    uint32_t last = b->slots[index] - 1;
    if (m == TIMED) {
        uint32_t marks = marks_moved((uint32_t)(bits_load64(s.line + 56) >> 16) & 0xffffff, last);

        w->reg[OVERFLOW] += used > last;
        line_renew(s.line, s.line, index, LINE_ROOM_WINDOW, last + 1, last, s.print,
                   (uint64_t)index << 56 | (w->reg[EPOCH] & (QUARTER_WRAP - 1)) << 40 |
                       (uint64_t)marks << 16);
        return;
    }
    if (m == RECENT) {
        line_to_front(s.line, s.line, index, last, s.print);
        return;
    }
    uint32_t depth = m == RANKED ? s.depth : depth_in(w, s, b);
    depth = depth < used ? depth : used;
    line_move(s.line, s.line, index, last, depth < last ? depth : last, s.print);
}

/* ---- by recency ---- */

/* The slot found, or the last one, goes to the front. Here and below: false if the key is put
 * off. */
INLINED bool show_front(struct slot_ref s, const uint32_t index, struct lines of, uint64_t found,
                        struct batch_ctx *b)
{
    uint32_t last = of.slots - 1;

    if (of.at_floor) {
        line_first_to_front(s.line, s.line, index, found | UINT64_C(1) << last, s.print);
        return true;
    }
    bool shown =
        line_find_front(s.line, index, found, is_full(s.line, of), last, s.print, b->spare);
    mark_if_put_off(s, index, !shown);
    return shown;
}

/* ---- at a depth ---- */

/* A hit moves to slot `up`, unless it is there or before it; a new key enters at slot
 * `down`, or behind the last one in use. */
INLINED bool show_at(struct slot_ref s, const uint32_t index, struct lines of, uint64_t found,
                     uint32_t up, uint32_t down, struct batch_ctx *b)
{
    uint32_t last = of.slots - 1, used = of.slots;

    if (!of.at_floor || !is_full(s.line, of)) /* at the floor most are, or most are not */
        used = (uint32_t)__builtin_ctzll(line_empty(s.line, index, of.slots) | UINT64_C(1)
                                                                                   << of.slots);
    down = down < last ? down : last;
    down = down < used ? down : used;
    if (of.at_floor) {
        line_move_found(s.line, s.line, index, found, up, last, down, s.print);
        return true;
    }
    bool shown = (used <= last) | (found != 0);
    line_move_found(line_or_spare(s.line, b->spare, !shown), s.line, index, found, up, last, down,
                    s.print);
    mark_if_put_off(s, index, !shown);
    return shown;
}

INLINED bool show_deep(const weir_filter *w, struct slot_ref s, const uint32_t index,
                       struct lines of, uint64_t found, struct batch_ctx *b)
{
    uint32_t depth = depth_in(w, s, b);

    return depth ? show_at(s, index, of, found, 0, depth, b) : show_front(s, index, of, found, b);
}

/* What there is to count of a key: the slot it was found in, or the last of all. */
INLINED uint32_t counted_slot(uint64_t found)
{
    return (uint32_t)__builtin_ctzll(found | UINT64_C(1) << LINE_SLOTS_MOST);
}

INLINED void note_deep(const weir_filter *w, struct slot_ref s, struct lines of, uint64_t found,
                       struct batch_ctx *b)
{
    b->tried = tries(w, s);
    b->counts = of.at_floor;
    b->at = counted_slot(found);
}

/* ---- with a window ---- */

/* A line of which all is too old begins anew, with one key. */
static __attribute__((noinline)) void begin_anew(const weir_filter *w, struct slot_ref s)
{
    const uint64_t marks = 1 | 1 << 6 | 1 << 12 | 1 << 18;

    memset(s.line, 0, LINE_BYTES);
    bits_store64(s.line, s.print);
    bits_store64(s.line + 56, (w->reg[EPOCH] & (QUARTER_WRAP - 1)) << 40 | marks << 16);
}

INLINED void show_timed(weir_filter *w, struct slot_ref s, const uint32_t index, struct lines of,
                        uint64_t found, const enum mode m, struct batch_ctx *b)
{
    uint64_t aged = marks_now(s.line, b), now = b->epoch & (QUARTER_WRAP - 1);
    uint32_t slots = of.slots, live = (uint32_t)(aged >> 24);
    live = live < slots ? live : slots;

    if (m == TIMED_ONCE && found)
        return;
    if (__builtin_expect(live == 0, false)) {
        begin_anew(w, s);
        return;
    }
    bool full = (live == slots) & !found & is_full(s.line, of);
    if (__builtin_expect(full & !of.at_floor, false)) { /* rare: not put off */
        make_up(w, s, TIMED, b);
        return;
    }
    uint32_t at = (uint32_t)__builtin_ctzll(found | UINT64_C(1) << (slots - 1));
    w->reg[OVERFLOW] += full;
    line_renew(s.line, s.line, index, LINE_ROOM_WINDOW, live, at, s.print,
               (uint64_t)index << 56 | now << 40 |
                   (uint64_t)marks_moved((uint32_t)aged & 0xffffff, at) << 16);
}

/* ---- all of them ---- */

/* Show a key that was looked for. False if it is put off: then its line is marked. */
INLINED bool show(weir_filter *w, struct slot_ref s, const uint32_t index, struct lines of,
                  uint64_t found, const enum mode m, struct batch_ctx *b)
{
    if (m == RECENT)
        return show_front(s, index, of, found, b);
    if (m == DEEP)
        return show_deep(w, s, index, of, found, b);
    if (m == RANKED)
        return show_at(s, index, of, found, s.depth / 2, s.depth, b);
    if (m == TIMED || m == TIMED_ONCE)
        show_timed(w, s, index, of, found, m, b);
    return true;
}

INLINED bool visit(weir_filter *w, struct slot_ref s, const enum mode m, struct batch_ctx *b)
{
    uint64_t found;
    bool shown;

#define VISIT(i)                                                                                   \
    struct lines of = lines_of(b, i, (i) == b->floor);                                             \
    found = find(s, i, of, m, b);                                                                  \
    if (m == DEEP)                                                                                 \
        note_deep(w, s, of, found, b);                                                             \
    shown = show(w, s, i, of, found, m, b);
    LINE_BY_WIDTH(line_index(s.line), VISIT)
#undef VISIT
    if (m == TIMED_ONCE && found)
        return true; /* whoever waits for it need not wait for the line, if that was guessed */
    if (!shown)
        make_up(w, s, m, b);
    return found;
}

#endif
