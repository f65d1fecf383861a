/* exact.c - the exact index, compared with RocksDB (WAL, ribbon filters, no compression) as the
 * set.
 *
 *   exact [--records MILLIONS,...] [--distinct PERCENT] [--memory MIB] [--peer] [--seconds CPU]
 *         DIRECTORY
 *
 * A stream of digests, of which PERCENT are new and the others repeat a random earlier one; each is
 * looked up and added if it is new, in batches of 8,192. Every verdict is checked. Both sets sync
 * every 256 batches. One process per set and size, so that memory and CPU time are its own.
 *
 * --seconds ends a set after this much CPU time: all figures are then those of the records so far,
 * whose number is in the column millions. The longest batch and the longest sync are also given
 * without the time for which the thread was ready, but another process had the processor. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "index/index.h"

#ifdef HAVE_ROCKSDB
#include <rocksdb/c.h>
#endif

#define BATCH 8192
#define SYNC_EVERY 256 /* batches */

struct settings {
    uint64_t records;
    double distinct;
    size_t memory;
    double seconds; /* of CPU time; 0: no limit */
    const char *dir;
};

static void fail(const char *why)
{
    fprintf(stderr, "exact: %s\n", why);
    exit(1);
}

/* ---- the stream ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    return x ^ x >> 32;
}

/* The number of the record that record i repeats, or i. */
static uint64_t origin_of(uint64_t i, uint64_t limit)
{
    for (;;) {
        uint64_t h = mix(i + 0x9e3779b97f4a7c15ull);

        if (i == 0 || (h & 0xffffffff) < limit)
            return i;
        i = mix(h) % i;
    }
}

static void fill(const struct settings *s, uint64_t from, uint32_t n, struct weir_key *keys,
                 bool *is_new)
{
    uint64_t limit = (uint64_t)(s->distinct * 4294967296.0);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t origin = origin_of(from + i, limit), hi = mix(origin * 0x9e3779b97f4a7c15ull + 77);

        keys[i] = (struct weir_key){.hi = hi, .lo = mix(hi ^ mix(origin + 999))};
        is_new[i] = origin == from + i;
    }
}

/* ---- the sets ---- */

struct set {
    const char *name;
    void *(*open)(const struct settings *s);
    void (*observe)(void *set, const struct weir_key *keys, uint32_t n, uint8_t *seen);
    void (*sync)(void *set);
    void (*close)(void *set);
};

static void *index_begin(const struct settings *s)
{
    static char why[INDEX_MESSAGE];
    struct index *x = exact_open(s->dir, &(struct index_options){.memory = s->memory}, why);

    if (!x)
        fail(why);
    return x;
}

static void index_commit(void *set)
{
    if (!exact_commit(set, "", 0))
        fail(exact_failure(set));
}

static void index_look(void *set, const struct weir_key *keys, uint32_t n, uint8_t *seen)
{
    if (!exact_observe(set, keys, NULL, 0, n, seen))
        fail(exact_failure(set));
    if (exact_wants_commit(set))
        index_commit(set);
}

static void index_end(void *set)
{
    index_commit(set);
    if (!exact_settle(set))
        fail(exact_failure(set));
    exact_close(set);
}

#ifdef HAVE_ROCKSDB
struct rocks {
    rocksdb_t *db;
    rocksdb_readoptions_t *read;
    rocksdb_writeoptions_t *write;
};

static void *rocks_begin(const struct settings *s)
{
    struct rocks *r = calloc(1, sizeof *r);
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *b = rocksdb_block_based_options_create();
    char *error = NULL;

    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_block_based_options_set_block_cache(b, rocksdb_cache_create_lru(s->memory / 8 * 5));
    rocksdb_block_based_options_set_filter_policy(b,
                                                  rocksdb_filterpolicy_create_ribbon_hybrid(10, 1));
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(b, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(b, 1);
    rocksdb_options_set_block_based_table_factory(o, b);
    rocksdb_options_set_write_buffer_size(o, s->memory / 8);
    rocksdb_options_set_max_write_buffer_number(o, 2);
    rocksdb_options_set_compression(o, rocksdb_no_compression);
    rocksdb_options_increase_parallelism(o, 2);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 1);
    r->db = r ? rocksdb_open(o, s->dir, &error) : NULL;
    if (error || !r->db)
        fail(error ? error : "out of memory");
    r->read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(r->read, 0);
    r->write = rocksdb_writeoptions_create();
    return r;
}

/* Repeats within a batch are found by the batch itself: the last of equal keys is written. */
static void rocks_look(void *set, const struct weir_key *keys, uint32_t n, uint8_t *seen)
{
    static char text[BATCH][16];
    static const char *key[BATCH];
    static size_t size[BATCH], sizes[BATCH];
    static char *values[BATCH], *errors[BATCH];
    static uint16_t slot[4 * BATCH];
    static uint32_t at[BATCH];
    struct rocks *r = set;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    uint32_t unique = 0;
    char *error = NULL;

    memset(slot, 0xff, sizeof slot);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t hi = __builtin_bswap64(keys[i].hi);
        uint32_t s = (uint32_t)keys[i].lo & (4 * BATCH - 1);

        memcpy(text[i], &hi, 8);
        memcpy(text[i] + 8, &keys[i].lo, 8);
        while (slot[s] != UINT16_MAX && memcmp(text[slot[s]], text[i], 16) != 0)
            s = (s + 1) & (4 * BATCH - 1);
        seen[i] = slot[s] != UINT16_MAX;
        if (seen[i])
            continue;
        slot[s] = (uint16_t)i;
        key[unique] = text[i];
        size[unique] = 16;
        at[unique++] = i;
    }
    rocksdb_multi_get(r->db, r->read, unique, key, size, values, sizes, errors);
    for (uint32_t i = 0; i < unique; i++) {
        seen[at[i]] = values[i] != NULL;
        free(values[i]);
        if (!seen[at[i]])
            rocksdb_writebatch_put(batch, key[i], 16, "", 0);
    }
    rocksdb_write(r->db, r->write, batch, &error);
    rocksdb_writebatch_destroy(batch);
    if (error)
        fail(error);
}

static void rocks_sync(void *set)
{
    struct rocks *r = set;
    char *error = NULL;

    rocksdb_flush_wal(r->db, 1, &error);
    if (error)
        fail(error);
}

static void rocks_end(void *set)
{
    rocks_sync(set);
    rocksdb_close(((struct rocks *)set)->db);
}
#endif

static const struct set sets[] = {
    {"index", index_begin, index_look, index_commit, index_end},
#ifdef HAVE_ROCKSDB
    {"rocksdb", rocks_begin, rocks_look, rocks_sync, rocks_end},
#endif
};

/* ---- measuring ---- */

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The number behind a name at the start of a line; 0 if there is none. */
static double from_proc(const char *path, const char *name)
{
    FILE *in = fopen(path, "r");
    unsigned long value = 0;
    size_t n = strlen(name);
    char line[256];

    while (in && value == 0 && fgets(line, sizeof line, in))
        if (strncmp(line, name, n) == 0)
            value = strtoul(line + n, NULL, 10);
    if (in)
        fclose(in);
    return (double)value;
}

static double disk_used(const char *dir)
{
    char command[512];
    FILE *pipe;
    double bytes = 0;

    snprintf(command, sizeof command, "du -sb --apparent-size '%s'", dir);
    pipe = popen(command, "r");
    if (!pipe || fscanf(pipe, "%lf", &bytes) != 1)
        fail("du failed");
    pclose(pipe);
    return bytes;
}

static void clean(const char *dir)
{
    char command[512];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command) != 0)
        fail("rm failed");
}

/* Seconds for which this thread has waited for a processor. */
static double waited(void)
{
    static int fd = -1;
    char text[64] = "";
    unsigned long long ran = 0, waiting = 0;

    if (fd < 0)
        fd = open("/proc/thread-self/schedstat", O_RDONLY);
    if (pread(fd, text, sizeof text - 1, 0) > 0)
        (void)sscanf(text, "%llu %llu", &ran, &waiting);
    return (double)waiting * 1e-9;
}

struct pause {
    double wall, waiting;        /* when it began */
    double longest, longest_own; /* ms; the second without waiting for a processor */
};

static void pause_begin(struct pause *p)
{
    p->waiting = waited();
    p->wall = seconds(CLOCK_MONOTONIC);
}

static void pause_end(struct pause *p)
{
    double wall = (seconds(CLOCK_MONOTONIC) - p->wall) * 1e3;
    double own = wall - (waited() - p->waiting) * 1e3;

    p->longest = wall > p->longest ? wall : p->longest;
    p->longest_own = own > p->longest_own ? own : p->longest_own;
}

static void measure(const struct set *set, const struct settings *s)
{
    static struct weir_key keys[BATCH];
    static bool is_new[BATCH];
    static uint8_t seen[BATCH];
    double anonymous = 0, began = seconds(CLOCK_MONOTONIC), generating = 0;
    uint64_t wrong = 0, kept = 0, batches = 0, at = 0;
    struct pause batch = {.wall = 0}, sync = {.wall = 0};
    void *opened = set->open(s);

    while (at < s->records && (!s->seconds || seconds(CLOCK_PROCESS_CPUTIME_ID) < s->seconds)) {
        uint32_t n = s->records - at < BATCH ? (uint32_t)(s->records - at) : BATCH;
        double generated = seconds(CLOCK_THREAD_CPUTIME_ID);

        fill(s, at, n, keys, is_new);
        at += n;
        generating += seconds(CLOCK_THREAD_CPUTIME_ID) - generated;
        pause_begin(&batch);
        set->observe(opened, keys, n, seen);
        pause_end(&batch);
        for (uint32_t i = 0; i < n; i++) {
            wrong += is_new[i] == seen[i];
            kept += !seen[i];
        }
        if (++batches % SYNC_EVERY == 0) {
            double now = from_proc("/proc/self/status", "RssAnon:") / 1024;

            anonymous = now > anonymous ? now : anonymous;
            pause_begin(&sync);
            set->sync(opened);
            pause_end(&sync);
        }
    }
    set->close(opened);
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - generating;

    printf(
        "%s\t%.1f\t%.0f\t%zu\t%llu\t%.3f\t%.3f\t%.0f\t%.2f\t%.1f\t%.0f\t%.0f\t%.0f\t%.0f\n",
        set->name, (double)at / 1e6, s->distinct * 100, s->memory >> 20, (unsigned long long)wrong,
        cpu / (double)at * 1e6, (seconds(CLOCK_MONOTONIC) - began) / (double)at * 1e6, anonymous,
        disk_used(s->dir) / (double)kept, from_proc("/proc/self/io", "write_bytes:") / (double)kept,
        batch.longest, batch.longest_own, sync.longest, sync.longest_own);
    fflush(stdout);
}

static void measure_apart(const struct set *set, const struct settings *s)
{
    int status = 1;
    pid_t child;

    clean(s->dir);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        measure(set, s);
        exit(0);
    }
    waitpid(child, &status, 0);
    clean(s->dir);
    if (status != 0)
        fail("a run failed");
}

int main(int argc, char **argv)
{
    struct settings s = {.distinct = 0.6, .memory = (size_t)256 << 20, .dir = "exact-bench"};
    char sizes[64] = "1";
    bool peer = false;

    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;

        if (strcmp(argv[i], "--records") == 0 && more)
            snprintf(sizes, sizeof sizes, "%s", argv[++i]);
        else if (strcmp(argv[i], "--distinct") == 0 && more)
            s.distinct = atof(argv[++i]) / 100;
        else if (strcmp(argv[i], "--memory") == 0 && more)
            s.memory = (size_t)atoi(argv[++i]) << 20;
        else if (strcmp(argv[i], "--seconds") == 0 && more)
            s.seconds = atof(argv[++i]);
        else if (strcmp(argv[i], "--peer") == 0)
            peer = true;
        else if (argv[i][0] != '-')
            s.dir = argv[i];
        else
            fail("usage: exact [--records MILLIONS,...] [--distinct PERCENT] [--memory MIB] "
                 "[--peer] [--seconds CPU] DIRECTORY");
    }
    if (peer && sizeof sets / sizeof *sets == 1)
        fail("--peer: built without RocksDB; install librocksdb-dev and build again");
    printf(
        "set\tmillions\tdistinct\tmemory_mib\twrong\tcpu_us\twall_us\tanonymous_mib\tdisk_per_key\t"
        "written_per_key\tlongest_batch_ms\twithout_waiting_ms\tlongest_sync_ms\twithout_waiting_"
        "ms\n");
    for (char *size = strtok(sizes, ","); size; size = strtok(NULL, ","))
        for (size_t i = 0; i < (peer ? sizeof sets / sizeof *sets : 1); i++) {
            s.records = (uint64_t)(atof(size) * 1e6);
            measure_apart(&sets[i], &s);
        }
    return 0;
}
