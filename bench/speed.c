/* speed.c - how fast every filter is, compared with the machine's limit.
 *
 * For each memory size, every repetition runs everything once, in turn, so that other work on the
 * machine affects all equally. Prints the lower quartiles as tab-separated values, described in
 * bench/README.md. */
#include "speed.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS (UINT32_C(1) << 19)
#define KEYS_QUICK (UINT32_C(1) << 16)
#define REPEAT 5
#define REPEAT_QUICK 3
#define MEMORY_MAX 65536 /* MiB */
#define SIZES_MAX 16

static const char usage[] = "usage: speed [--memory LIST] [--only NAME] [--repeat N] [--quick]\n"
                            "  --memory LIST  MiB, separated by commas (1,64,512)\n"
                            "  --only NAME    one algorithm, or screen (and the limit)\n"
                            "  --repeat N     repetitions to take the lower quartile of (5)\n"
                            "  --quick        fewer keys, 3 repetitions: to see that it runs\n";

struct options {
    long memory_mib[SIZES_MAX];
    size_t sizes;
    const char *only;
    int repeat;
    bool quick;
};

static bool is_filter(const char *name)
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i); i++)
        if (!strcmp(weir_algorithm_at(WEIR_KIND_FILTER, i)->name, name))
            return weir_algorithm_at(WEIR_KIND_FILTER, i)->traits & WEIR_CAN_OBSERVE;
    return false;
}

static long whole_number(const char *option, const char *text, long min, long max)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (end == text || *end || n < min || n > max)
        die("%s %s: give a whole number from %ld to %ld", option, text, min, max);
    return n;
}

static void read_sizes(struct options *o, char *list)
{
    char *size;

    o->sizes = 0;
    while ((size = strsep(&list, ","))) {
        if (o->sizes == SIZES_MAX)
            die("--memory: give at most %d sizes", SIZES_MAX);
        o->memory_mib[o->sizes++] = whole_number("--memory", size, 1, MEMORY_MAX);
    }
}

static struct options read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"memory", required_argument, NULL, 'm'}, {"only", required_argument, NULL, 'o'},
        {"repeat", required_argument, NULL, 'r'}, {"quick", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    struct options o = {.memory_mib = {1, 64, 512}, .sizes = 3};
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":", known, NULL)) != -1) {
        if (c == 'm')
            read_sizes(&o, optarg);
        else if (c == 'o')
            o.only = optarg;
        else if (c == 'r')
            o.repeat = (int)whole_number("--repeat", optarg, 1, REPEAT_MAX);
        else if (c == 'q')
            o.quick = true;
        else if (c == 'h')
            exit(fputs(usage, stdout) == EOF);
        else
            die("%s %s; --help lists the options", argv[optind - 1],
                c == ':' ? "needs a value" : "is not an option");
    }
    if (optind < argc)
        die("%s is not an option; --help lists them", argv[optind]);
    if (o.only && !is_filter(o.only) && strcmp(o.only, "screen") && strcmp(o.only, "libbloom"))
        die("--only %s: give the name of a filter, such as rlbsbf, or screen, or libbloom", o.only);
    if (!o.repeat)
        o.repeat = o.quick ? REPEAT_QUICK : REPEAT;
    return o;
}

/* Every filter with its defaults, full; and `recent` in all its modes, widths and loads (keys per
 * slot before the run). */
static const struct way {
    const char *parameters;
    double load;
} ways[] = {
    {"", FULL},
    {"width=14", FULL},
    {"width=12", FULL},
    {"width=10", FULL},
    {"width=8", FULL},
    {"", 0.25},
    {"", 0.5},
    {"", 0.8},
    {"width=12", 0.25},
    {"width=12", 0.5},
    {"width=12", 0.8},
    {"width=8", 0.5},
    {"enter=10%", FULL},
    {"importance=log", FULL},
    {"importance=1-50", FULL},
    {"importance=capped", FULL},
    {"importance=percentile", FULL},
    {"importance=log", 0.5},
    {"ttl=1s-128s importance=log", FULL},
    {"window=", FULL},
    {"window=", 0.5},
    {"span=10s", 0.5},
    {"span=10s refresh=no", 0.5},
};
#define WAYS (sizeof ways / sizeof *ways)

static const struct way screens[] = {{"", FULL}, {"width=12", FULL}, {"", 0.5}, {"width=8", 0.5}};
#define SCREENS (sizeof screens / sizeof *screens)

#define LOADS_MIN 16 /* MiB from which on a run hardly changes the load */

static bool is_selected(const struct options *o, const char *name)
{
    return !o->only || !strcmp(o->only, name);
}

/* The limit is measured before every filter, because all are compared with it. */
static void repetition(struct table *t, const struct options *o, double memory_mib,
                       const struct stream *s)
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i); i++) {
        if (!is_selected(o, weir_algorithm_at(WEIR_KIND_FILTER, i)->name) ||
            !(weir_algorithm_at(WEIR_KIND_FILTER, i)->traits & WEIR_CAN_OBSERVE))
            continue;
        const char *name = weir_algorithm_at(WEIR_KIND_FILTER, i)->name;

        for (size_t j = 0; j < (strcmp(name, "recent") ? 1 : WAYS); j++) {
            if (memory_mib < LOADS_MIN && ways[j].load < FULL)
                continue;
            limit_run(t, memory_mib, 2 * (uint32_t)s->n);
            filter_run(t, name, ways[j].parameters, ways[j].load, memory_mib, s);
        }
    }
    for (size_t j = 0; is_selected(o, "screen") && j < SCREENS; j++) {
        if (memory_mib < LOADS_MIN && screens[j].load < FULL)
            continue;
        limit_run(t, memory_mib, 2 * (uint32_t)s->n);
        screen_run(t, screens[j].parameters, screens[j].load, memory_mib, s);
    }
    if (is_selected(o, "libbloom") || is_selected(o, "bloom"))
        libbloom_run(t, memory_mib, s);
}

int main(int argc, char **argv)
{
    struct options o = read_options(argc, argv);
    struct stream s = stream_open(o.quick ? KEYS_QUICK : KEYS);

    if (!libbloom_is_available())
        fputs("speed: built without libbloom (libbloom-dev); it is left out\n", stderr);
    table_print_header();
    for (size_t i = 0; i < o.sizes; i++) {
        static struct table t;

        t.n = 0;
        for (int j = 0; j < o.repeat; j++)
            repetition(&t, &o, (double)o.memory_mib[i], &s);
        table_print(&t);
    }
    stream_close(&s);
    return 0;
}
