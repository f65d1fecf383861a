/* sets.c - filters of a fixed set: bits per key, build time, lookup time.
 *
 *     sets [--keys N] [--rounds N] [--only bloom,fuse]
 *
 * Each filter contains N keys (default: 10M; the goals are for 100M), at an error rate of 0.4 % and
 * 0.2 %. Members and non-members are looked up in batches of 4096 hashed keys. Filters take turns,
 * and the lower quartile of all rounds counts. Prints TSV:
 *
 *   bits_per_key                  of memory, without the head
 *   build_ns                      processor time per key, without hashing
 *   member_ns, nonmember_ns       processor time per lookup
 *   error                         measured false-positive rate
 *   member_ratio, nonmember_ratio relative to bloom at the same error; goal for fuse: at most 0.5
 *
 * Two filters that weir does not have get rows with published sizes at an error of 1/256: xor (Graf
 * and Lemire 2020: 1.23 * 8 bits), and ribbon (Dillinger, Huebschle-Schneider, Sanders and Walzer
 * 2022: bumped, under 1 % above 8 bits). */
#include <weir/build.h>
#include <weir/hash.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SEED 7
#define BATCH 4096
#define LOOKUPS (BATCH * 256) /* of a kind, per round */
#define ROUNDS_MAX 99

static const char *const specs[] = {
    "bloom fpr=0.00390625", "counting fpr=0.00390625", "cuckoo fpr=0.4%", "fuse fpr=0.4%",
    "bloom fpr=0.002",      "counting fpr=0.002",      "cuckoo fpr=0.2%", "fuse fpr=0.2%",
};
#define SPECS (sizeof specs / sizeof *specs)
#define PER_ERROR 4 /* the first of each is bloom */

struct measured {
    weir_filter *w;
    double build;
    double member[ROUNDS_MAX], nonmember[ROUNDS_MAX]; /* ns per lookup */
    double error;
};

static double processor_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *why)
{
    fprintf(stderr, "sets: %s\n", why);
    exit(2);
}

/* Keys 0 to n - 1 are members, keys from 2^40 on are non-members. */
static struct weir_key key_of(uint64_t number)
{
    return weir_hash_bytes(WEIR_HASH_XXH3, SEED, &number, sizeof number);
}

static void build(struct measured *m, const char *spec, uint64_t n)
{
    static struct weir_key keys[BATCH];
    char full[200];
    struct weir_error error;
    weir_builder *b;
    double began;

    snprintf(full, sizeof full, "%s capacity=%llu seed=%d", spec, (unsigned long long)n, SEED);
    if (weir_build_begin(&b, full, NULL, &error) != WEIR_OK)
        die(error.text);
    for (uint64_t at = 0, some; at < n; at += some) {
        some = n - at < BATCH ? n - at : BATCH;
        for (uint64_t i = 0; i < some; i++)
            keys[i] = key_of(at + i);
        began = processor_time();
        if (weir_build_add(b, keys, (size_t)some, &error) != WEIR_OK)
            die(error.text);
        m->build += processor_time() - began;
    }
    began = processor_time();
    if (weir_build_finish(b, &m->w, &error) != WEIR_OK)
        die(error.text);
    m->build += processor_time() - began;
}

static double ask(const weir_filter *w, const struct weir_key *keys, uint64_t *seen)
{
    static uint8_t verdicts[BATCH];
    double began = processor_time();

    *seen = 0;
    for (size_t at = 0; at < LOOKUPS; at += BATCH) {
        weir_ask_many(w, keys + at, BATCH, verdicts);
        for (size_t i = 0; i < BATCH; i++)
            *seen += verdicts[i];
    }
    return (processor_time() - began) * 1e9 / LOOKUPS;
}

static void play_round(struct measured *m, int round, uint64_t n)
{
    static struct weir_key members[LOOKUPS], nonmembers[LOOKUPS];
    uint64_t seen;

    for (uint64_t i = 0; i < LOOKUPS; i++) {
        uint64_t number = (uint64_t)round * LOOKUPS + i;

        members[i] = key_of(key_of(number).hi % n);
        nonmembers[i] = key_of(UINT64_C(1) << 40 | number);
    }
    for (size_t i = 0; i < SPECS; i++) {
        if (!m[i].w)
            continue;
        m[i].member[round] = ask(m[i].w, members, &seen);
        if (seen < LOOKUPS)
            die("a member was missed");
        m[i].nonmember[round] = ask(m[i].w, nonmembers, &seen);
        m[i].error += (double)seen / LOOKUPS;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double lower_quartile(double *of, int n)
{
    qsort(of, (size_t)n, sizeof *of, compare);
    return of[n / 4];
}

static void print_all(struct measured *m, int rounds, double n)
{
    double member = 0, nonmember = 0;

    printf("filter\tsettings\tkeys\tbits_per_key\tbuild_ns\tmember_ns\tstranger_ns\terror\t"
           "member_ratio\tstranger_ratio\n");
    for (size_t i = 0; i < SPECS; i++) {
        if (!m[i].w)
            continue;
        struct weir_stats stats = weir_stats_of(m[i].w);
        double of_member = lower_quartile(m[i].member, rounds);
        double of_nonmember = lower_quartile(m[i].nonmember, rounds);
        int name = (int)strcspn(specs[i], " ");

        if (i % PER_ERROR == 0) {
            member = of_member;
            nonmember = of_nonmember;
        }
        printf("%.*s\t%s\t%.0f\t%.3f\t%.1f\t%.2f\t%.2f\t%.6f\t%.3f\t%.3f\n", name, specs[i],
               specs[i] + name + 1, n, 8 * (double)stats.memory / n, m[i].build * 1e9 / n,
               of_member, of_nonmember, m[i].error / rounds, of_member / member,
               of_nonmember / nonmember);
    }
    printf("xor\tpublished\t-\t9.840\t-\t-\t-\t0.003906\t-\t-\n");
    printf("ribbon\tpublished\t-\t8.080\t-\t-\t-\t0.003906\t-\t-\n");
}

static bool is_wanted(const char *spec, const char *only)
{
    char name[16];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(spec, " "), spec);
    return !only || strstr(only, name);
}

int main(int argc, char **argv)
{
    static struct measured m[SPECS];
    uint64_t n = 10000000;
    int rounds = 15;
    const char *only = NULL;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--keys") == 0)
            n = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0)
            rounds = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
        else
            die("it takes --keys N, --rounds N and --only NAMES");
    }
    if (n < 1 || rounds < 1 || rounds > ROUNDS_MAX || argc % 2 == 0)
        die("it takes --keys N and --rounds N, from 1 to 99");
    for (size_t i = 0; i < SPECS; i++)
        if (is_wanted(specs[i], only))
            build(&m[i], specs[i], n);
    for (int round = 0; round < rounds; round++)
        play_round(m, round, n);
    print_all(m, rounds, (double)n);
    for (size_t i = 0; i < SPECS; i++)
        weir_close(m[i].w);
    return 0;
}
