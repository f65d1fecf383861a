/* screens.c - store lookups and errors of all screens at equal memory.
 *
 *     screens [--streams N] [--traces DIRECTORY]
 *
 * Runs the set-up of Busnel and Gillet 2019 (Zipf streams from 10^4 keys, of which 100 or 1000 are
 * members; means of N streams, default 500), and real streams and sets if a directory is given.
 * Prints TSV: precision and recall over distinct keys, fpr and fnr over records, calls = keys that
 * the store answered, also as a share of the records. */
#include "speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papers/screen_runs.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void print(const char *what, const char *spec, const struct outcome *o, double records)
{
    printf("%s\t%s\t%.5f\t%.5f\t%.6f\t%.6f\t%.1f\t%.5f\n", what, spec, o->precision, o->recall,
           o->fpr, o->fnr, o->calls, o->calls / records);
    fflush(stdout);
}

/* ---- the paper's set-up ---- */

static void measure_screen(const struct screen_run *t, size_t streams, const char *spec)
{
    struct outcome mean;
    char what[64];

    snprintf(what, sizeof what, "zipf-%g B=%zu m=%zu", t->alpha, t->set, t->records);
    screen_run_means(t, streams, spec, t->records, &mean);
    print(what, spec, &mean, (double)t->records);
}

static void measure_windows(size_t streams)
{
    static const struct screen_run t = {10000, 100, 40000, 2};
    static const char *const specs[] = {
        "none seed=1",
        "1bf memory=1000bit set=100 seed=1",
        "strict memory=1000bit set=100 seed=1",
        "dabf memory=1000bit set=100 seed=1",
        "cache memory=1000bit seed=1",
        "cache memory=1000bit width=16 seed=1",
        "cache memory=1000bit width=14 seed=1",
    };

    for (size_t i = 0; i < COUNT(specs); i++)
        measure_screen(&t, streams, specs[i]);
    for (int window = 100; window <= 1000; window += 100) {
        char spec[100];

        snprintf(spec, sizeof spec, "dabf memory=1000bit set=100 window=%d seed=1", window);
        measure_screen(&t, streams, spec);
    }
}

static void measure_skews(size_t streams)
{
    static const double alphas[] = {0.5, 1, 2, 3};
    static const struct {
        size_t set, bits;
    } sizes[] = {{10, 1000}, {100, 1000}, {100, 2000}, {1000, 4000}, {1000, 10000}};
    static const char *const screens[] = {"1bf", "strict", "dabf"};

    for (size_t a = 0; a < COUNT(alphas); a++)
        for (size_t i = 0; i < COUNT(sizes); i++) {
            struct screen_run t = {10000, sizes[i].set, 4000, alphas[a]};
            char spec[100];

            for (size_t k = 0; k < COUNT(screens); k++) {
                snprintf(spec, sizeof spec, "%s memory=%zubit set=%zu seed=1", screens[k],
                         sizes[i].bits, sizes[i].set);
                measure_screen(&t, streams, spec);
            }
            snprintf(spec, sizeof spec, "cache memory=%zubit seed=1", sizes[i].bits);
            measure_screen(&t, streams, spec);
        }
}

/* ---- real streams and sets ---- */

static const struct pair {
    const char *query, *set;
    const char *memory[3];
    unsigned keys, capacity, window; /* distinct members, for dabf */
} pairs[] = {
    {"query_spam_ip_201505",
     "set_ip_nixspam_20150520",
     {"64K", "512K", "2M"},
     31620,
     620508,
     200000},
    {"query_hosts_201511", "set_hosts_20151125", {"1K", "4K", "32K"}, 26929, 3236, 2000},
};

static const char *const forms[] = {
    "cache memory=%s seed=1",
    "cache memory=%s width=16 seed=1",
    "1bf memory=%s set=%u seed=1",
    "strict memory=%s set=%u seed=1",
    "dabf memory=%s set=%u seed=1",
    "dabf memory=%s set=%u capacity=%u theta=1/1 seed=1",
    "dabf memory=%s set=%u capacity=%u theta=1/1 window=%u seed=1",
};

static void measure_pair(const struct pair *p, const char *folder)
{
    struct draw d;

    if (!pair_open(&d, folder, p->query, p->set))
        die("%s/%s.tsv.xz and %s.txt.xz cannot be read", folder, p->query, p->set);
    for (size_t m = 0; m < COUNT(p->memory); m++)
        for (size_t i = 0; i < COUNT(forms); i++) {
            struct outcome o = {0};
            char spec[200];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(spec, sizeof spec, forms[i], p->memory[m], p->keys, p->capacity, p->window);
#pragma GCC diagnostic pop
            screen_run_add(&d, spec, d.n, &o);
            print(p->query, spec, &o, (double)d.n);
        }
    draw_close(&d);
}

int main(int argc, char **argv)
{
    const char *folder = NULL;
    size_t streams = 500;

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "--streams") == 0)
            streams = strtoul(argv[i + 1], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--traces") == 0)
            folder = argv[i + 1];
        else
            die("usage: screens [--streams N] [--traces FOLDER]");
    }
    if (streams == 0)
        die("--streams takes a whole number from 1");
    puts("stream\tscreen\tprecision\trecall\tfpr\tfnr\tcalls\tcalls_per_record");
    measure_windows(streams);
    measure_skews(streams);
    for (size_t i = 0; folder && i < COUNT(pairs); i++)
        measure_pair(&pairs[i], folder);
    return 0;
}
