/* retention.c - how long is a key remembered, for how many bits?
 *
 * Each filter observes an endless stream of new keys at equal memory. When it is stable, keys of
 * every age are looked up, at moments spread over its memory's length, so that filters that forget
 * in bursts are measured in all phases. Keys that were never observed give its error rate.
 *
 *     R = sum over ages of (share still seen - error) / (1 - error)
 *
 * is the number of keys it remembers. Prints TSV: bits_per_key = bits / R; limit_ratio =
 * bits_per_key / log2(1/error), the minimum of any filter without false negatives; ageNN = the age,
 * in keys per MiB, up to which NN % are still seen. --peers measures the filters of peers.h and
 * `recent`; --quick checks that the benchmark runs. */
#include "peers/peers.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINS 400
#define PER_BIN 250
#define MOMENTS 16                /* 2 with --quick */
#define NEVER (UINT64_C(1) << 60) /* keys from here on are never observed */
#define BATCH 4096

static int moments = MOMENTS;

static const char *const filters[] = {"sbf", "two-buffer", "apbf", "bsbf", "rlbsbf", "recent"};
static const char *const errors[] = {"5%", "1%", "0.1%", "0.01%"};

struct run {
    weir_filter *w; /* of a peer: only used to hash */
    const struct peer *peer;
    void *self; /* of a peer */
    uint64_t observed, draws;
    double memory; /* bytes */
    double span;   /* ages measured: 0..span-1 */
    double seen[BINS];
    double error;
};

static struct weir_key key_of(const weir_filter *w, uint64_t number)
{
    return weir_hash(w, &number, sizeof number);
}

static void observe(struct run *r, uint64_t n)
{
    struct weir_key keys[BATCH];
    uint8_t verdicts[BATCH];

    while (n > 0) {
        size_t now = n < BATCH ? n : BATCH;

        for (size_t i = 0; i < now; i++)
            keys[i] = key_of(r->w, r->observed++);
        if (r->peer)
            for (size_t i = 0; i < now; i++)
                r->peer->observe(r->self, keys[i]);
        else
            weir_observe_many(r->w, keys, now, verdicts);
        n -= now;
    }
}

/* The share of n keys, numbered by `number`, that are reported as seen. */
static double share_seen(const struct run *r, const uint64_t *number, size_t n)
{
    struct weir_key keys[BATCH];
    uint8_t verdicts[BATCH];
    size_t seen = 0;

    for (size_t i = 0; i < n; i++)
        keys[i] = key_of(r->w, number[i]);
    if (r->peer)
        for (size_t i = 0; i < n; i++)
            verdicts[i] = r->peer->ask(r->self, keys[i]);
    else
        weir_ask_many(r->w, keys, n, verdicts);
    for (size_t i = 0; i < n; i++)
        seen += verdicts[i];
    return (double)seen / (double)n;
}

static double measure_bin(struct run *r, int bin)
{
    uint64_t number[PER_BIN];

    for (int i = 0; i < PER_BIN; i++) {
        double age = r->span * (bin + (i + 0.5) / PER_BIN) / BINS;

        number[i] = r->observed - 1 - (uint64_t)age;
    }
    return share_seen(r, number, PER_BIN);
}

static double measure_error(struct run *r)
{
    uint64_t number[BATCH];
    double sum = 0;

    for (int round = 0; round < 64; round++) {
        for (int i = 0; i < BATCH; i++)
            number[i] = NEVER + r->draws++;
        sum += share_seen(r, number, BATCH) / 64;
    }
    return sum;
}

static void measure(struct run *r, double remembered)
{
    for (int moment = 0; moment < moments; moment++) {
        observe(r, (uint64_t)(remembered / moments) + 1);
        for (int bin = 0; bin < BINS; bin++)
            r->seen[bin] += measure_bin(r, bin) / moments;
        r->error += measure_error(r) / moments;
    }
}

static double remembered_keys(const struct run *r)
{
    double sum = 0;

    for (int bin = 0; bin < BINS; bin++)
        sum += (r->seen[bin] - r->error) / (1 - r->error) * r->span / BINS;
    return sum;
}

/* The age up to which a share is still seen, in keys per MiB. */
static double age_of(const struct run *r, double share)
{
    int bin = 0;

    while (bin < BINS && r->seen[bin] >= share)
        bin++;
    return r->span * bin / BINS / (r->memory / 1048576);
}

static void report(const struct run *r, const char *name, const char *settings)
{
    double bits = r->memory * 8 / remembered_keys(r);

    printf("%s\t%s\t%.3g\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\n", name, settings, r->error, bits,
           bits / log2(1 / r->error), age_of(r, 0.99), age_of(r, 0.90), age_of(r, 0.50),
           age_of(r, 0.10));
    fflush(stdout);
}

static void run_all(struct run *r)
{
    double guess = r->memory * 8 / 10;

    observe(r, (uint64_t)(guess * 12)); /* long after the first eviction */
    r->span = guess * 6;
    measure(r, guess);
}

static weir_filter *must_open(const char *spec)
{
    struct weir_error error;
    weir_filter *w;

    if (weir_open(&w, spec, &error) != WEIR_OK) {
        fprintf(stderr, "retention: %s\n", error.text);
        exit(2);
    }
    return w;
}

static void one(const char *name, const char *parameters, const char *memory)
{
    char spec[128], settings[256];
    struct run r = {0};

    snprintf(spec, sizeof spec, "%s memory=%s %s seed=1", name, memory, parameters);
    r.w = must_open(spec);
    r.memory = (double)weir_stats_of(r.w).memory;
    run_all(&r);
    weir_config(r.w, settings, sizeof settings);
    report(&r, name, settings + strlen(name) + 1);
    weir_close(r.w);
}

static void one_peer(const struct peer *peer, double error, const char *memory)
{
    char spec[64], settings[256];
    struct run r = {.peer = peer};

    snprintf(spec, sizeof spec, "bloom memory=%s seed=1", memory);
    r.w = must_open(spec);
    r.memory = (double)weir_stats_of(r.w).memory;
    r.self = peer->open(r.memory * 8, error, settings, sizeof settings);
    run_all(&r);
    report(&r, peer->name, settings);
    peer->close(r.self);
    weir_close(r.w);
}

static void all_peers(const char *memory)
{
    static const struct peer *const peers[] = {&peer_epoch, &peer_epoch_best, &peer_timed,
                                               &peer_cuckoo};

    one_peer(&peer_epoch_14, 0.022, memory);
    one_peer(&peer_cuckoo_16, 0, memory);
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
        char parameters[32];

        for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
            one_peer(peers[i], strtod(errors[e], NULL) / 100, memory);
        snprintf(parameters, sizeof parameters, "fpr=%s", errors[e]);
        one("recent", parameters, memory);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"memory", required_argument, NULL, 'm'},
                                            {"widths", no_argument, NULL, 'w'},
                                            {"peers", no_argument, NULL, 'r'},
                                            {"quick", no_argument, NULL, 'q'},
                                            {NULL, 0, NULL, 0}};
    const char *memory = "256K";
    int option, widths = 0, peers = 0;

    while ((option = getopt_long(argc, argv, "m:wrq", options, NULL)) != -1) {
        if (option == 'm')
            memory = optarg;
        else if (option == 'w')
            widths = 1;
        else if (option == 'r')
            peers = 1;
        else if (option == 'q')
            moments = 2;
        else
            return 2;
    }
    puts("algorithm\tsettings\tfpr\tbits_per_key\tlimit_ratio\tage99\tage90\tage50\tage10");
    if (peers)
        all_peers(memory);
    for (size_t e = 0; !widths && !peers && e < sizeof errors / sizeof *errors; e++) {
        char parameters[32];

        snprintf(parameters, sizeof parameters, "fpr=%s", errors[e]);
        for (size_t f = 0; f < sizeof filters / sizeof *filters; f++)
            one(filters[f], parameters, memory);
    }
    for (int width = 8; widths && width <= 24; width += width < 16 ? 1 : 4) {
        char parameters[32];

        snprintf(parameters, sizeof parameters, "width=%d", width);
        one("recent", parameters, memory);
    }
    return 0;
}
