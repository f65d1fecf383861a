/* filter.c - measure one filter in its steady state.
 *
 * An empty filter behaves differently from a used one, and filling 512 MiB takes minutes. Error
 * rates depend only on ratios, so a small filter with the same settings is filled until it is
 * stable, and its cells are repeated until the large filter is full. */
#include "speed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "filter/filter.h"

#define SMALL (16 << 10) /* bytes */
#define KEYS_PER_CELL 40 /* enough for every filter; rsbf is stable after 34 */

#define KEYS_OF_WINDOW 16 /* bytes of memory per key of a window: half of the capacity */

static weir_filter *open_filter(const char *name, const char *parameters, double bytes)
{
    char spec[160], window[32] = "";
    struct weir_error error;
    weir_filter *w;

    if (!strcmp(parameters, "window="))
        snprintf(window, sizeof window, "%.0f", bytes / KEYS_OF_WINDOW);
    snprintf(spec, sizeof spec, "%s memory=%.0f seed=%d %s%s", name, bytes, SEED, parameters,
             window);
    if (weir_open(&w, spec, &error) != WEIR_OK)
        die("%s", error.text);
    return w;
}

/* A filter that never forgets is half filled, the best load for its k. */
static double keys_to_settle(const weir_filter *w, double load)
{
    if (load < FULL)
        return load * (double)(w->shape.cells / 64 * w->config.slots);
    if (w->config.is.of->parameters & HAS(PARAMETER_CAPACITY))
        return (double)w->shape.cells * log(2) / (double)w->config.k;
    return (double)w->shape.cells * KEYS_PER_CELL;
}

static void settle(weir_filter *w, double load)
{
    for (uint64_t i = 0; i < (uint64_t)keys_to_settle(w, load); i++) {
        struct record record = {{~i, i * RNG_STEP}};
        struct weir_key key = weir_hash(w, &record, sizeof record);

        key.importance = importance_of(&record);
        weir_observe(w, key);
    }
}

/* Eight cells are a whole number of bytes and are copied; the rest is set cell by cell. */
static void tile_plane(struct cells to, struct cells from)
{
    uint64_t tile = from.n / 8 * from.width, all = to.n / 8 * to.width;

    for (uint64_t at = 0; at < all; at += tile)
        memcpy(to.bytes + at, from.bytes, all - at < tile ? all - at : tile);
    for (uint64_t i = to.n / 8 * 8; i < to.n; i++)
        cells_set(&to, i, cells_get(&from, i % from.n));
}

/* Counting registers grow with the filter; small values are plane numbers. */
static void tile(weir_filter *to, const weir_filter *from)
{
    double factor = (double)to->shape.cells / (double)from->shape.cells;

    for (uint32_t i = 0; i < from->shape.planes; i++)
        tile_plane(plane(to, i), plane(from, i));
    for (uint32_t i = 0; i < from->shape.registers; i++)
        to->reg[i] =
            from->reg[i] < SLICES_MAX ? from->reg[i] : (uint64_t)((double)from->reg[i] * factor);
    if (from->config.window && from->config.slots) /* lines contain the number of their part */
        memcpy(to->reg, (uint64_t[]){from->reg[0], 0, 0}, 3 * sizeof *to->reg);
    to->observed = (uint64_t)((double)from->observed * factor);
    to->seen = (uint64_t)((double)from->seen * factor);
    to->sample = from->sample;
}

/* Each key depends on the verdict for the previous one. The key's words are passed one by one:
 * copying the struct right after a write to it would stall. */
static void run_chained(weir_filter *w, const struct stream *s, size_t from, size_t to, bool asking)
{
    uint64_t before = 0;

    for (size_t i = from; i < to; i++) {
        const struct weir_key *k = &s->keys[i];
        struct weir_key key = {k->lo + wait_for(before), k->hi, k->importance, k->origin};

        before = asking ? weir_ask(w, key) : weir_observe(w, key);
    }
}

static void run_range(weir_filter *w, const struct stream *s, size_t from, size_t to,
                      const struct row *how)
{
    static struct weir_key keys[BATCH];

    if (how->chained) {
        run_chained(w, s, from, to, how->asking);
        return;
    }
    for (size_t i = from; i < to; i += BATCH) {
        size_t n = to - i < BATCH ? to - i : BATCH;

        if (how->hashing && how->batch) {
            weir_hash_many(w, s->bytes + i, n, keys);
            for (size_t j = 0; j < n; j++)
                keys[j].importance = importance_of(s->bytes[i + j].data);
        }
        if (how->asking) {
            weir_ask_many(w, s->keys + i, n, s->verdicts + i);
            continue;
        }
        if (how->batch) {
            weir_observe_many(w, how->hashing ? keys : s->keys + i, n, s->verdicts + i);
            continue;
        }
        for (size_t j = i; j < i + n; j++) {
            struct weir_key key = s->keys[j];

            if (how->hashing) {
                key = weir_hash(w, s->bytes[j].data, s->bytes[j].size);
                key.importance = importance_of(s->bytes[j].data);
            }
            s->verdicts[j] = weir_observe(w, key);
        }
    }
}

static double time_of(weir_filter *w, const struct stream *s, const struct row *how)
{
    size_t lead = s->n / LEAD_IN;

    run_range(w, s, 0, lead, how);
    double start = now_ns();
    run_range(w, s, lead, s->n, how);
    return (now_ns() - start) / (double)(s->n - lead);
}

/* The parameters without name, memory and seed, for example "k=2 p-star=0.03". */
static void describe(const weir_filter *w, struct row *row)
{
    char spec[256];
    char *rest = spec, *word;

    weir_config(w, spec, sizeof spec);
    row->settings[0] = 0;
    strsep(&rest, " ");
    while ((word = strsep(&rest, " "))) {
        if (!strncmp(word, "memory=", 7) || !strncmp(word, "hash=", 5) ||
            !strncmp(word, "seed=", 5))
            continue;
        if (row->settings[0])
            strcat(row->settings, " ");
        strcat(row->settings, word);
    }
}

void filter_run(struct table *t, const char *name, const char *parameters, double load,
                double memory_mib, const struct stream *s)
{
    struct row row = {.memory_mib = memory_mib, .algorithm = name};
    uint64_t seen = 0;

    weir_filter *w = open_filter(name, parameters, memory_mib * 1048576);
    weir_filter *small = open_filter(name, parameters, SMALL);
    if (w->config.k != small->config.k || w->config.decay != small->config.decay)
        die("%s: its settings at %d bytes differ from those at %.0f MiB", name, SMALL, memory_mib);
    settle(small, load);
    describe(w, &row);
    if (load < FULL)
        snprintf(row.settings + strlen(row.settings), 16, " load=%.0f%%", 100 * load);
    row.lines = w->shape.lines;
    for (int mode = 0; mode < 4; mode++) {
        row.batch = mode & 1;
        row.hashing = mode & 2;
        tile(w, small);
        uint64_t before = w->seen;
        table_note(t, &row, time_of(w, s, &row));
        if (mode > 0 && w->seen - before != seen)
            die("%s: one by one and batched differ", name);
        seen = w->seen - before;
    }
    row.asking = row.batch = true;
    row.hashing = false;
    table_note(t, &row, time_of(w, s, &row));
    row.batch = false;
    row.chained = true;
    for (int asks = 1; asks >= 0 && row.lines == 1; asks--) {
        row.asking = asks;
        table_note(t, &row, time_of(w, s, &row));
    }
    weir_close(small);
    weir_close(w);
}
