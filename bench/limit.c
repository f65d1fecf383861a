/* limit.c - the machine's limit: how fast random cache lines can be read, changed and written back
 * by a loop that does nothing else.
 *
 * The memory has the same size and the same allocator (including huge pages). Each line gets one
 * 64-bit increment; positions come from a precomputed array of random words. An operation is
 * `lines` increments. The lines of the operation `ahead` are prefetched, and their addresses are
 * kept in a ring; with ahead = 0 nothing is prefetched. Several distances are tried, into the first
 * (near) and the second cache; the best counts.
 *
 * For dependent calls: one line at a time, and each position depends on the previous line. */
#include "speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"

#define LINE 64
#define LINES_MAX 16
#define RING 128 /* lines */

static const uint32_t lines_measured[] = {1, 2, 4, 8, LINES_MAX};
static const uint32_t lines_ahead[] = {0, 16, 32, 64, 128};

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct field {
    uint8_t *memory;
    uint64_t lines;
    const uint64_t *words;
};

static inline uint64_t *line_at(const struct field *f, uint64_t word)
{
    return (uint64_t *)(void *)(f->memory + bits_scale(word, f->lines) * LINE);
}

__attribute__((always_inline)) static inline void fetch(const uint64_t *line, bool near)
{
    if (near)
        __builtin_prefetch(line, 1);
    else
        __builtin_prefetch(line, 0, 1);
}

/* Compiled once per number of lines. */
__attribute__((always_inline)) static inline void touch_lines(const struct field *given,
                                                              uint32_t operations, uint32_t lines,
                                                              uint32_t ahead, bool near)
{
    struct field f = *given;
    uint64_t *ring[RING];
    uint32_t fetched = 0;

    for (; fetched < ahead * lines; fetched++) {
        ring[fetched % RING] = line_at(&f, f.words[fetched]);
        fetch(ring[fetched % RING], near);
    }
    for (uint32_t i = 0; i < operations * lines; i += lines) {
        uint64_t *now[LINES_MAX];

        for (uint32_t j = 0; j < lines; j++) {
            uint64_t *next = line_at(&f, f.words[fetched + j]);

            now[j] = ahead ? ring[(i + j) % RING] : next;
            ring[(fetched + j) % RING] = next;
            if (ahead)
                fetch(next, near);
        }
        fetched += lines;
        for (uint32_t j = 0; j < lines; j++)
            ++*now[j];
    }
}

static void touch_as_many(const struct field *f, uint32_t operations, uint32_t lines,
                          uint32_t ahead, bool near)
{
    if (lines == 1)
        touch_lines(f, operations, 1, ahead, near);
    else if (lines == 2)
        touch_lines(f, operations, 2, ahead, near);
    else if (lines == 4)
        touch_lines(f, operations, 4, ahead, near);
    else if (lines == 8)
        touch_lines(f, operations, 8, ahead, near);
    else
        touch_lines(f, operations, LINES_MAX, ahead, near);
}

static double time_of(const struct field *f, uint32_t operations, uint32_t lines, uint32_t ahead,
                      bool near)
{
    uint32_t lead = operations / LEAD_IN;
    struct field rest = {f->memory, f->lines, f->words + lead * lines};

    touch_as_many(f, lead, lines, ahead, near);
    double start = now_ns();
    touch_as_many(&rest, operations - lead, lines, ahead, near);
    return (now_ns() - start) / (double)(operations - lead);
}

static void touch_chained(const struct field *f, uint32_t lines)
{
    uint64_t before = 0;

    for (uint32_t i = 0; i < lines; i++)
        before = ++*line_at(f, f->words[i] + wait_for(before));
}

static double time_chained(const struct field *f, uint32_t lines)
{
    uint32_t lead = lines / LEAD_IN;
    struct field rest = {f->memory, f->lines, f->words + lead};

    touch_chained(f, lead);
    double start = now_ns();
    touch_chained(&rest, lines - lead);
    return (now_ns() - start) / (double)(lines - lead);
}

static uint64_t *random_words(size_t n)
{
    uint64_t *words = must_allocate(n * sizeof *words);
    struct rng r = rng_at(SEED, 0);

    for (size_t i = 0; i < n; i++)
        words[i] = rng_next(&r);
    return words;
}

void limit_run(struct table *t, double memory_mib, uint32_t lines_per_run)
{
    struct row row = {.memory_mib = memory_mib, .algorithm = "limit", .batch = true};
    uint64_t bytes = (uint64_t)(memory_mib * 1048576), *words;
    struct field f = {.lines = bytes / LINE};
    void *allocation;

    f.memory = memory_open(&(struct memory){0}, bytes, &allocation);
    if (!f.memory)
        die("the system does not give %.0f MiB", memory_mib);
    memset(f.memory, 0x55, bytes);
    f.words = words = random_words(lines_per_run + RING);
    for (size_t i = 0; i < COUNT(lines_measured); i++) {
        row.lines = lines_measured[i];
        for (size_t j = 0; j < 2 * COUNT(lines_ahead); j++) {
            uint32_t ahead = lines_ahead[j / 2] / row.lines;
            bool near = j % 2;

            snprintf(row.settings, sizeof row.settings, "ahead=%u%s", ahead, near ? " near" : "");
            table_note(t, &row, time_of(&f, lines_per_run / row.lines, row.lines, ahead, near));
        }
    }
    row = (struct row){.memory_mib = memory_mib, .algorithm = "limit", .chained = true, .lines = 1};
    table_note(t, &row, time_chained(&f, lines_per_run / 4));
    free(words);
    memory_close(&(struct memory){0}, allocation);
}
