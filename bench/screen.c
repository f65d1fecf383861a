/* screen.c - measure the screen `cache` as filters are measured, with a store that answers
 * immediately.
 *
 * Most keys of the stream are new and are looked up in the store. Then the same keys are repeated,
 * and the cache answers for all of them. The screen is filled as in filter.c. */
#include "speed.h"

#include <stdio.h>
#include <string.h>

#include "screen/screen.h"

#define SMALL (16 << 10) /* bytes */
#define LINE 64

static weir_screen *open_screen(const char *parameters, double bytes)
{
    char spec[160];
    struct weir_error error;
    weir_screen *s;

    snprintf(spec, sizeof spec, "cache memory=%.0f seed=%d %s", bytes, SEED, parameters);
    if (weir_screen_open(&s, spec, &error) != WEIR_OK)
        die("%s", error.text);
    return s;
}

/* Every second key is a member. */
static bool answer(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        answers[i] = *(const uint8_t *)keys[i].data & 1;
    return true;
}

static void settle(weir_screen *s, double load)
{
    uint64_t keys = (uint64_t)((load < FULL ? load : 8) * SMALL / LINE * (double)s->config.slots);

    for (uint64_t i = 0; i < keys; i++) {
        uint64_t record[2] = {~i, i * RNG_STEP};
        struct weir_bytes key = {record, sizeof record};
        uint8_t verdict;

        weir_screen_check(s, &key, 1, answer, NULL, &verdict);
    }
}

static void tile(weir_screen *to, const weir_screen *from)
{
    for (uint64_t at = 0; at + from->area[0].n <= to->area[0].n; at += from->area[0].n)
        memcpy(to->area[0].bytes + at, from->area[0].bytes, from->area[0].n);
}

static void check_some(weir_screen *w, const struct stream *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i += BATCH)
        weir_screen_check(w, s->bytes + i, to - i < BATCH ? to - i : BATCH, answer, NULL,
                          s->verdicts + i);
}

static double time_of(weir_screen *w, const struct stream *s)
{
    size_t lead = s->n / LEAD_IN;

    check_some(w, s, 0, lead);
    double start = now_ns();
    check_some(w, s, lead, s->n);
    return (now_ns() - start) / (double)(s->n - lead);
}

void screen_run(struct table *t, const char *parameters, double load, double memory_mib,
                const struct stream *s)
{
    struct row row = {.memory_mib = memory_mib, .algorithm = "screen", .batch = true, .lines = 1};
    weir_screen *w = open_screen(parameters, memory_mib * 1048576),
                *small = open_screen(parameters, SMALL);

    row.hashing = true;
    settle(small, load);
    tile(w, small);
    snprintf(row.settings, sizeof row.settings, "cache width=%u slots=%u",
             (unsigned)w->config.width, (unsigned)w->config.slots);
    if (load < FULL)
        snprintf(row.settings + strlen(row.settings), 16, " load=%.0f%%", 100 * load);
    table_note(t, &row, time_of(w, s));
    row.asking = true;
    table_note(t, &row, time_of(w, s));
    weir_screen_close(small);
    weir_screen_close(w);
}
