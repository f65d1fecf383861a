/* enter.c - the effect of enter=: missed repeats if new keys enter behind the front of a line,
 * relative to entering at the front.
 *
 * Streams of twelve kinds with random parameters, or files of keys, are observed by filters of 2
 * and 5 bits per distinct key with fpr=1%, and of 5 bits with width=16.
 *
 * Prints TSV: one row per stream and filter; then how often each setting missed fewer repeats, how
 * often over 5 % more, the worst and the geometric mean. Cases in which the front misses fewer than
 * a hundred repeats, or fewer than one in a thousand, are omitted. Last, the age, in capacities, up
 * to which 90 % of the keys are seen if all keys are new. */
#include "enter.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"

static const char *const enters[] = {"front", "5%", "10%", "25%"};
#define ENTERS (sizeof enters / sizeof *enters)

static const struct {
    double bits;
    const char *parameters;
} sizes[] = {{2, "fpr=1%"}, {5, "fpr=1%"}, {5, "width=16"}};
#define SIZES (sizeof sizes / sizeof *sizes)

struct score {
    double cases, fewer, over, log_sum, worst;
};

static weir_filter *open_filter(const char *enter, const char *parameters, double bytes)
{
    char spec[128];
    struct weir_error error;
    weir_filter *w;

    snprintf(spec, sizeof spec, "recent memory=%.0f seed=%d %s enter=%s", bytes, SEED, parameters,
             enter);
    if (weir_open(&w, spec, &error) != WEIR_OK)
        die("%s", error.text);
    return w;
}

/* ---- ground truth: which records are repeats ---- */

struct truth {
    uint8_t *repeat;
    size_t repeats;
};

static struct truth truth_of(const struct keys *k)
{
    size_t room = 1;
    struct truth t = {must_allocate(k->n), 0};

    while (room < 2 * k->n)
        room *= 2;
    uint64_t *table = must_allocate(room * sizeof *table);
    memset(table, 0xff, room * sizeof *table);
    for (size_t i = 0; i < k->n; i++) {
        size_t at = bits_fold(k->key[i] + 1, RNG_STEP) % room;

        while (table[at] != UINT64_MAX && table[at] != k->key[i])
            at = (at + 1) % room;
        t.repeat[i] = table[at] == k->key[i];
        t.repeats += t.repeat[i];
        table[at] = k->key[i];
    }
    free(table);
    return t;
}

static double missed(const struct keys *k, const struct truth *t, const char *enter, size_t size)
{
    double distinct = (double)(k->n - t->repeats);
    weir_filter *w =
        open_filter(enter, sizes[size].parameters, fmax(64, sizes[size].bits * distinct / 8));
    double n = 0;

    for (size_t i = 0; i < k->n; i++)
        n += (weir_observe(w, weir_hash(w, &k->key[i], sizeof k->key[i])) == WEIR_NEW) &
             t->repeat[i];
    weir_close(w);
    return n;
}

static void note(struct score *s, double ratio)
{
    s->cases++;
    s->fewer += ratio < 1;
    s->over += ratio > 1.05;
    s->worst = fmax(s->worst, ratio);
    s->log_sum += log(fmax(ratio, 1e-3));
}

static void compare(const struct keys *k, struct score scores[ENTERS])
{
    struct truth t = truth_of(k);

    for (size_t size = 0; size < SIZES; size++) {
        double front = missed(k, &t, enters[0], size);

        if (front < 100 || front < 0.001 * (double)t.repeats)
            continue;
        printf("%s\t%g bits %s\t%.2f %%", k->name, sizes[size].bits, sizes[size].parameters,
               100 * front / (double)t.repeats);
        for (size_t i = 1; i < ENTERS; i++) {
            double ratio = missed(k, &t, enters[i], size) / front;

            note(&scores[i], ratio);
            printf("\t%.3f", ratio);
        }
        puts("");
    }
    free(t.repeat);
}

/* ---- streams of new keys ---- */

/* The age, as a share of the capacity, up to which 90 % are still seen. */
static double age_90(const char *enter, const char *parameters)
{
    weir_filter *w = open_filter(enter, parameters, 256 << 10);
    uint64_t capacity = w->shape.cells / 64 * w->config.slots, observed = 0;
    double age = 0;

    for (; observed < 6 * capacity; observed++)
        weir_observe(w, weir_hash(w, &observed, sizeof observed));
    for (uint64_t percent = 1; percent < 100; percent++) {
        uint64_t first = observed - capacity * percent / 100, n = capacity / 50, seen = 0;

        for (uint64_t i = first; i < first + n && i < observed; i++)
            seen += weir_ask(w, weir_hash(w, &i, sizeof i)) == WEIR_SEEN;
        if (first + n <= observed && (double)seen >= 0.9 * (double)n)
            age = (double)percent;
    }
    weir_close(w);
    return age / 100;
}

/* ---- files ---- */

/* Each line up to its first tab is a key. */
static struct keys keys_read(const char *path)
{
    struct keys k = {.key = NULL};
    size_t room = 0, size = 0;
    char *line = NULL;
    FILE *in = fopen(path, "r");
    weir_filter *hasher = open_filter("front", "", 64);

    if (!in)
        die("%s cannot be read", path);
    snprintf(k.name, sizeof k.name, "%.47s", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    while (getline(&line, &size, in) > 0) {
        if (k.n == room) {
            room = room ? 2 * room : 1 << 16;
            k.key = realloc(k.key, room * sizeof *k.key);
            if (!k.key)
                die("no memory for %s", path);
        }
        k.key[k.n++] = weir_hash(hasher, line, strcspn(line, "\t\n")).lo;
    }
    weir_close(hasher);
    free(line);
    fclose(in);
    return k;
}

static void print_scores(const struct score scores[ENTERS])
{
    static const char *const rows[] = {"missed fewer", "over 5 % more", "worst", "mean"};

    for (size_t row = 0; row < 4; row++) {
        printf("%s\t\t", rows[row]);
        for (size_t i = 1; i < ENTERS; i++) {
            const struct score *s = &scores[i];

            printf(row < 2 ? "\t%.1f %%" : "\t%.3f", row == 0   ? 100 * s->fewer / s->cases
                                                     : row == 1 ? 100 * s->over / s->cases
                                                     : row == 2 ? s->worst
                                                                : exp(s->log_sum / s->cases));
        }
        puts("");
    }
}

static const char usage[] = "usage: enter [--streams N] [--seed N] [--quick] [FILE...]\n"
                            "  --streams N  of made streams (120)\n"
                            "  --seed N     of their settings (1)\n"
                            "  --quick      12 streams: to see that it runs\n"
                            "  FILE         a stream: each line up to its first tab is a key\n";

int main(int argc, char **argv)
{
    static const struct option known[] = {{"streams", required_argument, NULL, 'n'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"quick", no_argument, NULL, 'q'},
                                          {NULL, 0, NULL, 0}};
    struct score scores[ENTERS] = {0};
    uint64_t streams = 120, seed = 1;
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (c == 'n')
            streams = strtoull(optarg, NULL, 10);
        else if (c == 's')
            seed = strtoull(optarg, NULL, 10);
        else if (c == 'q')
            streams = 12;
        else
            die("%s", usage);
    }
    printf("stream\tsize\tfront misses");
    for (size_t i = 1; i < ENTERS; i++)
        printf("\t%s", enters[i]);
    puts("");
    for (int i = optind; i < argc; i++) {
        struct keys k = keys_read(argv[i]);

        compare(&k, scores);
        free(k.key);
    }
    for (uint64_t i = 0; optind == argc && i < streams; i++) {
        struct keys k = keys_made(seed, i);

        compare(&k, scores);
        free(k.key);
    }
    print_scores(scores);
    for (size_t size = 1; size < SIZES; size++) {
        printf("age90 of new keys\t%s\t%.2f", sizes[size].parameters,
               age_90("front", sizes[size].parameters));
        for (size_t i = 1; i < ENTERS; i++)
            printf("\t%.2f", age_90(enters[i], sizes[size].parameters));
        puts("");
    }
    return 0;
}
