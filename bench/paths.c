/* paths.c - compare the paths of the filter recent (plain C, AVX2, AVX-512) with each other and
 * with another build of the library.
 *
 *     paths [--memory MIB] [--repeat N] [--only MODE] [LIBRARY]
 *
 * Prints ns per key of each path that this machine supports, and of LIBRARY, another libweir.so,
 * which selects its own path. The last column is the best path divided by LIBRARY. All take turns
 * with short pieces of one stream, and the fastest tenth of the pieces counts, so ratios hold on a
 * busy machine. */
#include <dlfcn.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/processor.h"
#include "base/rng.h"
#include "filter/recent/recent.h"

enum { KEYS = 1 << 19, PIECE = 1 << 14, BATCH = 4096, PIECES_MAX = 4096 };

enum call { OBSERVE_MANY, ASK_MANY, OBSERVE, ASK };

static const struct way {
    const char *name, *parameters;
    enum call call;
    double load; /* keys observed before, as a share of the slots */
} ways[] = {
    {"plain", "", OBSERVE_MANY, 2},
    {"ask", "", ASK_MANY, 2},
    {"plain-half", "", OBSERVE_MANY, .5},
    {"ask-half", "", ASK_MANY, .5},
    {"width=12", "width=12", OBSERVE_MANY, 2},
    {"width=12-half", "width=12", OBSERVE_MANY, .5},
    {"width=12-ask", "width=12", ASK_MANY, 2},
    {"width=8", "width=8", OBSERVE_MANY, 2},
    {"enter", "enter=10%", OBSERVE_MANY, 2},
    {"importance", "importance=log", OBSERVE_MANY, 2},
    {"importance-half", "importance=log", OBSERVE_MANY, .5},
    {"ttl", "importance=log ttl=1s-128s", OBSERVE_MANY, 2},
    {"ttl-ask", "importance=log ttl=1s-128s", ASK_MANY, 2},
    {"window", "window=1M", OBSERVE_MANY, .5},
    {"window-ask", "window=1M", ASK_MANY, .5},
    {"once", "window=1M refresh=no", OBSERVE_MANY, .5},
    {"one", "", OBSERVE, 2},
    {"one-half", "", OBSERVE, .5},
    {"one-ask", "", ASK, 2},
};
#define WAYS (sizeof ways / sizeof *ways)

/* What is measured: a path of this build, or the functions of another library. */
struct side {
    const char *name;
    const struct recent_paths *paths;
    enum weir_status (*open)(weir_filter **w, const char *spec, struct weir_error *error);
    void (*close)(weir_filter *w);
    void (*observe_many)(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);
    void (*ask_many)(const weir_filter *w, const struct weir_key *keys, size_t n,
                     uint8_t *verdicts);
    enum weir_verdict (*observe)(weir_filter *w, struct weir_key key);
    enum weir_verdict (*ask)(const weir_filter *w, struct weir_key key);
    weir_filter *w;
    double time[PIECES_MAX];
};

static struct weir_key keys[KEYS];
static uint8_t verdicts[KEYS];

static void die(const char *what, const char *why)
{
    fprintf(stderr, "paths: %s: %s\n", what, why);
    exit(1);
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* n keys from number `from`. */
static void run(const struct side *s, enum call call, const struct weir_key *k, size_t n)
{
    for (size_t i = 0; i < n; i += BATCH) {
        const size_t some = n - i < BATCH ? n - i : BATCH;

        if (call == OBSERVE_MANY && s->paths)
            s->paths->observe_many(
                s->w, &(struct picked){.keys = k + i, .verdicts = verdicts, .n = some});
        else if (call == OBSERVE_MANY)
            s->observe_many(s->w, k + i, some, verdicts);
        else if (call == ASK_MANY)
            (s->paths ? s->paths->ask_many : s->ask_many)(s->w, k + i, some, verdicts);
        else
            for (size_t j = i; j < i + some; j++)
                verdicts[j - i] = call == OBSERVE ? s->paths ? s->paths->observe(s->w, k + j)
                                                             : s->observe(s->w, k[j]) == WEIR_SEEN
                                  : s->paths      ? s->paths->ask(s->w, k + j)
                                                  : s->ask(s->w, k[j]) == WEIR_SEEN;
    }
}

static void fill(struct side *s, const struct way *way, double memory_mib)
{
    static struct weir_key some[BATCH];
    struct weir_error error;
    char spec[128];

    snprintf(spec, sizeof spec, "recent memory=%.0fK seed=1 %s", 1024 * memory_mib,
             way->parameters);
    if (s->open(&s->w, spec, &error) != WEIR_OK)
        die(s->name, error.text);
    const uint64_t slots = (uint64_t)(memory_mib * 1048576 / LINE_BYTES) * 31;
    for (uint64_t i = 0; i < (uint64_t)(way->load * (double)slots); i += BATCH) {
        for (size_t j = 0; j < BATCH; j++) {
            struct rng r = rng_at(7, i + j);

            some[j] = (struct weir_key){rng_next(&r), rng_next(&r), 1 + (uint32_t)(i + j) % 64, 0};
        }
        s->observe_many(s->w, some, BATCH, verdicts); /* gives the filter its huge pages */
    }
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void measure(struct side *sides, size_t n, const struct way *way, double memory_mib,
                    int repeat)
{
    size_t pieces = 0;

    for (size_t i = 0; i < n; i++)
        fill(&sides[i], way, memory_mib);
    for (int r = 0; r < repeat; r++)
        for (size_t at = 0; at < KEYS && pieces < PIECES_MAX; at += PIECE, pieces++)
            for (size_t i = 0; i < n; i++) {
                struct side *s = &sides[(i + pieces) % n];
                double start = now_ns();

                run(s, way->call, keys + at, PIECE);
                s->time[pieces] = (now_ns() - start) / PIECE;
            }
    printf("%-16s", way->name);
    double best = 0, own = 0;
    for (size_t i = 0; i < n; i++) {
        qsort(sides[i].time, pieces, sizeof *sides[i].time, ascending);
        best = sides[i].time[pieces / 10];
        printf(" %9.2f", best);
        own = sides[i].paths ? best : own;
        sides[i].close(sides[i].w);
    }
    printf(sides[n - 1].paths ? "\n" : " %9.2f\n", own / best);
    fflush(stdout);
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (!found)
        die(name, dlerror());
    return found;
}

static struct side side_of(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct side s = {.name = "library"};

    if (!library)
        die(path, dlerror());
    *(void **)&s.open = symbol(library, "weir_open");
    *(void **)&s.close = symbol(library, "weir_close");
    *(void **)&s.observe_many = symbol(library, "weir_observe_many");
    *(void **)&s.ask_many = symbol(library, "weir_ask_many");
    *(void **)&s.observe = symbol(library, "weir_observe");
    *(void **)&s.ask = symbol(library, "weir_ask");
    return s;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"memory", required_argument, NULL, 'm'},
                                            {"repeat", required_argument, NULL, 'r'},
                                            {"only", required_argument, NULL, 'o'},
                                            {NULL, 0, NULL, 0}};
    static struct side sides[4];
    const char *only = NULL;
    double memory_mib = 32;
    size_t n = 0;
    int repeat = 5, c;

    while ((c = getopt_long(argc, argv, "m:r:o:", options, NULL)) != -1) {
        if (c == 'm')
            memory_mib = atof(optarg);
        else if (c == 'r')
            repeat = atoi(optarg);
        else if (c == 'o')
            only = optarg;
        else
            return 2;
    }
    sides[n++] = (struct side){.name = "plain", .paths = &recent_paths_plain};
#ifdef __x86_64__
    if (processor_has_avx2())
        sides[n++] = (struct side){.name = "avx2", .paths = &recent_paths_avx2};
    if (processor_has_avx512())
        sides[n++] = (struct side){.name = "avx512", .paths = &recent_paths_avx512};
#endif
    for (size_t i = 0; i < n; i++) {
        sides[i].open = weir_open;
        sides[i].close = weir_close;
        sides[i].observe_many = weir_observe_many;
    }
    if (optind < argc)
        sides[n++] = side_of(argv[optind]);
    for (size_t i = 0; i < KEYS; i++) {
        struct rng r = rng_at(2012, i);
        uint64_t id = rng_below(&r, KEYS * 88 / 100);

        r = rng_at(2013, id);
        keys[i] = (struct weir_key){rng_next(&r), rng_next(&r), 1 + (uint32_t)id % 64, 0};
    }
    printf("%-16s", "ns per key");
    for (size_t i = 0; i < n; i++)
        printf(" %9s", sides[i].name);
    printf(sides[n - 1].paths ? "\n" : " %9s\n", "ratio");
    for (size_t i = 0; i < WAYS; i++)
        if (!only || !strcmp(only, ways[i].name))
            measure(sides, n, &ways[i], memory_mib, repeat > 0 ? repeat : 1);
    return 0;
}
