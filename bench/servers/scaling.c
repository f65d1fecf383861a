/* scaling.c - a simulation of 1e12 records over 1000 shards: balance, error, retention, and the
 * loss of a shard.
 *
 * Keys are assigned to shards by their hash, so a shard is one filter with a part of the memory
 * that observes a part of the stream, independent of the others. Simulated are
 *
 * - the records and keys of every shard: the max frequent keys one by one, the rest by a normal
 *   distribution;
 * - the shards of every master, by the hash slots of their names;
 * - some shards, including the fullest and the emptiest, as real filters at a SCALE of memory and
 *   records, compared with the prediction of weir/plan.h for the full size;
 * - the loss of a shard in mid-stream: repeats missed until it has filled again, empty or after its
 *   last copy was loaded.
 *
 * Prints TSV: panel, series, x, y, predicted. The first line contains the scale. */
#include <weir.h>
#include <weir/hash.h>
#define WEIR_UNSTABLE
#include <weir/plan.h>

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 1e12
#define SHARDS 1000
#define SHARD_MEMORY (UINT64_C(1) << 30)
#define FILTER "recent fpr=0.1%%"
#define HEAVY 1000000 /* keys that are assigned one by one */
#define SAMPLED 8     /* simulated shards, in addition to the fullest and the emptiest */
#define BATCH 4096
#define NEVER (UINT64_C(1) << 60) /* keys from here on are never observed */

static uint64_t scale = 256; /* of the records and the memory of one shard */

static void die(const struct weir_error *error)
{
    fprintf(stderr, "scaling: %s\n", error->text);
    exit(1);
}

/* ---- random numbers ---- */

static uint64_t state = 1;

static double uniform(void)
{
    state = weir_hash_bytes(WEIR_HASH_XXH3, state, "next", 4).lo;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static uint32_t shard_of(uint64_t key, uint32_t shards)
{
    return weir_shard(weir_hash_bytes(WEIR_HASH_XXH3, 7, &key, sizeof key), shards);
}

/* ---- balance ---- */

struct loads {
    double of[SHARDS];
    uint32_t shards;
};

static void print_extremes(const struct loads *l, const char *series)
{
    double min = l->of[0], max = l->of[0], sum = 0;

    for (uint32_t i = 0; i < l->shards; i++) {
        min = l->of[i] < min ? l->of[i] : min;
        max = l->of[i] > max ? l->of[i] : max;
        sum += l->of[i];
    }
    printf("balance\t%s, max\t%u\t%.6g\t\n", series, l->shards, max / sum * l->shards);
    printf("balance\t%s, min\t%u\t%.6g\t\n", series, l->shards, min / sum * l->shards);
}

/* The normal approximation of a binomial. */
static void assign_uniform(struct loads *l, double n)
{
    double mean = n / l->shards;

    for (uint32_t i = 0; i < l->shards; i++)
        l->of[i] += mean + sqrt(mean * (1 - 1.0 / l->shards)) * normal();
}

/* Records of a Zipf stream over `keys` keys. The keys after HEAVY are many and rare: their records
 * are normally distributed, with the sum of squares as variance. */
static void assign_zipf(struct loads *l, double alpha, double keys)
{
    double heavy = 0, rest, squares, mean, all;

    for (uint64_t k = 1; k <= HEAVY; k++)
        heavy += pow((double)k, -alpha);
    rest = alpha == 1 ? log(keys / HEAVY)
                      : (pow(keys, 1 - alpha) - pow(HEAVY, 1 - alpha)) / (1 - alpha);
    squares = (pow(HEAVY, 1 - 2 * alpha) - pow(keys, 1 - 2 * alpha)) / (2 * alpha - 1);
    all = heavy + rest;
    mean = RECORDS * rest / all / l->shards;
    for (uint64_t k = 1; k <= HEAVY; k++)
        l->of[shard_of(k, l->shards)] += RECORDS * pow((double)k, -alpha) / all;
    for (uint32_t i = 0; i < l->shards; i++)
        l->of[i] += mean + RECORDS / all * sqrt(squares / l->shards) * normal();
}

static void balance(struct loads *keys)
{
    static const uint32_t counts[] = {1, 3, 10, 30, 100, 300, SHARDS};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct loads distinct = {.shards = counts[i]}, zipf = distinct, steep = distinct;

        assign_uniform(&distinct, RECORDS);
        assign_zipf(&zipf, 0.8, 1e11);
        assign_zipf(&steep, 1, 1e11);
        print_extremes(&distinct, "keys");
        print_extremes(&zipf, "records, zipf 0.8");
        print_extremes(&steep, "records, zipf 1.0");
        *keys = distinct;
    }
}

/* ---- shards of a master ---- */

/* The cluster's CRC-16 of the hash tag, the text between braces in a key. */
static uint32_t slot_of(uint32_t shard)
{
    char text[16];
    uint32_t crc = 0;

    snprintf(text, sizeof text, "%u", shard);
    for (const char *p = text; *p; p++) {
        crc ^= (uint32_t)(unsigned char)*p << 8;
        for (int i = 0; i < 8; i++)
            crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    }
    return crc % 16384;
}

/* Slot ranges of equal length, as redis-cli --cluster create assigns them. */
static void masters(void)
{
    static const uint32_t shards[] = {4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024};

    for (uint32_t n = 3; n <= 30; n = n == 3 ? 6 : n == 6 ? 12 : n + 18) {
        for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
            uint32_t of[64] = {0}, max = 0;
            char series[32];

            for (uint32_t j = 0; j < shards[i]; j++)
                of[slot_of(j) * n / 16384]++;
            for (uint32_t j = 0; j < n; j++)
                max = of[j] > max ? of[j] : max;
            snprintf(series, sizeof series, "%u masters", n);
            printf("masters\t%s\t%u\t%.6g\t\n", series, shards[i], (double)max * n / shards[i]);
        }
    }
}

/* ---- one shard ---- */

struct shard {
    weir_filter *w;
    uint64_t name, observed;
};

static struct shard shard_open(uint64_t name)
{
    struct shard s = {.name = name};
    struct weir_error error;
    char spec[96];

    snprintf(spec, sizeof spec, FILTER " memory=%" PRIu64 " seed=%" PRIu64, SHARD_MEMORY / scale,
             name);
    if (weir_open(&s.w, spec, &error) != WEIR_OK)
        die(&error);
    return s;
}

static struct weir_key key_of(const struct shard *s, uint64_t number)
{
    uint64_t words[2] = {s->name, number};

    return weir_hash(s->w, words, sizeof words);
}

/* Observe new keys only; repeats are looked up, which changes nothing. */
static void observe_until(struct shard *s, double until)
{
    struct weir_key keys[BATCH];
    uint8_t verdicts[BATCH];

    while ((double)s->observed < until) {
        uint64_t left = (uint64_t)until - s->observed;
        size_t n = left == 0 ? 1 : left < BATCH ? left : BATCH;

        for (size_t i = 0; i < n; i++)
            keys[i] = key_of(s, s->observed++);
        weir_observe_many(s->w, keys, n, verdicts);
    }
}

#define LOOKUPS 40000

/* The share of keys, observed `gap` keys ago, that are still seen; gap 0: of keys never observed.
 */
static double share_seen(const struct shard *s, uint64_t gap)
{
    uint64_t lookups = gap == 0 ? 10 * LOOKUPS : LOOKUPS, spread = gap / 20 + 1, found = 0;

    for (uint64_t i = 0; i < lookups; i++) {
        uint64_t back = gap + i * spread / lookups;
        uint64_t number = gap == 0 ? NEVER + s->observed + i : s->observed - 1 - back;

        found +=
            gap > 0 && back >= s->observed ? 0 : weir_ask(s->w, key_of(s, number)) == WEIR_SEEN;
    }
    return (double)found / (double)lookups;
}

static double predicted_missed(double gap)
{
    struct weir_error error;
    struct weir_stream endless;
    struct weir_gap_prediction prediction;
    char spec[96];

    if (weir_stream_read(&endless, sizeof endless, "endless", &error) != WEIR_OK)
        die(&error);
    snprintf(spec, sizeof spec, FILTER " memory=%" PRIu64, SHARD_MEMORY);
    if (weir_predict_gap(&prediction, sizeof prediction, spec, &endless, gap, &error) != WEIR_OK)
        die(&error);
    return prediction.missed;
}

static void predict(struct weir_prediction *p)
{
    struct weir_error error;
    struct weir_stream endless;
    char spec[96];

    if (weir_stream_read(&endless, sizeof endless, "endless", &error) != WEIR_OK)
        die(&error);
    snprintf(spec, sizeof spec, FILTER " memory=%" PRIu64, SHARD_MEMORY);
    if (weir_predict(p, sizeof *p, spec, &endless, &error) != WEIR_OK)
        die(&error);
}

/* A shard's error rate along the stream, and at its end the retention. x counts records of the
 * whole stream. */
static void simulate(uint64_t name, double records, const char *series,
                     const struct weir_prediction *p)
{
    struct shard s = shard_open(name);

    for (int step = 1; step <= 10; step++) {
        observe_until(&s, records / (double)scale * step / 10);
        printf("error\t%s\t%.6g\t%.6g\t%.6g\n", series, RECORDS * step / 10, share_seen(&s, 0),
               p->stable);
    }
    for (double gap = records / 40; gap < records; gap += records / 40)
        printf("retention\t%s\t%.6g\t%.6g\t%.6g\n", series, gap * SHARDS,
               share_seen(&s, (uint64_t)(gap / (double)scale) + 1), 1 - predicted_missed(gap));
    weir_close(s.w);
}

static void sample(const struct loads *keys, const struct weir_prediction *p)
{
    uint32_t min = 0, max = 0;

    for (uint32_t i = 0; i < keys->shards; i++) {
        min = keys->of[i] < keys->of[min] ? i : min;
        max = keys->of[i] > keys->of[max] ? i : max;
    }
    simulate(min, keys->of[min], "the emptiest shard", p);
    simulate(max, keys->of[max], "the fullest shard", p);
    for (uint32_t i = 0; i < SAMPLED; i++) {
        uint32_t shard = i * (SHARDS / SAMPLED);

        simulate(shard, keys->of[shard], "other shards", p);
    }
}

/* ---- loss of a shard ---- */

/* The share of missed repeats whose gap is uniform up to `remembered`. */
static double missed(const struct shard *s, double remembered)
{
    uint64_t found = 0;

    for (uint64_t i = 0; i < LOOKUPS; i++) {
        uint64_t back = (uint64_t)(remembered * ((double)i + 0.5) / LOOKUPS);

        found += weir_ask(s->w, key_of(s, s->observed - 1 - back)) == WEIR_SEEN;
    }
    return 1 - (double)found / LOOKUPS;
}

/* A shard is lost in mid-stream, and a copy of this age is loaded; age 0: an empty filter. Missed
 * repeats as a share of all repeats of the stream, of which a shard has one in SHARDS. */
static void simulate_loss(double age, const char *series, const struct weir_prediction *p)
{
    double remembered = p->remembered / (double)scale, lost = 3 * remembered;
    struct shard s = shard_open(3);
    double before;

    observe_until(&s, lost - age / SHARDS / (double)scale);
    weir_filter *copy = weir_clone(s.w, NULL);
    observe_until(&s, lost);
    before = missed(&s, remembered);
    if (age == 0)
        weir_clear(copy);
    weir_close(s.w);
    s.w = copy;
    for (double since = 0.001; since < 1.5; since += since < 0.05 ? 0.049 : 0.05) {
        observe_until(&s, lost + since * remembered);
        double more = missed(&s, remembered) - before;
        printf("lost\t%s\t%.6g\t%.6g\t\n", series, since * p->remembered * SHARDS,
               (more > 0 ? more : 0) / SHARDS);
    }
    weir_close(s.w);
}

static void usage(void)
{
    fprintf(stderr, "usage: scaling [--scale N], a power of two from 1 to 65536\n");
    exit(2);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"scale", required_argument, NULL, 's'}, {0}};
    struct weir_prediction p;
    struct loads keys;
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        scale = option == 's' ? strtoull(optarg, NULL, 10) : 0;
        if (scale == 0 || scale > 65536 || (scale & (scale - 1)) != 0)
            usage();
    }
    if (optind < argc)
        usage();
    predict(&p);
    printf("# %g records, %d shards of %" PRIu64 " bytes, played at 1/%" PRIu64
           "; predicted: %.4g remembered, error %.4g\n",
           RECORDS, SHARDS, SHARD_MEMORY, scale, p.remembered * SHARDS, p.stable);
    printf("panel\tseries\tx\ty\tpredicted\n");
    balance(&keys);
    masters();
    sample(&keys, &p);
    simulate_loss(0, "restarts empty", &p);
    simulate_loss(p.remembered * SHARDS / 10, "copy of a tenth of the window before", &p);
    simulate_loss(p.remembered * SHARDS / 100, "copy of a hundredth of the window before", &p);
    return 0;
}
