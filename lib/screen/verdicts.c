/* verdicts.c - a screen of our own: the store's verdicts by fingerprint, one
 * cache line per key (verdict_lines.h).
 *
 * A key whose fingerprint is there gets the stored verdict; another is asked for,
 * and its verdict remembered in the place of one that is least used.
 *
 * Memory is rounded up to whole lines. It never fills up and nothing saturates:
 * calls are the misses of a cache, and the error is that of a fingerprint which
 * another key has too, n of 255 * 2^(width-8) with n slots in use, whatever the
 * length of the stream.
 *
 * A set that changes makes verdicts grow old. With window= a hand goes round the
 * lines once in so many records, and empties each: no verdict is older than the
 * window. It costs no bit; each key in use is asked for once per round. With span= it
 * goes by time, which the caller tells, in SPAN_STEPS steps a round. */
#include <string.h>

#include "screen/verdict_lines.h"
#include "theory/recent.h"

#define WIDTH_DEFAULT 20 /* a wrong verdict costs more than a call */

/* ---- planning ---- */

/* The width, and how much of it, that keeps the most slots under the error. */
static bool choose_width(struct screen_config *c)
{
    uint64_t given = c->width;

    c->slots = 0;
    for (uint32_t i = 0; i < LINE_WIDTHS; i++) {
        uint32_t n = slots_most(c->fpr, line_width[i], lines_room(line_width[i]));

        if (n > c->slots && (!given || line_width[i] == given)) {
            c->slots = n;
            c->width = line_width[i];
        }
    }
    return c->slots > 0;
}

static bool plan(struct screen_config *c, struct screen_shape *shape, struct weir_error *error)
{
    uint64_t most = c->slots ? c->slots : LINES_SLOTS_MOST;

    if (c->width && !memchr(line_width, (int)c->width, sizeof line_width))
        return error_refuse(error, WEIR_ERROR_INVALID_VALUE,
                            "width= does not fit: it takes 8 to 16, 20, 24 or 32", NULL);
    if (spec_has(&c->is, SCREEN_FPR)) {
        if (!choose_width(c))
            return error_refuse(error, WEIR_ERROR_LIMIT_UNREACHABLE,
                                "fpr= cannot be kept with this width; allow more, or leave width "
                                "out: 32 bits reach 2.4e-10",
                                NULL);
    } else {
        c->width = c->width ? c->width : WIDTH_DEFAULT;
        c->slots = lines_room(c->width);
    }
    c->slots = c->slots < most ? c->slots : most;
    shape->areas = 1;
    shape->area[0].cells = lines_bytes(c->memory);
    shape->area[0].width = 8;
    return true;
}

/* ---- keys ---- */

static struct verdict_lines lines_of(const weir_screen *s)
{
    return lines_in(s, 0, s->config.width, s->config.slots);
}

static void touch(const weir_screen *s, struct weir_key key)
{
    struct verdict_lines l = lines_of(s);

    lines_touch(&l, key);
}

static uint8_t decide(const weir_screen *s, struct weir_key key)
{
    struct verdict_lines l = lines_of(s);

    return lines_find(&l, key);
}

static void settle(weir_screen *s, struct weir_key key, uint8_t answer, bool from_store)
{
    struct verdict_lines l = lines_of(s);

    if (from_store)
        lines_add(&l, key, answer == WEIR_MEMBER);
    else
        lines_use(&l, key);
    if (s->config.window)
        lines_sweep(&l, screen_records(s), s->config.window);
}

static void sweep(weir_screen *s, uint64_t step)
{
    struct verdict_lines l = lines_of(s);

    lines_sweep(&l, step, SPAN_STEPS);
}

static double fill(const weir_screen *s)
{
    struct verdict_lines l = lines_of(s);

    return lines_fill(&l);
}

static double error_now(const weir_screen *s)
{
    struct verdict_lines l = lines_of(s);

    return lines_error(&l);
}

static bool check(const weir_screen *s)
{
    struct verdict_lines l = lines_of(s);

    return lines_possible(&l);
}

static const char *unmergeable(const struct screen_config *c)
{
    (void)c;
    return "weir screens cannot be merged: which of two verdicts was used last is not known";
}

const struct screen_ops screen_cache = {
    .is.about = {"cache", "the store's verdicts by fingerprint, those least used forgotten first",
                 WEIR_CAN_WINDOW | WEIR_CAN_TIME | WEIR_CAN_RUN_FOREVER | WEIR_CAN_CONFIRM},
    .is.parameters = SCREEN_ALWAYS | HAS(SCREEN_MEMORY) | HAS(SCREEN_WINDOW) | HAS(SCREEN_SPAN) |
                     HAS(SCREEN_WIDTH) | HAS(SCREEN_SLOTS) | HAS(SCREEN_FPR),
    .plan = plan,
    .decide = decide,
    .touch = touch,
    .settle = settle,
    .sweep = sweep,
    .fill = fill,
    .error = error_now,
    .check = check,
    .unmergeable = unmergeable,
};
