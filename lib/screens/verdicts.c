/* verdicts.c - a screen of our own: the store's verdicts by fingerprint, one
 * cache line per key.
 *
 * A key's hash picks one line of 64 bytes and a fingerprint, as in the weir
 * filter (base/line.h draws the line, filters/weir.c says why its widths adapt:
 * 32 bits as long as a line has room, cut to the next width when it is full, down
 * to width=). Beside each fingerprint the line has one bit, whether the store
 * called it a member:
 *
 *   bit 0                                   447          503     511
 *   | slot 0 | slot 1 | ... | slot n-1 | 0 | ... v1  v0 | width |
 *
 * A key whose fingerprint is there gets the stored verdict, and moves to the
 * front. Another is asked for, and enters at two fifths of the way: most keys of
 * most streams never come again, and are not to push out those that do. The last
 * one of a full line falls out.
 *
 * Memory is rounded up to whole lines. It never fills up and nothing
 * saturates: calls are the misses of a cache, and the error is that of a fingerprint which another
 * key has too, n of 255 * 2^(width-8) with n slots in use, whatever the length of the stream.
 *
 * A set that changes makes verdicts grow old. With window= a hand goes round the
 * lines once in so many records, and empties each: no verdict is older than the
 * window. It costs no bit; each key in use is asked for once per round. */
#include <string.h>

#include "base/line.h"
#include "screen.h"
#include "theory/slots.h"

#define WIDTH_DEFAULT 20      /* a wrong verdict costs more than a call */
#define LINES_LOOKED_AT 65536 /* to measure fill and error */

#define VERDICTS (LINE_BYTES - 8) /* the byte from which the word with the verdicts begins */
#define FIRST_VERDICT 55          /* its bit of slot 0 */
#define SLOTS_MOST 56

/* A slot and its verdict. */
static uint32_t room_at(uint32_t index)
{
    return LINE_ROOM / (line_width[index] + 1u);
}

static uint32_t slots_at(const struct screen_config *c, uint32_t index)
{
    uint32_t room = room_at(index);

    return room < c->slots ? room : (uint32_t)c->slots;
}

/* ---- planning ---- */

/* The width, and how much of it, that keeps the most slots under the error. */
static bool choose_width(struct screen_config *c)
{
    uint64_t given = c->width;

    c->slots = 0;
    for (uint32_t i = 0; i < LINE_WIDTHS; i++) {
        uint32_t n = slots_most(c->fpr, line_width[i], room_at(i));

        if (n > c->slots && (!given || line_width[i] == given)) {
            c->slots = n;
            c->width = line_width[i];
        }
    }
    return c->slots > 0;
}

static bool refuse(struct weir_error *error, const char *why)
{
    error_say(error, WEIR_BAD_CONFIG, why, NULL);
    return false;
}

static bool plan(struct screen_config *c, struct screen_shape *shape, struct weir_error *error)
{
    uint64_t most = c->slots ? c->slots : SLOTS_MOST;

    if (c->width && !memchr(line_width, (int)c->width, sizeof line_width))
        return refuse(error, "width= does not fit: it takes 8 to 16, 20, 24 or 32");
    if (screen_given(c, SCREEN_FPR)) {
        if (!choose_width(c))
            return refuse(error, "fpr= cannot be kept with this width; allow more, or leave width "
                                 "out: 32 bits reach 2.4e-10");
    } else {
        c->width = c->width ? c->width : WIDTH_DEFAULT;
        c->slots = LINE_ROOM / (c->width + 1);
    }
    c->slots = c->slots < most ? c->slots : most;
    shape->filters = 1;
    shape->filter[0].cells = (c->memory + 8 * LINE_BYTES - 1) / (8 * LINE_BYTES) * LINE_BYTES;
    return true;
}

/* ---- lines ---- */

static uint64_t lines(const weir_screen *s)
{
    return s->filter[0]->shape.cells / LINE_BYTES;
}

static uint8_t *nth_line(const weir_screen *s, uint64_t i)
{
    return s->filter[0]->cells + i * LINE_BYTES;
}

static uint8_t *line_of(const weir_screen *s, struct weir_key key)
{
    return nth_line(s, place(key, 0, lines(s)));
}

static uint32_t cut_to(const uint8_t *line, struct weir_key key)
{
    return line_print(key.hi) >> (32 - line_width[line_index(line)]);
}

/* Bit i for slot i; the lowest set is certain. */
static uint64_t match(const weir_screen *s, const uint8_t *line, struct weir_key key)
{
    return line_match(line, slots_at(&s->config, line_index(line)), cut_to(line, key));
}

static bool verdict(const uint8_t *line, uint32_t slot)
{
    return bits_load64(line + VERDICTS) >> (FIRST_VERDICT - slot) & 1;
}

/* line_move(), and the same with the verdicts. */
static void move(uint8_t *line, uint32_t from, uint32_t to, uint32_t print, bool member)
{
    line_move(line, from, to, print);
    uint64_t word = bits_load64(line + VERDICTS);
    uint64_t moved =
        (UINT64_C(2) << (FIRST_VERDICT - to)) - (UINT64_C(1) << (FIRST_VERDICT - from));
    uint64_t shifted = (word & moved) >> 1 & moved;

    bits_store64(line + VERDICTS,
                 (word & ~moved) | shifted | (uint64_t)member << (FIRST_VERDICT - to));
}

/* ---- lines as lists ---- */

struct list {
    uint32_t n;
    uint32_t value[SLOTS_MOST];
    bool member[SLOTS_MOST];
};

static void read_list(const uint8_t *line, uint32_t slots, struct list *list)
{
    uint32_t bits = line_width[line_index(line)];

    for (list->n = 0; list->n < slots; list->n++) {
        list->value[list->n] = line_get(line, bits, list->n);
        list->member[list->n] = verdict(line, list->n);
        if (list->value[list->n] == 0)
            return;
    }
}

static void write_list(uint8_t *line, uint32_t index, const struct list *list)
{
    memset(line, 0, LINE_BYTES);
    line[LINE_BYTES - 1] = (uint8_t)index;
    for (uint32_t i = list->n; i-- > 0;)
        move(line, list->n - 1, 0, list->value[i], list->member[i]);
}

/* Cut a full line's fingerprints to the next width; of equal ones the first
 * stays. */
static void cut(const weir_screen *s, uint8_t *line)
{
    uint32_t index = line_index(line), kept = 0;
    uint32_t bits = (uint32_t)line_width[index] - line_width[index + 1];
    struct list list;

    read_list(line, slots_at(&s->config, index), &list);
    for (uint32_t i = 0, j; i < list.n; i++) {
        for (j = 0; j < kept && list.value[j] != list.value[i] >> bits;)
            j++;
        if (j < kept)
            continue;
        list.value[kept] = list.value[i] >> bits;
        list.member[kept++] = list.member[i];
    }
    list.n = kept;
    write_list(line, index + 1, &list);
}

/* ---- keys ---- */

static void touch(const weir_screen *s, struct weir_key key)
{
    cells_fetch(line_of(s, key));
}

static uint8_t decide(const weir_screen *s, struct weir_key key)
{
    const uint8_t *line = line_of(s, key);
    uint64_t found = match(s, line, key);

    if (!found)
        return WEIR_UNANSWERED;
    return verdict(line, (uint32_t)__builtin_ctzll(found)) ? WEIR_MEMBER : WEIR_OTHER;
}

static bool is_full(const weir_screen *s, const uint8_t *line)
{
    uint32_t index = line_index(line);

    return line_get(line, line_width[index], slots_at(&s->config, index) - 1) != 0;
}

/* How deep a new verdict enters: never behind an empty slot. */
static uint32_t depth_in(const uint8_t *line, uint32_t slots)
{
    uint32_t depth = slots * 2 / 5;

    if (depth > 0 && line_get(line, line_width[line_index(line)], depth - 1) == 0)
        depth = (uint32_t)__builtin_ctzll(line_match(line, slots, 0));
    return depth;
}

static void insert(const weir_screen *s, uint8_t *line, struct weir_key key, bool member)
{
    while (line_width[line_index(line)] > s->config.width && is_full(s, line))
        cut(s, line);
    uint32_t slots = slots_at(&s->config, line_index(line));
    move(line, slots - 1, depth_in(line, slots), cut_to(line, key), member);
}

/* The hand goes on, by as much as one record is of the window. */
static void sweep(weir_screen *s)
{
    uint64_t window = s->config.window, record = screen_records(s) % window;
    uint64_t from = (uint64_t)((bits_u128)record * lines(s) / window);
    uint64_t to = (uint64_t)((bits_u128)(record + 1) * lines(s) / window);

    memset(nth_line(s, from), 0, (size_t)(to - from) * LINE_BYTES);
}

static void settle(weir_screen *s, struct weir_key key, uint8_t answer, bool from_store)
{
    uint8_t *line = line_of(s, key);

    if (from_store)
        insert(s, line, key, answer == WEIR_MEMBER);
    else
        move(line, (uint32_t)__builtin_ctzll(match(s, line, key)), 0, cut_to(line, key),
             answer == WEIR_MEMBER);
    if (s->config.window)
        sweep(s);
}

/* ---- measuring and checking ---- */

static uint32_t used_slots(const weir_screen *s, const uint8_t *line)
{
    uint32_t slots = slots_at(&s->config, line_index(line)), used = 0;

    while (used < slots && line_get(line, line_width[line_index(line)], used) != 0)
        used++;
    return used;
}

static double error_of_line(const weir_screen *s, const uint8_t *line)
{
    return slots_error(line_width[line_index(line)], used_slots(s, line));
}

static double share_of_line(const weir_screen *s, const uint8_t *line)
{
    double share = (double)used_slots(s, line) / (double)s->config.slots;

    return share < 1 ? share : 1;
}

static double mean_of_lines(const weir_screen *s,
                            double (*of)(const weir_screen *s, const uint8_t *line))
{
    uint64_t all = lines(s), n = all < LINES_LOOKED_AT ? all : LINES_LOOKED_AT;
    double sum = 0;

    for (uint64_t i = 0; i < n; i++)
        sum += of(s, nth_line(s, n == all ? i : bits_scale(i << 48, all)));
    return sum / (double)n;
}

static double error_now(const weir_screen *s)
{
    return mean_of_lines(s, error_of_line);
}

static double fill(const weir_screen *s)
{
    return mean_of_lines(s, share_of_line);
}

/* Slots without gaps, at a width not below the floor, and zeros behind them:
 * the line that its own list would write. */
static bool is_possible(const weir_screen *s, const uint8_t *line)
{
    uint8_t again[LINE_BYTES];
    struct list list;

    if (line_index(line) >= LINE_WIDTHS || line_width[line_index(line)] < s->config.width)
        return false;
    read_list(line, slots_at(&s->config, line_index(line)), &list);
    for (uint32_t i = 0; i < list.n; i++)
        if (list.value[i] >> (line_width[line_index(line)] - 8) == 0)
            return false; /* it would be nothing once it is cut */
    write_list(again, line_index(line), &list);
    return memcmp(again, line, LINE_BYTES) == 0;
}

static bool check(const weir_screen *s)
{
    for (uint64_t i = 0; i < lines(s); i++)
        if (!is_possible(s, nth_line(s, i)))
            return false;
    return true;
}

const struct screen_ops screen_weir = {
    .about = {"weir", "the store's verdicts by fingerprint, those least used forgotten first"},
    .knobs = SCREEN_ALWAYS | SCREEN_HAS(SCREEN_MEMORY) | SCREEN_HAS(SCREEN_WINDOW) |
             SCREEN_HAS(SCREEN_WIDTH) | SCREEN_HAS(SCREEN_SLOTS) | SCREEN_HAS(SCREEN_FPR),
    .plan = plan,
    .decide = decide,
    .touch = touch,
    .settle = settle,
    .fill = fill,
    .error = error_now,
    .check = check,
};
