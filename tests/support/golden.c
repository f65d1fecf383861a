/* golden.c - see golden.h. */
#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define STREAM 300

/* Lines that the filter's own file does not have. */
static const struct {
    const char *name, *spec;
} variants[] = {{"recent-ttl", "recent width=12 ttl=1s-128s importance=1-9"},
                {"recent-span", "recent width=12 span=60s"}};

const char *golden_name(size_t i)
{
    size_t filters = 0;

    while (weir_algorithm_at(WEIR_KIND_FILTER, filters))
        filters++;
    if (i < filters)
        return weir_algorithm_at(WEIR_KIND_FILTER, i)->name;
    return i - filters < sizeof variants / sizeof *variants ? variants[i - filters].name : NULL;
}

static const char *spec_of(const char *name)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (strcmp(name, variants[i].name) == 0)
            return variants[i].spec;
    return name;
}

/* With times, importance, and TTLs from half of the shortest to twice the longest, if the filter
 * has them. */
static void observe_stream(weir_filter *w, struct weir_key *keys)
{
    for (uint64_t i = 0; i < STREAM; i++) {
        uint64_t now = 1000000 + 700 * i, ttl = UINT64_C(500) << i % 10;
        uint8_t seen;

        keys[i].importance = 1 + (uint32_t)(i % 9);
        weir_observe_many_ttl(w, &keys[i], &now, &ttl, 1, &seen);
    }
}

weir_filter *golden_filter(const char *name)
{
    weir_filter *hashes = open_filter("seed=2012");
    struct weir_key *keys = stream_of(hashes, STREAM, 3);
    char spec[SPEC];

    snprintf(spec, sizeof spec, "%s memory=200 seed=2012", spec_of(name));
    weir_filter *w = spec_of(name) != name || can_learn(name) ? open_filter(spec)
                                                              : built_filter(spec, keys, STREAM);
    if (spec_of(name) != name)
        observe_stream(w, keys);
    for (size_t i = 0; i < STREAM && spec_of(name) == name && can_learn(name); i++)
        weir_observe(w, keys[i]);
    weir_close(hashes);
    free(keys);
    return w;
}

void golden_note(const weir_filter *w, char note[GOLDEN_NOTE])
{
    struct weir_stats stats = weir_stats_of(w);
    int n = (int)weir_config(w, note, GOLDEN_NOTE);

    n += snprintf(note + n, (size_t)(GOLDEN_NOTE - n),
                  "\nmemory %d shown %d seen %d fresh %d fill %.4f error %.4f\n", (int)stats.memory,
                  (int)stats.observed, (int)stats.seen, (int)stats.new_keys, stats.fill,
                  stats.error);
    for (uint64_t i = 0; i < 100; i++) /* recent keys of the stream, if they were new, and others */
        note[n++] = (char)('0' + weir_ask(w, numbered(w, UINT64_C(3) << 32 | (i + STREAM - 50))));
    strcpy(note + n, "\n");
}

/* ---- sketches ---- */

static const struct golden_sketch sketches[] = {
    {"count-min", "count-min memory=256 seed=2012"},
    {"count-min-line", "count-min memory=256 seed=2012 layout=line update=conservative hash=sip"},
    {"count-min-fading", "count-min memory=256 seed=2012 half-life=20"},
    {"top", "top keys=8 seed=2012"},
    {"top-fading", "top keys=8 seed=2012 half-life=50s"},
    {"heavykeeper", "heavykeeper keys=6 width=9 seed=2012"},
};

const struct golden_sketch *golden_sketch(size_t i)
{
    return i < sizeof sketches / sizeof *sketches ? &sketches[i] : NULL;
}

/* Some keys are frequent: the smaller of two random numbers, both below twenty. */
static struct weir_bytes golden_key(uint64_t i, char buffer[24])
{
    uint64_t a = bits_fold(i + 1, RNG_STEP) % 20, b = bits_fold(i + 1, RNG_TWIST) % 20;

    return (struct weir_bytes){buffer,
                               (size_t)snprintf(buffer, 24, "key number %d", (int)(a < b ? a : b))};
}

weir_sketch *golden_counted(const struct golden_sketch *g)
{
    weir_sketch *s = open_sketch(g->spec);
    char buffer[24];

    for (uint64_t i = 0; i < STREAM; i++) {
        weir_sketch_advance(s, 1000000 + 2000 * i);
        weir_sketch_add(s, golden_key(i, buffer), 1 + i % 3);
    }
    return s;
}

void golden_sketch_note(const weir_sketch *s, char note[GOLDEN_NOTE])
{
    struct weir_sketch_stats stats = weir_sketch_stats_of(s);
    struct weir_heavy list[3];
    size_t found = weir_sketch_top(s, list, 3);
    int n = (int)weir_sketch_config(s, note, GOLDEN_NOTE);
    char buffer[24];

    n += snprintf(note + n, (size_t)(GOLDEN_NOTE - n), "\ntotal %d keys %d error %d\n",
                  (int)stats.total, (int)stats.keys, (int)stats.error);
    for (size_t i = 0; i < found; i++)
        n += snprintf(note + n, (size_t)(GOLDEN_NOTE - n), "%.*s: %d, %d\n", (int)list[i].key.size,
                      (const char *)list[i].key.data, (int)list[i].count, (int)list[i].error);
    for (int i = 0; i < 25; i++) {
        int size = snprintf(buffer, sizeof buffer, "key number %d", i);

        n += snprintf(note + n, (size_t)(GOLDEN_NOTE - n), "%d ",
                      (int)weir_sketch_ask(s, (struct weir_bytes){buffer, (size_t)size}).count);
    }
    strcpy(note + n, "\n");
}
