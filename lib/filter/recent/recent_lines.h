/* recent_lines.h - what one key does to its line: lookup, then hit or miss.
 *
 * So little work is done per key that a mispredicted branch costs as much as all the rest. Hits and
 * misses therefore run through the same instructions: find the fingerprint, compute from which slot
 * to which it moves, move it. Branches remain for what is rare: a full line that must be truncated
 * (make_room), and a line whose window is over (begin_again).
 *
 * Included by recent_paths.h, which compiles these functions once per mode. */
#ifndef WEIR_FILTER_RECENT_RECENT_LINES_H
#define WEIR_FILTER_RECENT_RECENT_LINES_H

#include "filter/recent/expiry.h"

#define BLOCK 32 /* keys that are processed together, a bit of a word each; see bench/speed */
#define MANY 64  /* keys from which a table of importance steps pays; guessed */

/* What is done to a line. Each mode is compiled separately. */
enum mode {
    ASKED,       /* look up */
    ASKED_TIMED, /* look up in a filter with a window */
    RECENT,      /* observe: new keys enter at the front, hits move there */
    DEEP,        /* observe: new keys enter at a depth (importance=, enter=) */
    TIMED,       /* observe in a filter with a window */
    ASKED_TTL,   /* look up in a filter with ttl= */
    TTL          /* observe in a filter with ttl= */
};

/* A key's line and fingerprint. */
struct slot_ref {
    uint8_t *line;
    uint32_t print;
    uint32_t depth; /* slots in front of a new key; DEEP and TTL only */
    uint8_t code;   /* of its expiry time; TTL only */
};

/* What all lines of one width have in common. */
struct lines {
    bool at_floor;
    uint32_t slots;
    uint64_t all;       /* slots, as a set */
    uint64_t last;      /* the last slot, */
    uint64_t last_mask; /* its bits in the word */
    uint64_t last_byte; /* that begins at this byte */
};

#ifdef LINE_ANY_WIDTH
/* The same for each width, in the form that recent_steps.h needs. */
struct any_width {
    _Alignas(64) uint64_t begins[16]; /* the bytes in which slots begin */
    uint32_t edge[16]; /* where the highest byte of the last slot begins, in the word that begins */
    uint64_t last_byte[16]; /* at this byte; or beyond it, if no line of this width is cut. In the
                             * upper half of `edge`: where the last slot ends */
    uint32_t slots[16];
    bool edge_in_tail;                              /* all in the last eight bytes of a line */
    _Alignas(LINE_BYTES) uint8_t spare[LINE_BYTES]; /* written instead of lines that must wait */
};
#endif

/* What the keys of a batch have in common. */
struct batch_ctx {
    uint32_t floor;       /* index of the narrowest width */
    const uint8_t *rooms; /* slots that fit into a line, by width, */
    uint32_t most;        /* but not more than this */
    struct lines lines[LINE_WIDTHS];
    bool all_at_floor, all_widest; /* the lines of the previous block */
    struct line_rounds rounds;
    uint64_t epoch;            /* with a window */
    uint64_t epoch_bits;       /* window_epoch() of it */
    bool once;                 /* refresh=no: a hit changes nothing; TTL: not the expiry time */
    bool late;                 /* expire=late */
    bool stamps;               /* keys get expiry times */
    struct expiry_clock clock; /* with ttl= */
    uint32_t up;               /* DEEP, TTL: a hit moves to slot depth >> up */
    uint32_t depth;            /* at which new keys enter, if that is not decided by importance */
    bool ranked;               /* it is */
    uint64_t first;            /* arrivals before the batch */
    bool many;                 /* enough keys for a table of steps */
    bool has_steps;
    struct steps steps;
#ifdef LINE_ANY_WIDTH
    struct any_width any;
#endif
};

INLINED bool observes(const enum mode m)
{
    return m != ASKED && m != ASKED_TIMED && m != ASKED_TTL;
}

INLINED bool is_timed(const enum mode m)
{
    return m == TIMED || m == ASKED_TIMED;
}

INLINED bool expires(const enum mode m)
{
    return m == TTL || m == ASKED_TTL;
}

/* Do keys enter behind the front? */
INLINED bool has_depth(const enum mode m)
{
    return m == DEEP || m == TTL;
}

INLINED uint32_t room_of(const enum mode m)
{
    return is_timed(m) ? LINE_ROOM_WINDOW : LINE_ROOM;
}

INLINED struct slot_ref slot_ref_of(uint8_t *cells, uint64_t lines, struct weir_key key)
{
    return (struct slot_ref){cells + place(key, 0, lines) * LINE_BYTES, line_print(key.hi), 0, 0};
}

/* The same from what locate() computed: the line's number and the print. */
INLINED struct slot_ref slot_ref_located(uint8_t *cells, uint64_t located)
{
    return (struct slot_ref){cells + (located >> 32) * LINE_BYTES, (uint32_t)located, 0, 0};
}

INLINED uint32_t slots_in(const struct batch_ctx *b, uint32_t index)
{
    return b->rooms[index] < b->most ? b->rooms[index] : b->most;
}

INLINED struct lines lines_of(const struct batch_ctx *b, const uint32_t index, bool at_floor)
{
    const uint32_t bits = line_width[index];
    struct lines of = {.at_floor = at_floor, .slots = slots_in(b, index)};
    uint32_t shift;

    of.all = line_slots(index, of.slots);
    of.last = line_slot(index, of.slots - 1);
    of.last_byte = line_word(bits, of.slots - 1, &shift);
    of.last_mask = ((UINT64_C(1) << bits) - 1) << shift;
    return of;
}

/* ---- insertion depth ---- */

static __attribute__((noinline)) bool find_steps(const weir_filter *w, struct batch_ctx *b)
{
    return importance_steps(&w->config.importance, &w->sample, slots_in(b, b->floor), &b->steps);
}

/* By importance: the top class enters at the front, the lowest at the end. */
static inline uint32_t depth_of(const weir_filter *w, uint32_t value, const struct batch_ctx *b)
{
    uint32_t slots = slots_in(b, b->floor);

    return slots - importance_class(&w->config.importance, &w->sample, value, slots);
}

/* The i-th key of a batch may be drawn for the sample. */
static inline void learn(weir_filter *w, uint32_t value, size_t i, struct batch_ctx *b)
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

/* Replace the importance of n keys, from the i-th of a batch on, by their depths. The sample learns
 * from every arrival, hit or miss, so this can run long before the lines are in the cache. */
static inline void find_depths(weir_filter *w, uint32_t *depth, size_t i, size_t n,
                               struct batch_ctx *b)
{
    const bool samples = importance_samples(&w->config.importance);
    const uint32_t slots = slots_in(b, b->floor);

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

/* ---- the start of a batch ---- */

#ifdef LINE_ANY_WIDTH
/* Of all widths up to the last. */
static inline void share_widths(struct batch_ctx *b, uint32_t last, const enum mode m)
{
    struct any_width *any = &b->any;

    any->edge_in_tail = true;
    for (uint32_t i = 0; i <= last; i++) {
        const uint32_t end = slots_in(b, i) * line_width[i];
        const uint32_t byte = end / 8 - 1 < LINE_BYTES - 8 ? end / 8 - 1 : LINE_BYTES - 8;
        const bool cut = i != b->floor || m != RECENT;

        any->begins[i] = _bzhi_u64(line_begins[i], end / 8);
        any->last_byte[i] = byte;
        any->edge[i] = end << 16 | (cut ? end - 8 - 8 * byte : 64);
        any->slots[i] = slots_in(b, i);
        any->edge_in_tail &= !cut || end / 8 - 1 >= LINE_BYTES - 8;
    }
}
#endif

/* For a batch of n keys, or for a single key if n is 0. */
INLINED void share(const weir_filter *w, struct batch_ctx *b, enum mode m, size_t n)
{
    const struct config *c = &w->config;

    b->floor = line_index_of[c->width];
    b->rooms = rooms_of(c);
    b->most = (uint32_t)c->slots;
    b->rounds.round = 0;
    b->epoch = w->reg[EPOCH];
    b->epoch_bits = window_epoch(b->epoch);
    b->once = c->refresh;
    b->stamps = m == TTL;
    if (has_depth(m)) {
        b->ranked = c->importance.mode != IMPORTANCE_NONE;
        b->up = b->ranked ? 1 : 31;
        b->depth = (uint32_t)(c->slots * c->enter / ENTER_WHOLE);
        b->first = w->observed;
        b->many = n >= MANY;
        b->has_steps = b->ranked && b->many && find_steps(w, b);
    }
    if (expires(m)) {
        expiry_set_clock(&b->clock, &c->ttl, w->reg[EPOCH]);
        b->late = c->expire;
        b->clock.longest = expiry_code(&b->clock, expiry_of_longest(w), b->late);
    }
    if (n == 0)
        return;
    b->all_at_floor = b->all_widest = false;
    const uint32_t last = observes(m) ? b->floor : LINE_WIDTHS - 1; /* views can be damaged */
    for (uint32_t i = 0; i <= last; i++)
        b->lines[i] = lines_of(b, i, i == b->floor);
#ifdef LINE_ANY_WIDTH
    if (n >= BLOCK)
        share_widths(b, last, m);
#endif
}

/* ---- lookup ---- */

/* The slot that contains a key: bit i for slot i. Here and below, `index` is that of the line's
 * width, and may be a constant. */
INLINED uint64_t find(struct slot_ref s, const uint32_t index, const struct lines *of,
                      const enum mode m, const struct batch_ctx *b)
{
    uint64_t set = of->all;

    if (is_timed(m)) {
        uint32_t live = window_now(s.line, b->epoch).live;

        set = line_slots(index, live < of->slots ? live : of->slots);
    }
    return line_find(s.line, index, set, s.print);
}

/* ---- full lines above the narrowest width ---- */

/* Truncate a full line until it has an empty slot or the narrowest width. Returns how many slots
 * are in use then, and in `index` the line's new index. */
static inline uint32_t make_room(const weir_filter *w, uint8_t *line, uint32_t *index,
                                 const enum mode m, struct batch_ctx *b)
{
    uint32_t used = slots_in(b, *index);

    do {
        uint32_t kept = line_cut(line, *index, used, room_of(m), m != TIMED, &b->rounds);

        if (!kept) { /* some become equal, and the map must have fewer slots */
            recent_cut(w, line);
            kept = line_used(line, *index + 1, slots_in(b, *index + 1));
        }
        ++*index;
        used = kept;
    } while (*index != b->floor && used == slots_in(b, *index));
    return used;
}

INLINED bool is_full(const uint8_t *line, const struct lines *of)
{
    return bits_load64(line + of->last_byte) & of->last_mask;
}

static void observe_full_ttl(weir_filter *w, struct slot_ref s, struct batch_ctx *b);

/* Insert a new key into a full line above the narrowest width. */
static __attribute__((noinline)) void insert_into_full(weir_filter *w, struct slot_ref s,
                                                       enum mode m, struct batch_ctx *b)
{
    uint32_t index = line_index(s.line);

    if (m == TTL) {
        observe_full_ttl(w, s, b);
        return;
    }
    if (m == TIMED)
        recent_age(w, s.line);
    uint32_t used = make_room(w, s.line, &index, m, b), last = slots_in(b, index) - 1;
    if (m == TIMED) {
        w->reg[OVERFLOW] += used > last;
        const uint64_t map = map_moved(line_map(s.line), last);

        line_renew(s.line, index, last + 1, line_slot(index, last), s.print);
        window_write(s.line, map, w->reg[EPOCH], index);
        return;
    }
    uint32_t depth = m == DEEP ? s.depth : 0;
    depth = depth < used ? depth : used;
    line_move(s.line, index, last, depth < last ? depth : last, s.print);
}

/* ---- observe ---- */

/* The slot found, or the last one, moves to the front. Here and below: returns false if the line is
 * full and above the narrowest width; then nothing is done. */
INLINED bool observe_front(struct slot_ref s, const uint32_t index, const struct lines *of,
                           uint64_t found)
{
    if (!of->at_floor && __builtin_expect(!found & is_full(s.line, of), false))
        return false;
    line_to_front(s.line, index, found | of->last, s.print);
    return true;
}

/* A hit moves up, a new key enters at its depth or behind the last slot in use. */
INLINED bool observe_deep(struct slot_ref s, const uint32_t index, const struct lines *of,
                          uint64_t found, const struct batch_ctx *b)
{
    const uint32_t last = of->slots - 1, up = s.depth >> b->up;
    uint32_t used = of->slots;

    if (!is_full(s.line, of)) /* most are, or most are not */
        used = line_first(index, line_empty(s.line, index, of->all));
    else if (!of->at_floor && !found)
        return false;
    used = used < last ? used : last;
    line_move_found(s.line, index, found, up < last ? up : last, of->last,
                    s.depth < used ? s.depth : used, s.print);
    return true;
}

/* A line of which all slots are too old is emptied. */
static __attribute__((noinline)) void begin_again(const weir_filter *w, struct slot_ref s)
{
    memset(s.line, 0, LINE_BYTES);
    bits_store64(s.line, s.print);
    window_write(s.line, map_moved(MAP_EMPTY, 0), w->reg[EPOCH], 0);
}

INLINED bool observe_timed(weir_filter *w, struct slot_ref s, const uint32_t index,
                           const struct lines *of, uint64_t found, struct batch_ctx *b)
{
    const struct window_now now = window_now(s.line, b->epoch);
    const uint32_t slots = of->slots, live = now.live < slots ? now.live : slots;

    if (b->once & (found != 0))
        return true;
    if (__builtin_expect(live == 0, false)) {
        begin_again(w, s);
        return true;
    }
    bool full = (live == slots) & !found & is_full(s.line, of);
    if (__builtin_expect(full & !of->at_floor, false))
        return false;
    uint32_t at = line_first(index, found | of->last);
    w->reg[OVERFLOW] += full;
    line_renew(s.line, index, live, found | of->last, s.print);
    window_write(s.line, map_moved(now.map, at), b->epoch, index);
    return true;
}

/* ---- lines whose slots expire ---- */

#ifdef LINE_ANY_WIDTH
#include "filter/recent/expiry_avx512.h"
#else
#define clean_line expiry_clean
#define move_with_code(line, index, from, to, print, bits, code)                                   \
    do {                                                                                           \
        line_move_from(line, index, from, to, print);                                              \
        expiry_move(line, bits, line_first(index, from), line_first(index, to), code);             \
    } while (0)
#endif

/* Before a line is observed, the slots that expired become empty. */
INLINED void clean(weir_filter *w, uint8_t *line, const struct batch_ctx *b)
{
    if (!is_clean(line, &b->clock))
        clean_line(w, line, b->clock.now, &b->clock);
}

/* A line that is not cleaned when it is looked up: was the slot found still alive? */
INLINED bool is_found_alive(struct slot_ref s, uint32_t index, uint64_t found,
                            const struct batch_ctx *b)
{
    const struct expiry_clock *c = &b->clock;

    return found && expiry_is_alive(c, expiry_get(s.line, c->ttl->bits, line_first(index, found)),
                                    expiry_line_clock(s.line, c->now));
}

/* The highest slot of a set. */
INLINED uint64_t highest(uint64_t slots)
{
    return UINT64_C(1) << (63 - __builtin_clzll(slots));
}

/* The slot whose place a key takes: its own, an empty one behind the depth, the last empty one
 * before it, or the last slot. */
INLINED uint64_t slot_taken(uint64_t found, uint64_t empty, uint64_t depth, uint64_t last)
{
    uint64_t behind = empty & -depth, before = highest(line_one_of(empty, empty, last));
    uint64_t taken = line_one_of(found, found, behind);

    return line_one_of(taken, taken & -taken, before);
}

/* A hit keeps the later of two expiry times; with refresh=no, its own. */
INLINED uint32_t code_kept(const struct batch_ctx *b, uint64_t found, uint32_t own, uint32_t code)
{
    bool keeps =
        (found != 0) & (b->once | (expiry_left(&b->clock, own) >= expiry_left(&b->clock, code)));

    return (uint32_t)line_one_of(keeps, own, code);
}

/* A hit moves up. A new key enters at its depth, and takes an empty slot if there is one. */
INLINED bool observe_ttl(weir_filter *w, struct slot_ref s, const uint32_t index,
                         const struct lines *of, uint64_t found, const struct batch_ctx *b)
{
    const uint32_t bits = b->clock.ttl->bits, last = of->slots - 1;
    const uint64_t empty = line_empty(s.line, index, of->all);
    const bool full = !(found | empty);

    if (__builtin_expect(s.code == NOT_KEPT, false))
        return true;
    if (!of->at_floor && __builtin_expect(full, false))
        return false;
    uint32_t depth = s.depth >> (b->up & -(uint32_t)(found != 0));
    const uint64_t at = line_slot(index, depth < last ? depth : last);
    const uint64_t from = slot_taken(found, empty, at, of->last), to = at < from ? at : from;
    const uint32_t own = expiry_get(s.line, bits, line_first(index, from));

    w->reg[OVERFLOW] += full;
    move_with_code(s.line, index, from, to, s.print, bits, code_kept(b, found, own, s.code));
    return true;
}

/* The same in a full line above the narrowest width. Another key may have the same print when the
 * line has been truncated. */
static __attribute__((noinline)) void observe_full_ttl(weir_filter *w, struct slot_ref s,
                                                       struct batch_ctx *b)
{
    struct lines of;
    uint32_t index;

    do {
        recent_cut(w, s.line);
        index = line_index(s.line);
        of = lines_of(b, index, index == b->floor);
    } while (!observe_ttl(w, s, index, &of, line_find(s.line, index, of.all, s.print), b));
}

/* Look up one key and, in the modes that observe, update its line. Returns if it was found. */
INLINED bool visit_line(weir_filter *w, struct slot_ref s, const uint32_t index,
                        const struct lines *of, const enum mode m, struct batch_ctx *b)
{
    uint64_t found = find(s, index, of, m, b);
    bool done = m == RECENT  ? observe_front(s, index, of, found)
                : m == DEEP  ? observe_deep(s, index, of, found, b)
                : m == TIMED ? observe_timed(w, s, index, of, found, b)
                : m == TTL   ? observe_ttl(w, s, index, of, found, b)
                             : true;

    if (m == ASKED_TTL)
        return is_found_alive(s, index, found, b);
    if (__builtin_expect(!done, false))
        insert_into_full(w, s, m, b);
    return found;
}

#endif
