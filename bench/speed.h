/* speed.h - declarations for the benchmarks of filters and sketches: the stream, the table of
 * results, a clock. */
#ifndef WEIR_BENCH_SPEED_H
#define WEIR_BENCH_SPEED_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <weir.h>

#define BATCH 4096 /* keys per weir_observe_many(), as many as one read() of the command */
#define LEAD_IN 4  /* the first 1/4 of every run is not timed: it warms the caches */
#define SEED 1     /* of every filter, so that all get the same hashes */

/* ---- the stream ---- */

struct record {
    uint64_t word[2];
};

/* The same keys as bytes and hashed. */
struct stream {
    size_t n;
    struct record *records;
    struct weir_bytes *bytes;
    struct weir_key *keys;
    uint8_t *verdicts; /* buffer for the answers */
};

struct stream stream_open(size_t n);
void stream_close(struct stream *s);

static inline uint32_t importance_of(const void *record)
{
    return 1 + (uint32_t)(((const struct record *)record)->word[1] & 63);
}

/* ---- the table ---- */

#define REPEAT_MAX 99
#define RUNS_MAX (48 * REPEAT_MAX) /* the limit runs before every filter */

struct row {
    double memory_mib;
    const char *algorithm;
    char settings[256];
    bool asking; /* weir_ask_many() instead of observing */
    bool batch, hashing;
    bool chained; /* one by one, each depends on the previous answer */
    uint32_t lines;
    double ns[RUNS_MAX];
    int runs;
};

struct table {
    struct row rows[320];
    size_t n;
};

/* Record one run. All columns but ns identify the row. */
void table_note(struct table *t, const struct row *columns, double ns);

double row_time(const struct row *r);
void table_print_header(void);
void table_print(const struct table *t);

/* ---- measurements: each runs once and is recorded in the table ---- */

/* `load` is the number of keys per slot before the run. "window=" becomes a window of half the
 * capacity. */
#define FULL INFINITY
void filter_run(struct table *t, const char *name, const char *parameters, double load,
                double memory_mib, const struct stream *s);
void screen_run(struct table *t, const char *parameters, double load, double memory_mib,
                const struct stream *s);
void limit_run(struct table *t, double memory_mib, uint32_t lines_per_run);
void libbloom_run(struct table *t, double memory_mib, const struct stream *s);

/* The limit for this many lines, interpolated, chained or not; and libbloom's time, or 0 if it was
 * not measured. */
double limit_for(const struct table *t, uint32_t lines, bool chained);
double libbloom_time(const struct table *t);

bool libbloom_is_available(void);

/* ---- utilities ---- */

/* Returns 0, but depends on the previous answer: adding it to a key makes the key wait for that
 * answer. The compiler cannot see the value, and the processor does not predict values. */
static inline uint64_t wait_for(uint64_t answer)
{
    uint64_t nothing = 0;

    __asm__ volatile("" : "+r"(nothing));
    return answer & nothing;
}

/* Processor time of this thread, so that other processes on the core do not count. */
static inline double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Print a message and exit with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *why, ...);

void *must_allocate(size_t bytes);

#endif
