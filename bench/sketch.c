/* sketch.c - how fast sketches count, compared with the machine's limit and with exact counting in
 * a hash table.
 *
 *     sketch [MIB]...      memory sizes (default: 1, 64 and 512)
 *
 * The method and the columns are those of bench/speed. */
#include "speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/sketch.h>

#include "base/memory.h"
#include "base/rng.h"

#define KEYS (UINT32_C(1) << 19)
#define REPEAT 5

static const struct {
    const char *name, *parameters;
    uint32_t lines;
    bool hashed; /* takes keys that are already hashed */
} sketches[] = {{"count-min", "", 4, true},
                {"count-min", "layout=line", 1, true},
                {"count-min", "update=conservative", 4, true},
                {"count-min", "layout=line update=conservative", 1, true},
                {"count-min", "counter=64", 4, true},
                {"top", "", 4, false},
                {"heavykeeper", "", 5, false}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- sketches ---- */

static void add_some(weir_sketch *s, const struct stream *in, size_t from, size_t to,
                     const struct row *how)
{
    size_t step = how->batch ? BATCH : 1;

    for (size_t i = from; i < to; i += step) {
        size_t n = to - i < step ? to - i : step;

        if (!how->hashing)
            (void)!weir_sketch_add_hashed(s, in->keys + i, NULL, n, NULL);
        else if (how->batch)
            weir_sketch_add_many(s, in->bytes + i, NULL, n);
        else
            weir_sketch_add(s, in->bytes[i], 1);
    }
}

static void sketch_run(struct table *t, size_t which, double memory_mib, const struct stream *in)
{
    struct row row = {.memory_mib = memory_mib, .algorithm = sketches[which].name};
    struct weir_error error;
    char spec[128];
    weir_sketch *s;

    snprintf(spec, sizeof spec, "%s memory=%.0f seed=%d %s", row.algorithm, memory_mib * 1048576,
             SEED, sketches[which].parameters);
    if (weir_sketch_open(&s, spec, &error) != WEIR_OK)
        die("%s", error.text);
    snprintf(row.settings, sizeof row.settings, "%s", sketches[which].parameters);
    row.lines = sketches[which].lines;
    row.batch = row.hashing = true;
    add_some(s, in, 0, in->n, &row); /* every page is mapped, and a summary is full */
    for (int mode = 0; mode < 4; mode++) {
        size_t lead = in->n / LEAD_IN;

        row.batch = mode & 1;
        row.hashing = mode & 2;
        if (!row.hashing && !sketches[which].hashed)
            continue;
        add_some(s, in, 0, lead, &row);
        double start = now_ns();
        add_some(s, in, lead, in->n, &row);
        table_note(t, &row, (now_ns() - start) / (double)(in->n - lead));
    }
    weir_sketch_close(s);
}

/* ---- exact counting: open addressing, half full, with prefetch ---- */

struct cell {
    struct record key;
    uint64_t count; /* 0: free */
};

struct exact {
    struct cell *cells;
    uint64_t n;
};

#define AHEAD 16

static void exact_add(struct exact *e, struct record key, uint64_t word)
{
    uint64_t i = bits_scale(word, e->n);

    while (e->cells[i].count &&
           (e->cells[i].key.word[0] != key.word[0] || e->cells[i].key.word[1] != key.word[1]))
        i = i + 1 == e->n ? 0 : i + 1;
    e->cells[i].key = key;
    e->cells[i].count++;
}

static void exact_add_some(struct exact *e, const struct stream *in, size_t from, size_t to,
                           bool batch)
{
    for (size_t i = from; i < to; i++) {
        if (batch && i + AHEAD < to)
            __builtin_prefetch(&e->cells[bits_scale(in->keys[i + AHEAD].lo, e->n)], 1);
        exact_add(e, in->records[i], in->keys[i].lo);
    }
}

/* Omitted if the table would be more than half full. */
static void exact_run(struct table *t, double memory_mib, const struct stream *in)
{
    struct row row = {.memory_mib = memory_mib, .algorithm = "exact", .lines = 1};
    struct exact e = {.n = (uint64_t)(memory_mib * 1048576) / sizeof(struct cell)};
    struct rng r = rng_at(SEED, 7);
    size_t lead = in->n / LEAD_IN;
    void *allocation;

    if (e.n / 4 < in->n)
        return;
    e.cells = memory_open(&(struct memory){0}, e.n * sizeof *e.cells, &allocation);
    if (!e.cells)
        die("the system does not give %.0f MiB", memory_mib);
    snprintf(row.settings, sizeof row.settings, "cell=%zu fill=50%%", sizeof(struct cell));
    for (uint64_t i = 0; i < e.n / 2 - in->n; i++)
        exact_add(&e, (struct record){{~i, i}}, rng_next(&r));
    exact_add_some(&e, in, 0, in->n, true);
    for (int batch = 0; batch < 2; batch++) {
        row.batch = batch;
        exact_add_some(&e, in, 0, lead, batch);
        double start = now_ns();
        exact_add_some(&e, in, lead, in->n, batch);
        table_note(t, &row, (now_ns() - start) / (double)(in->n - lead));
    }
    memory_close(&(struct memory){0}, allocation);
}

static void measure(double memory_mib, const struct stream *in)
{
    static struct table t;

    t.n = 0;
    for (int i = 0; i < REPEAT; i++) {
        for (size_t j = 0; j < COUNT(sketches); j++) {
            limit_run(&t, memory_mib, 2 * (uint32_t)in->n);
            sketch_run(&t, j, memory_mib, in);
        }
        exact_run(&t, memory_mib, in);
    }
    table_print(&t);
}

int main(int argc, char **argv)
{
    static const double sizes[] = {1, 64, 512};
    struct stream in = stream_open(KEYS);

    table_print_header();
    for (size_t i = 0; argc < 2 && i < COUNT(sizes); i++)
        measure(sizes[i], &in);
    for (int i = 1; i < argc; i++) {
        double mib = strtod(argv[i], NULL);

        if (!(mib >= 1 && mib <= 65536))
            die("%s: give sizes of memory in MiB, from 1 to 65536", argv[i]);
        measure(mib, &in);
    }
    stream_close(&in);
    return 0;
}
