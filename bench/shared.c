/* shared.c - one shared filter and several threads, compared with one thread on a plain filter of
 * the same memory.
 *
 *     shared [--memory MIB] [--threads N] [--rounds N] [--quick]
 *
 * All filters have one spec, are full before the measurement and observe the same batches, half of
 * whose keys are new. Rounds run all rows in turn, and the best round counts. "apart": each thread
 * has its own plain filter with its share of the memory, which is the machine's limit without
 * sharing. TSV: x_plain = keys per second relative to the plain filter, by wall-clock time;
 * x_processor = the same by the threads' processor time, which idle cores would give if threads
 * never waited. */
#include "speed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>
#include <weir/shared.h>

#include "base/rng.h"

#define KEYS (1 << 20) /* of a round */
#define BYTES_PER_KEY 1.5
#define THREADS_MAX 64

struct bench {
    struct weir_key *keys;
    uint64_t next; /* new keys so far */
    double memory_mib;
    uint32_t threads;
    int rounds;
};

struct way {
    uint32_t threads, shards; /* shards 0: a plain filter */
    bool ordered, apart;
    size_t batch;
    weir_filter *plain[THREADS_MAX]; /* one for all threads, or one per thread */
    weir_shared *shared;
    double wall, processor; /* ns per key of the best round */
};

static double wall_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct weir_key key_of(uint64_t id)
{
    return weir_hash_bytes(WEIR_HASH_XXH3, SEED, &id, sizeof id);
}

/* Half of the keys are new, half are repeats of the last millions of keys. */
static void make_keys(struct bench *b)
{
    for (size_t i = 0; i < KEYS; i++) {
        struct rng r = rng_at(SEED, b->next);
        uint64_t recent = b->next < 4 * KEYS ? b->next + 1 : 4 * KEYS;

        b->keys[i] = key_of(i % 2 ? b->next++ : b->next - rng_below(&r, recent));
    }
}

/* ---- threads ---- */

struct worker {
    const struct bench *bench;
    const struct way *way;
    pthread_mutex_t *reading; /* of the next batch */
    size_t *taken;
    weir_filter *plain;
    double processor;
};

/* What a thread of the command does: take the next batch, and a ticket if the order counts. */
static size_t take_batch(struct worker *w, uint64_t *ticket)
{
    size_t at;

    pthread_mutex_lock(w->reading);
    at = *w->taken;
    *w->taken += w->way->batch;
    if (w->way->ordered && at < KEYS)
        *ticket = weir_shared_ticket(w->way->shared);
    pthread_mutex_unlock(w->reading);
    return at;
}

static void *work(void *context)
{
    struct worker *w = context;
    const struct way *way = w->way;
    uint8_t verdicts[1 << 14];
    double began = now_ns();
    uint64_t ticket = 0;

    for (size_t at; (at = take_batch(w, &ticket)) < KEYS;) {
        const struct weir_key *keys = w->bench->keys + at;

        if (w->plain)
            weir_observe_many(w->plain, keys, way->batch, verdicts);
        else if (way->ordered)
            weir_shared_process(
                way->shared, ticket,
                &(struct weir_shared_batch){.size = sizeof(struct weir_shared_batch),
                                            .keys = keys,
                                            .n = way->batch,
                                            .verdicts = verdicts});
        else
            weir_shared_observe_many(way->shared, keys, way->batch, verdicts);
    }
    w->processor = now_ns() - began;
    return NULL;
}

static void run(const struct bench *b, struct way *way)
{
    pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread[THREADS_MAX];
    struct worker worker[THREADS_MAX];
    size_t taken = 0;
    double began = wall_ns(), processor = 0;

    for (uint32_t i = 0; i < way->threads; i++) {
        worker[i] = (struct worker){b, way, &reading, &taken, way->plain[way->apart ? i : 0], 0};
        if (pthread_create(&thread[i], NULL, work, &worker[i]) != 0)
            die("cannot start a thread");
    }
    for (uint32_t i = 0; i < way->threads; i++) {
        pthread_join(thread[i], NULL);
        processor += worker[i].processor / way->threads;
    }
    way->wall = fmin(way->wall, (wall_ns() - began) / KEYS);
    way->processor = fmin(way->processor, processor / KEYS);
}

/* ---- rows ---- */

static void open_way(const struct bench *b, struct way *way)
{
    char spec[96];
    struct weir_error error;
    uint32_t filters = way->apart ? way->threads : 1;

    snprintf(spec, sizeof spec, "recent memory=%.0f seed=%d", b->memory_mib * (1 << 20) / filters,
             SEED);
    if (way->shards && weir_shared_open(&way->shared, spec, way->shards, NULL, &error))
        die("%s", error.text);
    for (uint32_t i = 0; !way->shards && i < filters; i++)
        if (weir_open(&way->plain[i], spec, &error) != WEIR_OK)
            die("%s", error.text);
    way->wall = way->processor = INFINITY;
}

static void print(const struct way *way, const struct way *plain, double memory_mib)
{
    char shards[16];

    snprintf(shards, sizeof shards, "%u", way->shards);
    printf("%.0f\t%s\t%u\t%s\t%zu\t%.2f\t%.2f\t%.2f\t%.2f\n", memory_mib,
           way->apart     ? "apart"
           : !way->shards ? "plain"
           : way->ordered ? "ordered"
                          : "shared",
           way->threads, way->shards ? shards : "-", way->batch, way->wall, way->processor,
           plain->wall / way->wall, plain->processor / way->processor);
}

static void measure(struct bench *b, struct way *ways, size_t n)
{
    double to_fill = b->memory_mib * (1 << 20) / BYTES_PER_KEY / KEYS * 2;

    for (int round = -(int)to_fill; round < b->rounds; round++) {
        make_keys(b);
        for (size_t i = 0; i < n; i++) {
            run(b, &ways[i]);
            if (round < 0)
                ways[i].wall = ways[i].processor = INFINITY;
        }
    }
}

static struct bench parse_options(int argc, char **argv)
{
    struct bench b = {.memory_mib = 64, .threads = 2, .rounds = 60};

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";

        if (!strcmp(argv[i], "--quick")) {
            b.memory_mib = 1;
            b.rounds = 2;
            continue;
        }
        if (!strcmp(argv[i], "--memory"))
            b.memory_mib = atof(value);
        else if (!strcmp(argv[i], "--threads"))
            b.threads = (uint32_t)atoi(value);
        else if (!strcmp(argv[i], "--rounds"))
            b.rounds = atoi(value);
        else
            die("usage: shared [--memory MIB] [--threads N] [--rounds N] [--quick]");
        i++;
    }
    if (!(b.memory_mib > 0) || b.threads < 1 || b.threads > THREADS_MAX || b.rounds < 1)
        die("memory, threads (at most %d) and rounds are numbers above 0", THREADS_MAX);
    return b;
}

int main(int argc, char **argv)
{
    struct bench b = parse_options(argc, argv);
    struct way ways[] = {
        {.threads = 1, .batch = 4096},
        {.threads = b.threads, .apart = true, .batch = 4096},
        {.threads = 1, .shards = 8, .batch = 4096},
        {.threads = b.threads, .shards = 8, .batch = 4096},
        {.threads = b.threads, .shards = 8, .batch = 16384},
        {.threads = b.threads, .shards = 16, .batch = 4096},
        {.threads = b.threads, .shards = b.threads, .ordered = true, .batch = 4096},
    };
    size_t n = sizeof ways / sizeof *ways;

    b.keys = must_allocate(KEYS * sizeof *b.keys);
    for (size_t i = 0; i < n; i++)
        open_way(&b, &ways[i]);
    measure(&b, ways, n);
    printf("memory_MiB\tfilter\tthreads\tshards\tbatch\tns_wall\tns_processor\tx_plain\tx_"
           "processor\n");
    for (size_t i = 0; i < n; i++) {
        print(&ways[i], &ways[0], b.memory_mib);
        for (uint32_t j = 0; j < THREADS_MAX; j++)
            weir_close(ways[i].plain[j]);
        weir_shared_close(ways[i].shared);
    }
    free(b.keys);
    return 0;
}
