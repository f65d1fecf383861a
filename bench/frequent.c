/* frequent.c - which sketch finds the most frequent keys in little memory?
 *
 * Compares `top`, `heavykeeper` and Cuckoo Heavy Keeper (peers/cuckoo_keeper.h) by their 50 most
 * frequent keys, on Zipf draws and on files of keys (each line up to a tab). Prints TSV: found =
 * how many of the 50 keys are among the true first 50 (any key with the count of the last one is
 * accepted); off = the mean relative error of the counts of those keys. All have the same memory,
 * including the stored keys. */
#include "speed.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/sketch.h>

#include "base/rng.h"
#include "peers/cuckoo_keeper.h"
#include "support/zipf.h"

#define FIRST 50
#define UNIVERSE 1000000

static const double alphas[] = {0.8, 1.0, 1.2, 1.5};
static const unsigned kib[] = {8, 16, 64, 256, 1024};
#define COUNT(array) (sizeof(array) / sizeof *(array))

struct keys {
    uint64_t *id;
    size_t n;
    uint32_t *exact; /* by id below UNIVERSE */
    uint32_t min;    /* count of the 50th key */
};

static int descending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x < y) - (x > y);
}

static void count_exactly(struct keys *k)
{
    uint32_t *sorted = must_allocate(UNIVERSE * sizeof *sorted);

    memset(k->exact, 0, UNIVERSE * sizeof *k->exact);
    for (size_t i = 0; i < k->n; i++)
        k->exact[k->id[i]]++;
    memcpy(sorted, k->exact, UNIVERSE * sizeof *sorted);
    qsort(sorted, UNIVERSE, sizeof *sorted, descending);
    k->min = sorted[FIRST - 1];
    free(sorted);
}

static void draw_zipf(struct keys *k, size_t n, double alpha)
{
    double *sums = zipf_sums(UNIVERSE, alpha);
    struct rng r = rng_at(SEED, 3);

    if (!sums)
        die("no memory");
    for (k->n = 0; k->n < n; k->n++)
        k->id[k->n] = zipf_draw(sums, UNIVERSE, (double)(rng_next(&r) >> 11) * 0x1p-53);
    free(sums);
    count_exactly(k);
}

/* ---- files: keys are numbered in order of occurrence by a table of their hashes ---- */

static uint64_t hash_of(const char *text, size_t size)
{
    uint64_t h = size;

    for (size_t i = 0; i < size; i++)
        h = bits_fold(h ^ (uint8_t)text[i], RNG_STEP) + 1;
    return h | 1;
}

static void read_file(struct keys *k, const char *path, size_t max)
{
    uint64_t *seen = calloc(4 * UNIVERSE, sizeof *seen), next = 0;
    uint32_t *number = must_allocate(4 * UNIVERSE * sizeof *number);
    char line[4096];
    FILE *in = fopen(path, "r");

    if (!in || !seen)
        die("%s cannot be read", path);
    for (k->n = 0; k->n < max && fgets(line, sizeof line, in); k->n++) {
        uint64_t h = hash_of(line, strcspn(line, "\t\n"));
        size_t at = h % (4 * UNIVERSE);

        while (seen[at] && seen[at] != h)
            at = (at + 1) % (4 * UNIVERSE);
        if (!seen[at])
            number[at] = (uint32_t)next++;
        if (next == UNIVERSE)
            die("%s has more than %d keys", path, UNIVERSE);
        seen[at] = h;
        k->id[k->n] = number[at];
    }
    fclose(in);
    free(seen);
    free(number);
    count_exactly(k);
}

/* ---- measurement ---- */

struct score {
    unsigned found;
    double off;
};

static void score_one(const struct keys *k, uint64_t id, double count, struct score *s)
{
    double exact = k->exact[id];

    if (k->exact[id] < k->min || !count)
        return;
    s->found++;
    s->off += fabs(count - exact) / exact;
}

static struct score run_sketch(const struct keys *k, const char *name, unsigned memory)
{
    struct weir_heavy list[FIRST];
    struct score s = {0};
    struct weir_error error;
    char spec[80];
    weir_sketch *w;

    snprintf(spec, sizeof spec, "%s memory=%uK seed=1%s", name, memory,
             strcmp(name, "top") == 0 ? "" : " keys=50");
    if (weir_sketch_open(&w, spec, &error) != WEIR_OK)
        die("%s: %s", spec, error.text);
    for (size_t i = 0; i < k->n; i++)
        weir_sketch_add(w, (struct weir_bytes){&k->id[i], sizeof k->id[i]}, 1);
    size_t n = weir_sketch_top(w, list, FIRST);
    for (size_t i = 0; i < n; i++) {
        uint64_t id;

        memcpy(&id, list[i].key.data, sizeof id);
        score_one(k, id, (double)list[i].count, &s);
    }
    weir_sketch_close(w);
    return s;
}

static struct score run_cuckoo(const struct keys *k, unsigned memory)
{
    struct cuckoo_keeper *c = keeper_open(1024 * (size_t)memory, FIRST);
    struct score s = {0};
    size_t n;

    for (size_t i = 0; i < k->n; i++)
        keeper_add(c, k->id[i]);
    const struct stored_key *list = keeper_list(c, &n);
    for (size_t i = 0; i < n; i++)
        if (list[i].count)
            score_one(k, list[i].id, (double)list[i].count, &s);
    keeper_close(c);
    return s;
}

static void print_score(const char *stream, unsigned memory, const char *name, struct score s)
{
    printf("%s\t%u\t%s\t%u\t%.3g\n", stream, memory, name, s.found, s.found ? s.off / s.found : 0);
    fflush(stdout);
}

static void run_all(const struct keys *k, const char *stream)
{
    for (size_t m = 0; m < COUNT(kib); m++) {
        print_score(stream, kib[m], "top", run_sketch(k, "top", kib[m]));
        print_score(stream, kib[m], "heavykeeper", run_sketch(k, "heavykeeper", kib[m]));
        print_score(stream, kib[m], "cuckoo-keeper", run_cuckoo(k, kib[m]));
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"draws", required_argument, NULL, 'n'},
                                            {NULL, 0, NULL, 0}};
    size_t n = 1000000;
    int option;

    while ((option = getopt_long(argc, argv, "n:", options, NULL)) != -1) {
        if (option != 'n' || (n = strtoull(optarg, NULL, 10)) == 0)
            die("usage: frequent [--draws N] [FILE...]");
    }
    struct keys k = {.id = must_allocate((n > 2000000 ? n : 2000000) * sizeof *k.id),
                     .exact = must_allocate(UNIVERSE * sizeof *k.exact)};
    puts("stream\tkib\tsketch\tfound\toff");
    for (size_t i = 0; optind == argc && i < COUNT(alphas); i++) {
        char name[32];

        draw_zipf(&k, n, alphas[i]);
        snprintf(name, sizeof name, "zipf-%g", alphas[i]);
        run_all(&k, name);
    }
    for (int i = optind; i < argc; i++) {
        read_file(&k, argv[i], 2000000);
        run_all(&k, "file");
    }
    free(k.id);
    free(k.exact);
    return 0;
}
