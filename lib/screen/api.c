/* api.c - screens as handles (format/handle.h), and the public calls on time and statistics.
 * check_batch.c has the calls on keys.
 *
 * A screen is one allocation: struct weir_screen, struct scratch, then area 0, area 1 and so on,
 * each on a cache line of its own. It is saved as one part:
 *
 *   words = checked asked unanswered members learned [now]   the time if the spec has span=
 *   cells = area 0, area 1 ... as in memory, each padded to whole cache lines */
#include "screen/screen.h"

#include <string.h>

#include "spec/caller_struct.h"

/* ---- open, clone, merge ---- */

/* Cells are read several bytes at a time, so a cache line follows the last area. */
static struct handle_size size_of(const void *config)
{
    const struct screen_config *c = config;

    return (struct handle_size){.head = memory_lines(sizeof(weir_screen) + sizeof(struct scratch)),
                                .data = screen_shape_bytes(&c->shape),
                                .spare = CACHE_LINE,
                                .asked = c->memory / 8};
}

static void begin(struct handle *handle, const void *config)
{
    const struct screen_config *c = config;
    weir_screen *s = (weir_screen *)handle;
    uint8_t *at = handle->data;

    s->ops = c->ops;
    s->config = *c;
    s->scratch = (struct scratch *)(s + 1);
    for (uint32_t i = 0; i < c->shape.areas; at += screen_area_bytes(&c->shape, i++))
        s->area[i] = (struct cells){at, c->shape.area[i].cells, (uint32_t)c->shape.area[i].width};
}

static void reset(struct handle *handle)
{
    ((weir_screen *)handle)->attached = NULL;
}

static enum weir_status check_merge(const struct handle *into, const struct handle *from,
                                    struct weir_error *error)
{
    const weir_screen *s = (const weir_screen *)into, *of = (const weir_screen *)from;
    const char *why = s->ops->unmergeable ? s->ops->unmergeable(&s->config) : NULL;

    if (!why && (s->attached || of->attached))
        why = "screens with an attached set cannot be merged";
    return why ? error_say(error, WEIR_ERROR_UNSUPPORTED, why, NULL) : WEIR_OK;
}

static enum weir_status merge(struct handle *handle, const struct handle *from,
                              struct weir_error *error)
{
    weir_screen *into = (weir_screen *)handle;
    const weir_screen *of = (const weir_screen *)from;

    (void)error;
    for (uint32_t i = 0; i < into->config.shape.areas; i++)
        cells_raise_all(&into->area[i], &of->area[i]);
    into->count.checked += of->count.checked;
    into->count.asked += of->count.asked;
    into->count.unanswered += of->count.unanswered;
    into->count.members += of->count.members;
    into->count.learned += of->count.learned;
    return WEIR_OK;
}

/* ---- save and load ---- */

#define COUNTERS 5
#define CHECKED_MAX (UINT64_C(1) << 62)

static uint64_t at_most(uint64_t n, uint64_t max)
{
    return n < max ? n : max;
}

/* Counters are saved up to CHECKED_MAX, and rejected above it when loading. */
static void save_words(const struct handle *handle, struct part_head *h)
{
    const weir_screen *s = (const weir_screen *)handle;
    uint64_t checked = at_most(s->count.checked, CHECKED_MAX);
    uint64_t unanswered = at_most(s->count.unanswered, checked), records = checked - unanswered;

    part_word(h, checked);
    part_word(h, at_most(s->count.asked, records));
    part_word(h, unanswered);
    part_word(h, at_most(s->count.members, records));
    part_word(h, at_most(s->count.learned, CHECKED_MAX));
    if (s->config.span)
        part_word(h, s->now);
}

static bool fits(const void *config, const struct part_head *h)
{
    const struct screen_config *c = config;

    return h->words == COUNTERS + (c->span > 0) && h->cells == screen_shape_bytes(&c->shape);
}

static void load_words(struct handle *handle, const struct part_head *h)
{
    weir_screen *s = (weir_screen *)handle;

    s->count = (struct screen_counts){.checked = h->word[0],
                                      .asked = h->word[1],
                                      .unanswered = h->word[2],
                                      .members = h->word[3],
                                      .learned = h->word[4]};
    s->now = s->config.span ? h->word[COUNTERS] : 0;
}

static bool gaps_empty(const weir_screen *s)
{
    for (uint32_t i = 0; i < s->config.shape.areas; i++)
        if (!cells_gap_is_zero(&s->area[i], screen_area_bytes(&s->config.shape, i)))
            return false;
    return true;
}

static bool is_possible(const struct handle *handle)
{
    const weir_screen *s = (const weir_screen *)handle;

    return s->count.checked <= CHECKED_MAX && s->count.unanswered <= s->count.checked &&
           s->count.asked <= screen_records(s) && s->count.members <= screen_records(s) &&
           s->count.learned <= CHECKED_MAX && (screen_holds_set(s) || s->count.learned == 0) &&
           gaps_empty(s) && (!s->ops->check || s->ops->check(s));
}

const struct handle_kind screen_kind = {
    .grammar = &screen_grammar,
    .parts = {WEIR_PART_SCREEN, WEIR_PART_SCREEN},
    .record = offsetof(weir_screen, config),
    .state = offsetof(weir_screen, count),
    .state_size = offsetof(weir_screen, attached) - offsetof(weir_screen, count),
    HANDLE_FUNCTIONS,
    .reset = reset,
    .load_words = load_words,
    .is_possible = is_possible,
};

/* ---- time ---- */

/* Time advances in SPAN_STEPS steps per span. Each step evicts the verdicts of one part of the
 * memory, so no verdict is older than a span. */
void weir_screen_advance(weir_screen *s, uint64_t now)
{
    uint64_t step = s->config.span / SPAN_STEPS;

    if (!s->config.span || now <= s->now)
        return;
    uint64_t from = s->now ? s->now / step : now / step, steps = now / step - from;
    for (uint64_t i = 1; i <= steps && i <= SPAN_STEPS; i++)
        s->ops->sweep(s, from + i);
    s->now = now;
}

/* ---- statistics ---- */

void weir_screen_measure(const weir_screen *s, struct weir_screen_stats *out, size_t size)
{
    struct weir_screen_stats stats = {
        .bytes = s->handle.bytes,
        .checked = s->count.checked,
        .asked = s->count.asked,
        .saved = s->count.checked - s->count.asked - s->count.unanswered,
        .unanswered = s->count.unanswered,
        .members = s->count.members,
        .fill = s->ops->fill ? s->ops->fill(s) : 0,
        .error = s->ops->error ? s->ops->error(s) : 0,
    };

    for (uint32_t i = 0; i < s->config.shape.areas; i++)
        stats.memory += cells_size(s->area[i].n, s->area[i].width);
    caller_struct_return(out, size, &stats, sizeof stats);
}
