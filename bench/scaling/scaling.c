/* scaling.c - 1e12 records over 1000 shards: balance, error, retention, and a shard that is lost.
 *
 * Nobody has the machines for the whole, and nobody needs them: keys go to shards by their hash, so
 * that a shard is one filter of a part of the memory that is shown a part of the stream, and knows
 * nothing of the others. What is drawn here is
 *
 *   - how many records and keys each of the shards gets, of all of them: the most frequent keys one
 * by one, the rest by the normal law of so many;
 *   - how many shards each master gets, by the slots of their names;
 *   - some of the shards, the fullest and the emptiest among them, as real filters of the library
 * at a SCALE of the memory and of the records, beside what weir/plan.h predicts for the full size;
 *   - one that is lost in mid-stream: what is missed until it has filled again, alone, or after its
 *     last copy was loaded.
 *
 * Prints TSV: panel, series, x, y, predicted. The scale is told in the first line. */
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
#define HEAVY 1000000 /* keys that are dealt one by one */
#define SAMPLED 8     /* shards that are played, and the fullest and the emptiest */
#define BATCH 4096
#define NEVER (UINT64_C(1) << 60) /* keys from here on are never shown */

static uint64_t scale = 256; /* of records and memory, of one shard */

static void die(const struct weir_error *error)
{
    fprintf(stderr, "scaling: %s\n", error->text);
    exit(1);
}

/* ---- chance ---- */

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

static void tell_extremes(const struct loads *l, const char *series)
{
    double least = l->of[0], most = l->of[0], sum = 0;

    for (uint32_t i = 0; i < l->shards; i++) {
        least = l->of[i] < least ? l->of[i] : least;
        most = l->of[i] > most ? l->of[i] : most;
        sum += l->of[i];
    }
    printf("balance\t%s, most\t%u\t%.6g\t\n", series, l->shards, most / sum * l->shards);
    printf("balance\t%s, least\t%u\t%.6g\t\n", series, l->shards, least / sum * l->shards);
}

/* A binomial of so many that it is normal. */
static void deal_alike(struct loads *l, double n)
{
    double mean = n / l->shards;

    for (uint32_t i = 0; i < l->shards; i++)
        l->of[i] += mean + sqrt(mean * (1 - 1.0 / l->shards)) * normal();
}

/* Records of a Zipf stream over so many keys. The keys beyond HEAVY are many and light: their
 * records are normal, with the sum of squares as variance. */
static void deal_zipf(struct loads *l, double alpha, double keys)
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

        deal_alike(&distinct, RECORDS);
        deal_zipf(&zipf, 0.8, 1e11);
        deal_zipf(&steep, 1, 1e11);
        tell_extremes(&distinct, "keys");
        tell_extremes(&zipf, "records, zipf 0.8");
        tell_extremes(&steep, "records, zipf 1.0");
        *keys = distinct;
    }
}

/* ---- shards of a master ---- */

/* CRC-16 as clusters take it of what stands between the braces of a key. */
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

/* Slots in ranges of one length, as redis-cli --cluster create gives them out. */
static void masters(void)
{
    static const uint32_t shards[] = {4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024};

    for (uint32_t n = 3; n <= 30; n = n == 3 ? 6 : n == 6 ? 12 : n + 18) {
        for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
            uint32_t of[64] = {0}, most = 0;
            char series[32];

            for (uint32_t j = 0; j < shards[i]; j++)
                of[slot_of(j) * n / 16384]++;
            for (uint32_t j = 0; j < n; j++)
                most = of[j] > most ? of[j] : most;
            snprintf(series, sizeof series, "%u masters", n);
            printf("masters\t%s\t%u\t%.6g\t\n", series, shards[i], (double)most * n / shards[i]);
        }
    }
}

/* ---- a shard ---- */

struct shard {
    weir_filter *w;
    uint64_t name, shown;
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
    uint64_t both[2] = {s->name, number};

    return weir_hash(s->w, both, sizeof both);
}

/* New keys only: those that come again are asked for, and so change nothing. */
static void show(struct shard *s, double until)
{
    struct weir_key keys[BATCH];
    uint8_t verdicts[BATCH];

    while ((double)s->shown < until) {
        uint64_t left = (uint64_t)until - s->shown;
        size_t n = left == 0 ? 1 : left < BATCH ? left : BATCH;

        for (size_t i = 0; i < n; i++)
            keys[i] = key_of(s, s->shown++);
        weir_observe_many(s->w, keys, n, verdicts);
    }
}

#define ASKED 40000

/* The share of keys, shown so many before, that are still known; gap 0: of keys never shown. */
static double known(const struct shard *s, uint64_t gap)
{
    uint64_t asked = gap == 0 ? 10 * ASKED : ASKED, spread = gap / 20 + 1, found = 0;

    for (uint64_t i = 0; i < asked; i++) {
        uint64_t back = gap + i * spread / asked;
        uint64_t number = gap == 0 ? NEVER + s->shown + i : s->shown - 1 - back;

        found += gap > 0 && back >= s->shown ? 0 : weir_ask(s->w, key_of(s, number)) == WEIR_SEEN;
    }
    return (double)found / (double)asked;
}

static double predicted_missed(double gap)
{
    struct weir_error error;
    struct weir_stream endless;
    struct weir_gap_prediction told;
    char spec[96];

    if (weir_stream_read(&endless, sizeof endless, "endless", &error) != WEIR_OK)
        die(&error);
    snprintf(spec, sizeof spec, FILTER " memory=%" PRIu64, SHARD_MEMORY);
    if (weir_predict_gap(&told, sizeof told, spec, &endless, gap, &error) != WEIR_OK)
        die(&error);
    return told.missed;
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

/* Its error along the stream, and at the end what it still knows. x in records of the whole. */
static void play(uint64_t name, double records, const char *series, const struct weir_prediction *p)
{
    struct shard s = shard_open(name);

    for (int step = 1; step <= 10; step++) {
        show(&s, records / (double)scale * step / 10);
        printf("error\t%s\t%.6g\t%.6g\t%.6g\n", series, RECORDS * step / 10, known(&s, 0),
               p->stable);
    }
    for (double gap = records / 40; gap < records; gap += records / 40)
        printf("retention\t%s\t%.6g\t%.6g\t%.6g\n", series, gap * SHARDS,
               known(&s, (uint64_t)(gap / (double)scale) + 1), 1 - predicted_missed(gap));
    weir_close(s.w);
}

static void sample(const struct loads *keys, const struct weir_prediction *p)
{
    uint32_t least = 0, most = 0;

    for (uint32_t i = 0; i < keys->shards; i++) {
        least = keys->of[i] < keys->of[least] ? i : least;
        most = keys->of[i] > keys->of[most] ? i : most;
    }
    play(least, keys->of[least], "the emptiest shard", p);
    play(most, keys->of[most], "the fullest shard", p);
    for (uint32_t i = 0; i < SAMPLED; i++) {
        uint32_t shard = i * (SHARDS / SAMPLED);

        play(shard, keys->of[shard], "other shards", p);
    }
}

/* ---- a shard is lost ---- */

/* Repeats whose gap is anything up to what is remembered: the share that is missed. */
static double missed(const struct shard *s, double remembered)
{
    uint64_t found = 0;

    for (uint64_t i = 0; i < ASKED; i++) {
        uint64_t back = (uint64_t)(remembered * ((double)i + 0.5) / ASKED);

        found += weir_ask(s->w, key_of(s, s->shown - 1 - back)) == WEIR_SEEN;
    }
    return 1 - (double)found / ASKED;
}

/* After it was lost in the middle of the stream, and a copy of some age was loaded; 0: of no age
 * but the beginning. In parts of all repeats of the stream, of which it has one in SHARDS. */
static void lose(double age, const char *series, const struct weir_prediction *p)
{
    double remembered = p->remembered / (double)scale, lost = 3 * remembered;
    struct shard s = shard_open(3);
    double before;

    show(&s, lost - age / SHARDS / (double)scale);
    weir_filter *copy = weir_clone(s.w, NULL);
    show(&s, lost);
    before = missed(&s, remembered);
    if (age == 0)
        weir_clear(copy);
    weir_close(s.w);
    s.w = copy;
    for (double since = 0.001; since < 1.5; since += since < 0.05 ? 0.049 : 0.05) {
        show(&s, lost + since * remembered);
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
    lose(0, "begins anew", &p);
    lose(p.remembered * SHARDS / 10, "copy of a tenth of the window before", &p);
    lose(p.remembered * SHARDS / 100, "copy of a hundredth before", &p);
    return 0;
}
