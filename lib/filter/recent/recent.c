/* recent.c - fingerprints in LRU order, one cache line per key.
 *
 * The key's hash selects a 64-byte line and a fingerprint. A line is a short list of fingerprints,
 * most recent first (layout: base/line.h). Lookup compares all slots at once. A hit moves its slot
 * to the front. A miss inserts at the front and evicts the last slot of a full line. There are no
 * counters and no random numbers: the same keys in the same order give the same bytes.
 *
 * Adaptive width. Lines start with 32-bit fingerprints. When a line is full, all its fingerprints
 * are truncated to the next narrower width, down to width=; those that become equal are merged.
 * Keys are evicted only at the narrowest width (the "floor"). Prefixes nest, so nothing is rehashed
 * and no key is lost. A stream that fits is remembered completely, at an error rate near 1e-6.
 *
 * Insertion depth. enter= inserts new keys behind the front, which keeps the front for keys that
 * occurred again. Importance sets the depth per key: the most important class enters at the front,
 * the least important at the end, where it is evicted first. A hit moves up to half that depth.
 *
 * Windows. A line records in which sixteenth of the window each slot was observed (window.h). Keys
 * within the window are always seen unless their line overflowed (counted); keys older than 1 1/16
 * windows never are. Lines are aged when they are touched. With refresh=no a hit changes nothing,
 * so a key's window begins when it is inserted.
 *
 * Cost: one cache line per key. Memory: log2(1/error) + 4.8 to 5.6 bits per remembered key
 * (docs/recent.md).
 *
 * This file plans, measures, merges and checks. What a key does to its line is in recent_lines.h.
 */
#include <math.h>
#include <string.h>

#include "base/line_list.h"
#include "base/processor.h"
#include "theory/recent.h"
#include "filter/recent/expiry.h"

#define WIDTH_DEFAULT 16
#define LINE_BITS (8 * LINE_BYTES)
#define LINES_LOOKED_AT 4096 /* to measure fill and error */

/* ---- planning ---- */

static bool is_a_width(uint64_t width)
{
    return memchr(line_width, (int)width, sizeof line_width) != NULL;
}

/* Choose the width, and how many slots of it, with the most slots at an error rate below fpr=. */
static void choose_width(struct config *c)
{
    uint64_t given = config_has(c, PARAMETER_WIDTH) ? c->width : 0;

    c->slots = 0;
    for (uint32_t i = 0; i < LINE_WIDTHS; i++) {
        uint32_t width = line_width[i];
        uint32_t n = slots_max(c->fpr, width, rooms_of(c)[i]);

        if (n > c->slots && (!given || width == given)) {
            c->slots = n;
            c->width = width;
        }
    }
}

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    if (config_has(c, PARAMETER_WIDTH) && !is_a_width(c->width))
        return error_refuse(error, WEIR_ERROR_INVALID_VALUE,
                            "width=: invalid value; use 8 to 16, 20, 24 or 32", NULL);
    if (c->window && c->span)
        return error_refuse(
            error, WEIR_ERROR_CONFLICTING_PARAMETERS,
            "window= and span= exclude each other; give the window in records or in "
            "time",
            NULL);
    if (has_ttl(c) && has_window(c))
        return error_refuse(error, WEIR_ERROR_CONFLICTING_PARAMETERS,
                            "ttl= cannot be combined with window= and span=; for keys of one TTL "
                            "use ttl= alone",
                            NULL);
    if (c->expire && !has_ttl(c))
        return error_refuse(error, WEIR_ERROR_CONFLICTING_PARAMETERS,
                            "expire=late requires ttl=, for example ttl=1m-2h", NULL);
    if (has_ttl(c) && !expiry_plan(c))
        return error_refuse(error, WEIR_ERROR_INVALID_VALUE,
                            "ttl=: the range is too wide; the longest TTL may be 16,384 times the "
                            "shortest, and TTLs outside the range become its nearest end",
                            NULL);
    if (c->refresh && !has_window(c) && !has_ttl(c))
        return error_refuse(
            error, WEIR_ERROR_CONFLICTING_PARAMETERS,
            "refresh=no requires window=, span= or ttl=: it keeps a repeat from extending "
            "them",
            NULL);
    if (has_window(c) && c->importance.mode != IMPORTANCE_NONE)
        return error_refuse(
            error, WEIR_ERROR_CONFLICTING_PARAMETERS,
            "window= and importance= exclude each other: a line is ordered either by "
            "time or by importance",
            NULL);
    if (c->enter && (has_window(c) || has_ttl(c) || c->importance.mode != IMPORTANCE_NONE))
        return error_refuse(
            error, WEIR_ERROR_CONFLICTING_PARAMETERS,
            "enter= cannot be combined with window=, span=, ttl= or importance=, which "
            "determine where a key enters",
            NULL);
    uint64_t most = config_has(c, PARAMETER_SLOTS) ? c->slots : LINE_SLOTS_MAX;
    if (config_has(c, PARAMETER_FPR)) {
        choose_width(c);
        if (c->slots == 0)
            return config_refuse_fpr(
                c, slots_error(config_has(c, PARAMETER_WIDTH) ? (uint32_t)c->width : 32, 1),
                "allow more, or leave width out", error);
    } else {
        c->width = config_has(c, PARAMETER_WIDTH) ? c->width : WIDTH_DEFAULT;
        c->slots = rooms_of(c)[line_index_of[c->width]];
    }
    c->slots = c->slots < most ? c->slots : most;
    if (c->window && !config_has(c, PARAMETER_MEMORY))
        c->memory = config_memory(slots_lines((double)c->window, (uint32_t)c->slots), LINE_BITS);
    shape_planes(s, c, 1, 8);
    s->cells = s->cells / LINE_BYTES * LINE_BYTES;
    s->registers = has_window(c) ? WINDOW_REGISTERS : has_ttl(c) ? 3 : 0;
    s->lines = 1;
    return true;
}

/* ---- predicting ---- */

/* Time, importance and insertion depth are not in the model of theory/recent.h. */
static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    struct slots f = {.lines = (double)(s->cells / LINE_BYTES),
                      .window = c->window ? (double)c->window : INFINITY};

    if (c->span || has_ttl(c) || c->importance.mode != IMPORTANCE_NONE || c->enter)
        return false;
    do {
        f.width[f.widths] = line_width[f.widths];
        f.room[f.widths] = slots_at(c, f.widths);
    } while (f.width[f.widths++] > c->width);
    slots_predict(&f, m, p);
    return true;
}

/* ---- lines as lists ---- */

static void set_clock(struct expiry_clock *c, const weir_filter *w)
{
    if (has_ttl(&w->config))
        expiry_set_clock(c, &w->config.ttl, w->reg[EPOCH]);
}

/* Read the slots of a line that are in use and not too old. Each carries its part of the window, or
 * the code of its expiry time; the clock may be later than the filter. */
static void read_line(struct line_list *list, const weir_filter *w, const uint8_t *line,
                      const struct expiry_clock *c)
{
    const uint32_t index = line_index(line), slots = slots_of(w, line);

    list->n = 0;
    for (uint32_t i = 0; i < slots; i++) {
        uint32_t value = line_get(line, line_width[index], i), extra = 0;

        if (value == 0)
            continue;
        if (has_ttl(&w->config)) {
            extra = expiry_get(line, w->config.ttl.bits, i);
            if (!expiry_is_alive(c, extra, expiry_line_clock(line, w->reg[EPOCH])))
                continue;
        } else if (has_window(&w->config)) {
            extra = map_part(line_map(line), i) + line_age(w->reg[EPOCH], line);
            if (extra > PARTS)
                break;
        }
        list->value[list->n] = value;
        list->extra[list->n++] = (uint8_t)extra;
    }
}

/* Replace a line by a list, as of now. */
static void write_line(const weir_filter *w, uint8_t *line, uint32_t index,
                       const struct line_list *list, const struct expiry_clock *c)
{
    memset(line, 0, LINE_BYTES);
    line[LINE_BYTES - 1] = (uint8_t)(list->n ? index : 0);
    for (uint32_t i = 0; i < list->n; i++) {
        line_put(line, line_width[index], i, list->value[i]);
        if (has_ttl(&w->config))
            expiry_put(line, w->config.ttl.bits, i, list->extra[i]);
    }
    if (has_ttl(&w->config))
        line_set_clock(line, c->now);
    if (has_window(&w->config))
        window_write(line, map_of(list->extra, list->n), w->reg[EPOCH], line_index(line));
}

static bool expires_later(const void *clock, uint32_t a, uint32_t b)
{
    return expiry_left(clock, a) > expiry_left(clock, b);
}

/* Drop low bits of all prints. Of those that become equal the first stays, with the later expiry
 * time. */
static void shorten(struct line_list *list, uint32_t bits, const weir_filter *w,
                    const struct expiry_clock *c)
{
    line_list_shorten(list, bits, has_ttl(&w->config) ? expires_later : NULL, c);
}

void recent_cut(const weir_filter *w, uint8_t *line)
{
    const uint32_t index = line_index(line);
    struct expiry_clock clock;
    struct line_list list;

    set_clock(&clock, w);
    read_line(&list, w, line, &clock);
    shorten(&list, (uint32_t)line_width[index] - line_width[index + 1], w, &clock);
    write_line(w, line, index + 1, &list, &clock);
}

/* ---- measuring ---- */

static uint8_t *nth_line(const weir_filter *w, uint64_t i)
{
    return w->cells + i * LINE_BYTES;
}

static uint64_t lines(const weir_filter *w)
{
    return w->shape.cells / LINE_BYTES;
}

static uint32_t used_slots(const weir_filter *w, const uint8_t *line)
{
    struct expiry_clock clock;
    struct line_list list;

    set_clock(&clock, w);
    read_line(&list, w, line, &clock);
    return list.n;
}

static double error_of_line(const weir_filter *w, const uint8_t *line)
{
    return slots_error(line_width[line_index(line)], used_slots(w, line));
}

static double share_of_line(const weir_filter *w, const uint8_t *line)
{
    double share = (double)used_slots(w, line) / (double)w->config.slots;

    return share < 1 ? share : 1;
}

static double mean_of_lines(const weir_filter *w,
                            double (*of)(const weir_filter *w, const uint8_t *line))
{
    uint64_t all = lines(w), n = all < LINES_LOOKED_AT ? all : LINES_LOOKED_AT;
    double sum = 0;

    for (uint64_t i = 0; i < n; i++)
        sum += of(w, nth_line(w, n == all ? i : bits_scale(i << 48, all)));
    return sum / (double)n;
}

static double error_now(const weir_filter *w)
{
    return mean_of_lines(w, error_of_line);
}

static double fill(const weir_filter *w)
{
    return mean_of_lines(w, share_of_line);
}

static uint64_t lost(const weir_filter *w)
{
    return has_window(&w->config) || has_ttl(&w->config) ? w->reg[OVERFLOW] : 0;
}

/* ---- the window ---- */

void recent_age(const weir_filter *w, uint8_t *line)
{
    struct line_list list;

    if (line_age(w->reg[EPOCH], line) == 0)
        return;
    read_line(&list, w, line, NULL);
    write_line(w, line, line_index(line), &list, NULL);
}

/* A line counts parts modulo 2^16. Before that wraps around, lines that are too old are cleared. */
static void turn(weir_filter *w)
{
    w->reg[EPOCH]++;
    if (w->reg[EPOCH] % (CLOCK_WRAP / 2) == 0)
        for (uint64_t i = 0; i < lines(w); i++)
            if (line_age(w->reg[EPOCH], nth_line(w, i)) > PARTS)
                memset(nth_line(w, i), 0, LINE_BYTES);
}

/* Parts that have ended after so many records, or milliseconds, of a window. A part need not be a
 * whole number of them. */
static uint64_t parts_in(uint64_t window, uint64_t since)
{
    return since / window * PARTS + since % window * PARTS / window;
}

size_t recent_until_turn(const weir_filter *w, size_t n)
{
    const uint64_t window = w->config.window;

    if (!window)
        return n;
    uint64_t end = ((w->reg[EPOCH] % PARTS + 1) * window + PARTS - 1) / PARTS;
    uint64_t left = end - w->reg[ARRIVED];
    return left < n ? (size_t)left : n;
}

void recent_turn(weir_filter *w, size_t n)
{
    const uint64_t window = w->config.window;

    if (!window)
        return;
    w->reg[ARRIVED] += n;
    for (uint64_t left = parts_in(window, w->reg[ARRIVED]) - w->reg[EPOCH] % PARTS; left > 0;
         left--)
        turn(w);
    w->reg[ARRIVED] %= window;
}

/* All keys are too old now. Lines are aged when they are touched; if the count wraps around, as in
 * turn(), they are cleared instead. This is cheap: a stream may leap at every other key. */
static void leap(weir_filter *w, uint64_t epoch)
{
    if (epoch / (CLOCK_WRAP / 2) != w->reg[EPOCH] / (CLOCK_WRAP / 2))
        memset(w->cells, 0, w->shape.cells);
    w->reg[EPOCH] = epoch;
}

static void advance(weir_filter *w, uint64_t now)
{
    if (has_ttl(&w->config)) {
        expiry_advance(w, now);
        return;
    }
    if (!w->config.span)
        return;
    if (w->reg[BEGINNING] == 0)
        w->reg[BEGINNING] = now < UINT64_MAX ? now + 1 : now;
    uint64_t since = now >= w->reg[BEGINNING] ? now + 1 - w->reg[BEGINNING] : 0;
    uint64_t epoch = parts_in(w->config.span, since);
    if (epoch > w->reg[EPOCH] + PARTS)
        leap(w, epoch);
    while (w->reg[EPOCH] < epoch)
        turn(w);
}

/* The last millisecond of the current part. */
static uint64_t quiet_until(const weir_filter *w)
{
    uint64_t since;

    if (has_ttl(&w->config))
        return w->reg[NOW];
    if (!w->config.span || w->reg[BEGINNING] == 0)
        return w->config.span ? 0 : UINT64_MAX;
    return __builtin_mul_overflow(w->reg[EPOCH] + 1, w->config.span, &since) ||
                   __builtin_add_overflow((since - 1) / PARTS, w->reg[BEGINNING] - 1, &since)
               ? UINT64_MAX
               : since;
}

/* ---- merging and checking ---- */

/* a0 b0 a1 b1 ..., at the narrower width of the two. */
static void interleave(struct line_list *out, const struct line_list *a, uint32_t cut_a,
                       const struct line_list *b, uint32_t cut_b)
{
    out->n = 0;
    for (uint32_t i = 0; i < a->n || i < b->n; i++) {
        if (i < a->n) {
            out->extra[out->n] = a->extra[i];
            out->value[out->n++] = a->value[i] >> cut_a;
        }
        if (i < b->n) {
            out->extra[out->n] = b->extra[i];
            out->value[out->n++] = b->value[i] >> cut_b;
        }
    }
}

static void merge_line(const weir_filter *w, uint8_t *into, const weir_filter *of,
                       const uint8_t *from, const struct expiry_clock *c)
{
    uint32_t ia = line_index(into), ib = line_index(from), index = ia > ib ? ia : ib;
    struct line_list a, b, both;

    read_line(&a, w, into, c);
    read_line(&b, of, from, c);
    interleave(&both, &a, (uint32_t)line_width[ia] - line_width[index], &b,
               (uint32_t)line_width[ib] - line_width[index]);
    shorten(&both, 0, w, c);
    for (; line_width[index] > w->config.width && both.n > slots_at(&w->config, index); index++)
        shorten(&both, (uint32_t)line_width[index] - line_width[index + 1], w, c);
    uint32_t most = slots_at(&w->config, index);
    both.n = both.n < most ? both.n : most;
    write_line(w, into, index, &both, c);
}

/* With ttl=, at the later clock. */
static void merge(weir_filter *into, const weir_filter *from)
{
    const struct ttl *t = &into->config.ttl;
    const uint64_t now = into->reg[NOW] > from->reg[NOW] ? into->reg[NOW] : from->reg[NOW];
    struct expiry_clock clock;

    if (has_ttl(&into->config))
        expiry_set_clock(&clock, t, now / t->unit);
    for (uint64_t i = 0; i < lines(into); i++)
        merge_line(into, nth_line(into, i), from, nth_line(from, i), &clock);
    if (!has_ttl(&into->config))
        return;
    into->reg[NOW] = now;
    into->reg[EPOCH] = clock.now;
    into->reg[OVERFLOW] += from->reg[OVERFLOW];
}

/* A line's keys are in `times` neighbouring lines of a filter that has so many more: place() scales
 * the same word of the hash. So every key is in the copy where it is looked up. */
static void grow(weir_filter *into, const weir_filter *from)
{
    uint64_t times = lines(into) / lines(from);

    for (uint64_t i = 0; i < lines(into); i++)
        memcpy(nth_line(into, i), nth_line(from, i / times), LINE_BYTES);
}

static const char *unmergeable(const struct config *c)
{
    return has_window(c) ? "recent filters with window= or span= cannot be merged: their windows "
                           "begin at different times"
                         : NULL;
}

/* Are the bits from `first` on zero, before `end`? */
static bool is_empty_between(const uint8_t *line, uint32_t first, uint32_t end)
{
    while (first < end && !(line[first / 8] >> first % 8 & 1))
        first++;
    return first >= end;
}

/* Can a used slot be the i-th of a line? Its print must not become zero by truncation. */
static bool check_slot(const weir_filter *w, const uint8_t *line, uint32_t i, uint32_t value)
{
    const struct ttl *t = &w->config.ttl;

    return value >> (line_width[line_index(line)] - 8) != 0 &&
           (!has_ttl(&w->config) || expiry_get(line, t->bits, i) < t->levels * t->residues);
}

/* Only with ttl= used slots may follow empty ones. */
static bool check_slots(const weir_filter *w, const uint8_t *line, uint32_t slots)
{
    bool after_empty = false;

    for (uint32_t i = 0; i < slots; i++) {
        const uint32_t value = line_get(line, line_width[line_index(line)], i);

        if (value && ((after_empty && !has_ttl(&w->config)) || !check_slot(w, line, i, value)))
            return false;
        after_empty |= value == 0;
    }
    return true;
}

/* Where the slots of a line end: behind them are codes, a map, or spare bits and the width. */
static uint32_t room_end(const weir_filter *w, uint32_t slots)
{
    if (has_ttl(&w->config))
        return expiry_bit(w->config.ttl.bits, slots - 1);
    return has_window(&w->config) ? LINE_ROOM_WINDOW : LINE_ROOM;
}

/* Possible slots at a width not below the floor, and zeros behind them. */
static bool check_line(const weir_filter *w, const uint8_t *line)
{
    if (line_index(line) >= LINE_WIDTHS || line_width[line_index(line)] < w->config.width)
        return false;
    const uint32_t slots = slots_of(w, line), end = slots * line_width[line_index(line)];
    return check_slots(w, line, slots) && is_empty_between(line, end, room_end(w, slots)) &&
           (!has_window(&w->config) || map_is_possible(line_map(line), line_in_use(line, slots)));
}

static bool check_cells(const weir_filter *w)
{
    for (uint64_t i = 0; i < lines(w); i++)
        if (!check_line(w, nth_line(w, i)))
            return false;
    return true;
}

/* Four parts made a window then, and there was no register LAYOUT. */
static bool is_outdated(const struct config *c, uint32_t registers)
{
    return (c->window && registers == 3) || (c->span && registers == 4);
}

static bool check(const weir_filter *w)
{
    if (has_ttl(&w->config))
        return w->reg[NOW] <= EXPIRY_TIME_MAX && w->reg[EPOCH] == w->reg[NOW] / w->config.ttl.unit;
    if (!has_window(&w->config))
        return true;
    const uint64_t window = w->config.window;
    return w->reg[LAYOUT] == 0 &&
           (!window || (w->reg[BEGINNING] == 0 && w->reg[ARRIVED] < window &&
                        w->reg[EPOCH] % PARTS == parts_in(window, w->reg[ARRIVED])));
}

/* ---- observe and ask ---- */

static const struct recent_paths *paths(const weir_filter *w)
{
    if (has_window(&w->config) && processor_has_slow_pdep())
        return &recent_paths_plain;
    return PROCESSOR_PATHS(recent_paths);
}

/* First of all: a processor looks some 300 instructions ahead, so the line is fetched while the
 * previous call still waits for its own. */
static inline void fetch_line(const weir_filter *w, const struct weir_key *key)
{
    cells_fetch_now(nth_line(w, place(*key, 0, lines(w))));
}

static bool observe(weir_filter *w, const struct weir_key *key)
{
    fetch_line(w, key);
    return paths(w)->observe(w, key);
}

static void observe_many(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    paths(w)->observe_many(w, &(struct picked){.keys = keys, .verdicts = verdicts, .n = n});
}

static bool locate(const weir_filter *w, const struct weir_key *keys, size_t n, uint64_t *slot_refs)
{
    return paths(w)->locate(w, keys, n, slot_refs);
}

static void observe_picked(weir_filter *w, const struct picked *p)
{
    paths(w)->observe_many(w, p);
}

static void observe_until(weir_filter *w, const struct weir_key *keys, const uint64_t *expires,
                          size_t n, uint8_t *verdicts)
{
    paths(w)->observe_many(
        w, &(struct picked){.keys = keys, .expires = expires, .verdicts = verdicts, .n = n});
}

static bool ask(const weir_filter *w, const struct weir_key *key)
{
    fetch_line(w, key);
    return paths(w)->ask(w, key);
}

static void ask_many(const weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    paths(w)->ask_many(w, keys, n, verdicts);
}

static void prefetch_key(const weir_filter *w, struct weir_key key)
{
    paths(w)->prefetch(w, key);
}

const struct filter_ops filter_recent = {
    .is.about = {"recent",
                 "fingerprints in LRU order, one cache line per key: remembers the most keys",
                 WEIR_CAN_OBSERVE | WEIR_CAN_MERGE | WEIR_CAN_WINDOW | WEIR_CAN_TIME |
                     WEIR_CAN_IMPORTANCE | WEIR_CAN_RUN_FOREVER | WEIR_CAN_ONE_LINE | WEIR_CAN_TTL},
    .is.parameters = HAS_ALWAYS | HAS(PARAMETER_FPR) | HAS(PARAMETER_WIDTH) | HAS(PARAMETER_SLOTS) |
                     HAS(PARAMETER_WINDOW) | HAS(PARAMETER_SPAN) | HAS(PARAMETER_TTL) |
                     HAS(PARAMETER_EXPIRE) | HAS(PARAMETER_REFRESH) | HAS(PARAMETER_IMPORTANCE) |
                     HAS(PARAMETER_ENTER),
    .plan = plan,
    .error = error_now,
    .predict = predict,
    .predict_ttl = expiry_predict,
    .fill = fill,
    .lost = lost,
    .observe = observe,
    .observe_many = observe_many,
    .observe_picked = observe_picked,
    .locate = locate,
    .ask = ask,
    .ask_many = ask_many,
    .prefetch = prefetch_key,
    .advance = advance,
    .quiet_until = quiet_until,
    .stamp = expiry_stamp,
    .observe_until = observe_until,
    .merge = merge,
    .grow = grow,
    .unmergeable = unmergeable,
    .is_outdated = is_outdated,
    .check = check,
    .check_cells = check_cells,
};
