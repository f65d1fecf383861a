/* verdicts.c - our own screen, `cache`: the store's verdicts by fingerprint, one cache line per
 * key (verdict_lines.h).
 *
 * A key whose fingerprint is cached gets the cached verdict. Any other key is looked up in the
 * store, and its verdict replaces a rarely used one.
 *
 * Memory is rounded up to whole lines. The screen never fills up or saturates: lookups in the
 * store are the misses of a cache. The error is the probability that another key has the same
 * fingerprint, n of 255 * 2^(width-8) with n slots in use, whatever the length of the stream.
 *
 * If the set changes, cached verdicts become outdated. With window= a hand moves around the lines
 * once per `window` records and clears each line, so no verdict is older than the window. This
 * needs no memory; each key in use is looked up once per round. With span= the same happens by
 * time, which the caller sets, in SPAN_STEPS steps per round. */
#include <string.h>

#include "screen/verdict_lines.h"
#include "theory/recent.h"

#define WIDTH_DEFAULT 20 /* a wrong verdict costs more than a lookup */

/* ---- planning ---- */

/* Choose the width, and the number of slots, with the most slots that keep the error. */
static bool choose_width(struct screen_config *c)
{
    uint64_t given = c->width;

    c->slots = 0;
    for (uint32_t i = 0; i < LINE_WIDTHS; i++) {
        uint32_t n = slots_max(c->fpr, line_width[i], lines_room(line_width[i]));

        if (n > c->slots && (!given || line_width[i] == given)) {
            c->slots = n;
            c->width = line_width[i];
        }
    }
    return c->slots > 0;
}

static bool plan(struct screen_config *c, struct screen_shape *shape, struct weir_error *error)
{
    uint64_t most = c->slots ? c->slots : LINES_SLOTS_MAX;

    if (c->width && !memchr(line_width, (int)c->width, sizeof line_width))
        return error_refuse(error, WEIR_ERROR_INVALID_VALUE,
                            "width=: invalid value; use 8 to 16, 20, 24 or 32", NULL);
    if (spec_has(&c->is, SCREEN_FPR)) {
        if (!choose_width(c))
            return error_refuse(
                error, WEIR_ERROR_LIMIT_UNREACHABLE,
                "fpr= cannot be kept with this width; use a higher rate, or no width=: "
                "32 bits reach 2.4e-10",
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

static void prefetch(const weir_screen *s, struct weir_key key)
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
    return "cache screens cannot be merged: the order in which their verdicts were used is unknown";
}

const struct screen_ops screen_cache = {
    .is.about = {"cache",
                 "caches the store's verdicts by fingerprint, evicts the least recently used",
                 WEIR_CAN_WINDOW | WEIR_CAN_TIME | WEIR_CAN_RUN_FOREVER | WEIR_CAN_CONFIRM},
    .is.parameters = SCREEN_ALWAYS | HAS(SCREEN_MEMORY) | HAS(SCREEN_WINDOW) | HAS(SCREEN_SPAN) |
                     HAS(SCREEN_WIDTH) | HAS(SCREEN_SLOTS) | HAS(SCREEN_FPR),
    .plan = plan,
    .decide = decide,
    .prefetch = prefetch,
    .settle = settle,
    .sweep = sweep,
    .fill = fill,
    .error = error_now,
    .check = check,
    .unmergeable = unmergeable,
};
