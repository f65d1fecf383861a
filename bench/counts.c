/* counts.c - errors of counts at equal memory.
 *
 * Counts a million draws from 200,000 keys, uniform and Zipf, at several memory sizes, and compares
 * with exact counts. Prints TSV: load = keys per counter of a row; mean, p99 and worst =
 * overestimate, over all keys, for "top" over the hundred most frequent; found = how many of those
 * "top" lists; bound = the error that the sketch reports. */
#include "speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/sketch.h>

#include "base/rng.h"
#include "support/zipf.h"

#define DRAWS 1000000
#define UNIVERSE 200000
#define FIRST 100

static const char *const sketches[] = {"count-min",
                                       "count-min update=conservative",
                                       "count-min depth=2",
                                       "count-min layout=line",
                                       "top",
                                       "count-min layout=line update=conservative"};
static const double alphas[] = {0, 0.8, 1.0, 1.5};
static const unsigned kib[] = {64, 256, 1024, 3200, 12800};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static uint32_t draws[DRAWS];
static uint64_t exact[UNIVERSE];
static double over[UNIVERSE];

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void make_stream(double alpha)
{
    double *sums = zipf_sums(UNIVERSE, alpha);
    struct rng r = rng_at(SEED, 3);

    if (!sums)
        die("no memory");
    memset(exact, 0, sizeof exact);
    for (size_t i = 0; i < DRAWS; i++) {
        draws[i] = (uint32_t)zipf_draw(sums, UNIVERSE, (double)(rng_next(&r) >> 11) * 0x1p-53);
        exact[draws[i]]++;
    }
    free(sums);
}

static unsigned found_first(const weir_sketch *s)
{
    struct weir_heavy list[FIRST];
    size_t n = weir_sketch_top(s, list, FIRST);
    unsigned found = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t key;

        memcpy(&key, list[i].key.data, sizeof key);
        found += key < FIRST;
    }
    return found;
}

static void measure(const char *sketch, unsigned memory, double alpha)
{
    struct weir_error error;
    char spec[128];
    weir_sketch *s;
    double sum = 0;

    snprintf(spec, sizeof spec, "%s memory=%uK seed=%d", sketch, memory, SEED);
    if (weir_sketch_open(&s, spec, &error) != WEIR_OK)
        die("%s", error.text);
    for (size_t i = 0; i < DRAWS; i++)
        weir_sketch_add(s, (struct weir_bytes){&draws[i], sizeof *draws}, 1);
    bool lists = !strncmp(sketch, "top", 3);
    size_t n = lists ? FIRST : UNIVERSE;
    for (uint32_t i = 0; i < n; i++) {
        over[i] = (double)(weir_sketch_ask(s, (struct weir_bytes){&i, sizeof i}).count - exact[i]);
        sum += over[i];
    }
    qsort(over, n, sizeof *over, ascending);
    unsigned depth = strstr(sketch, "depth=2") ? 2 : 4;
    printf("%g\t%u\t%s\t%.2f\t%.2f\t%.0f\t%.0f\t%llu\t", alpha, memory, sketch,
           lists ? 0 : (double)UNIVERSE * depth * 4 / (memory * 1024.0), sum / (double)n,
           over[n * 99 / 100], over[n - 1], (unsigned long long)weir_sketch_stats_of(s).error);
    lists ? printf("%u\n", found_first(s)) : printf("-\n");
    weir_sketch_close(s);
}

int main(void)
{
    printf("zipf\tmemory_kib\tsketch\tload\tmean\tp99\tworst\tbound\tfound\n");
    for (size_t i = 0; i < COUNT(alphas); i++) {
        make_stream(alphas[i]);
        for (size_t j = 0; j < COUNT(kib); j++)
            for (size_t k = 0; k < COUNT(sketches); k++)
                measure(sketches[k], kib[j], alphas[i]);
    }
    return 0;
}
