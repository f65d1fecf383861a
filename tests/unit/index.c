/* index.c - the exact index against a model in memory: every verdict must be right, before and
 * after commits, kills, damage and write errors. Memory is so small that tables are written and
 * merged all the time. */
#include "support/support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "index/index.h"

#define TINY (256 << 10) /* tables of 1,597 keys, and no filters */
#define SMALL (6 << 20)  /* tables of 25,559 keys, filters for 500,000 */
#define IDS (1 << 20)
#define BATCH 1000
#define LIMIT (13 << 20) /* bytes of disk: less than 1.2 million keys */
#define DAY 86400000ull

static char dir[64];

static int make_directory(void **state)
{
    snprintf(dir, sizeof dir, "%s/weir-index-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_directory(void **state)
{
    char command[100];

    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    return x ^ x >> 32;
}

static struct weir_key key_of(uint64_t id)
{
    return (struct weir_key){.hi = mix(id + 1), .lo = mix(id + (1ull << 40))};
}

static struct index *open_with(struct index_options options)
{
    char why[INDEX_MESSAGE] = "";
    struct index *x = exact_open(dir, &options, why);

    if (!x)
        fail_msg("%s", why);
    return x;
}

static bool commit(struct index *x, const void *note, size_t size)
{
    return exact_commit(x, note, size) && exact_settle(x);
}

static void assert_refused_open(struct index_options options, const char *expected)
{
    char why[INDEX_MESSAGE] = "";

    assert_null(exact_open(dir, &options, why));
    if (!strstr(why, expected))
        fail_msg("'%s' lacks '%s'", why, expected);
}

/* ---- the model ---- */

struct model {
    uint64_t seen[IDS]; /* slot of keep / 32 when it was passed, and 1; 0: not yet */
    uint64_t width, slot;
    uint64_t random;
};

static struct model *new_model(uint64_t seed, uint64_t keep)
{
    struct model *m = calloc(1, sizeof *m);

    assert_non_null(m);
    m->random = seed;
    m->width = keep / 32;
    return m;
}

static uint64_t draw(struct model *m, uint64_t below)
{
    m->random = mix(m->random + 0x9e3779b97f4a7c15ull);
    return m->random % below;
}

static bool model_is_new(struct model *m, uint64_t id, uint64_t time)
{
    uint64_t slot = m->width ? time / m->width : 0;

    m->slot = slot > m->slot ? slot : m->slot;
    if (m->seen[id] && (!m->width || m->slot < m->seen[id] - 1 + 33))
        return false;
    m->seen[id] = m->slot + 1;
    return true;
}

/* A batch of random ids, half of them from among the first few. */
static void observe(struct index *x, struct model *m, uint64_t ids, uint64_t time)
{
    struct weir_key keys[BATCH];
    uint64_t id[BATCH], times[BATCH];
    uint8_t verdicts[BATCH];

    for (uint32_t i = 0; i < BATCH; i++) {
        id[i] = draw(m, draw(m, 2) ? ids : ids / 50 + 1);
        keys[i] = key_of(id[i]);
        times[i] = time;
    }
    if (!exact_observe(x, keys, m->width ? times : NULL, 0, BATCH, verdicts))
        fail_msg("%s", exact_failure(x));
    for (uint32_t i = 0; i < BATCH; i++)
        assert_int_equal(verdicts[i], model_is_new(m, id[i], time) ? WEIR_NEW : WEIR_SEEN);
}

/* ---- verdicts ---- */

static void verdicts_are_those_of_a_model(void **state)
{
    static const size_t memory[] = {TINY, SMALL};

    for (size_t i = 0; i < 2; i++) {
        struct index *x = open_with((struct index_options){.memory = memory[i]});
        struct model *m = new_model(i, 0);
        size_t batches = sized(i ? 1000 : 200);

        for (size_t b = 0; b < batches; b++)
            observe(x, m, i ? 600000 : 60000, 0);
        assert_true(exact_figures(x).runs > 0);
        exact_close(x);
        free(m);
    }
}

static void a_key_of_zeros_is_a_key(void **state)
{
    struct weir_key keys[] = {{.hi = 0, .lo = 0}, {.hi = 0, .lo = 1}, {.hi = 0, .lo = 0}};
    struct index *x = open_with((struct index_options){.memory = TINY});
    uint8_t verdicts[3];

    assert_true(exact_observe(x, keys, NULL, 0, 3, verdicts));
    assert_int_equal(verdicts[0], WEIR_NEW);
    assert_int_equal(verdicts[1], WEIR_NEW);
    assert_int_equal(verdicts[2], WEIR_SEEN);
    exact_close(x);
}

/* Keys of equal hi fill several pages: they are at the end of one page and the start of the next.
 */
static void keys_that_differ_in_lo_only(void **state)
{
    static const uint64_t his[] = {0, 1, 1ull << 63, UINT64_MAX};
    struct index *x = open_with((struct index_options){.memory = SMALL});
    struct model *m = new_model(1, 0);
    uint8_t verdicts[4];

    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t lo = 2; lo < 3000; lo++) {
            struct weir_key keys[4];

            for (uint32_t i = 0; i < 4; i++)
                keys[i] = (struct weir_key){.hi = his[i], .lo = lo};
            assert_true(exact_observe(x, keys, NULL, 0, 4, verdicts));
            for (uint32_t i = 0; i < 4; i++)
                assert_int_equal(verdicts[i], round ? WEIR_SEEN : WEIR_NEW);
        }
        for (uint32_t b = 0; b < 60; b++) /* writes them to runs */
            observe(x, m, 100000, 0);
    }
    exact_close(x);
    free(m);
}

/* The slots of a table end where many keys select the last ones. */
static void keys_of_one_slot(void **state)
{
    struct index *x = open_with((struct index_options){.memory = SMALL});
    uint8_t verdict;

    for (uint32_t round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 20000; i++) {
            struct weir_key key = {.hi = UINT64_MAX - mix(i) % 1000, .lo = i};

            assert_true(exact_observe(x, &key, NULL, 0, 1, &verdict));
            assert_int_equal(verdict, round ? WEIR_SEEN : WEIR_NEW);
        }
    exact_close(x);
}

/* Far more keys in a call than a table holds: each occurs twice, at a distance of two tables. */
static void repeats_within_a_large_batch(void **state)
{
    enum { KEYS = 20000, DISTANCE = 3500 };
    struct index *x = open_with((struct index_options){.memory = TINY});
    static struct weir_key keys[2 * KEYS];
    static uint8_t verdicts[2 * KEYS];
    static bool expected[2 * KEYS];
    uint32_t n = 0;

    for (uint32_t i = 0; i < KEYS + DISTANCE; i++) {
        if (i < KEYS) {
            expected[n] = true;
            keys[n++] = key_of(i);
        }
        if (i >= DISTANCE)
            keys[n++] = key_of(i - DISTANCE);
    }
    assert_true(exact_observe(x, keys, NULL, 0, n, verdicts));
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(verdicts[i], expected[i] ? WEIR_NEW : WEIR_SEEN);
    exact_close(x);
}

static void asking_does_not_add(void **state)
{
    struct index *x = open_with((struct index_options){.memory = TINY});
    struct weir_key key = key_of(1);
    uint8_t verdict;

    assert_true(exact_ask(x, &key, 1, &verdict) && verdict == WEIR_NEW);
    assert_true(exact_observe(x, &key, NULL, 0, 1, &verdict) && verdict == WEIR_NEW);
    assert_true(exact_ask(x, &key, 1, &verdict) && verdict == WEIR_SEEN);
    exact_close(x);
}

/* ---- forgetting ---- */

static void keys_are_kept_and_then_forgotten(void **state)
{
    struct index *x = open_with((struct index_options){.memory = TINY, .keep = 32 * DAY});
    struct model *m = new_model(2, 32 * DAY);
    uint64_t time = 20000 * DAY;

    for (size_t b = 0; b < sized(1000); b++) {
        observe(x, m, 20000, time);
        time += draw(m, 20) ? draw(m, DAY / 2) : draw(m, 3) ? 0 : draw(m, 40 * DAY);
        if (draw(m, 50) == 0) {
            assert_true(commit(x, "", 0));
            exact_close(x);
            x = open_with((struct index_options){.memory = TINY});
        }
    }
    assert_true(exact_figures(x).dropped > 0);
    exact_close(x);
    free(m);
}

/* Within one batch, too; and a time that goes backwards counts as the newest. */
static void times_within_a_batch(void **state)
{
    struct index *x = open_with((struct index_options){.memory = TINY, .keep = 32 * DAY});
    uint64_t times[] = {DAY, 33 * DAY, 2 * DAY, 34 * DAY - 1, 34 * DAY};
    struct weir_key keys[5];
    uint8_t verdicts[5];

    for (uint32_t i = 0; i < 5; i++)
        keys[i] = key_of(7);
    assert_true(exact_observe(x, keys, times, 0, 5, verdicts));
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(verdicts[i], i == 0 || i == 4 ? WEIR_NEW : WEIR_SEEN);
    exact_close(x);
}

static uint64_t bytes_on_disk(void)
{
    DIR *list = opendir(dir);
    const struct dirent *entry;
    uint64_t sum = 0;
    struct stat st;

    while ((entry = readdir(list)))
        if (fstatat(dirfd(list), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
            sum += (uint64_t)st.st_size;
    closedir(list);
    return sum;
}

static void a_limit_of_disk_drops_the_oldest(void **state)
{
    struct index *x = open_with((struct index_options){.memory = SMALL, .disk = LIMIT});
    struct weir_key keys[BATCH];
    uint8_t verdicts[BATCH];
    uint64_t n = 0, kept = 0;

    for (size_t b = 0; b < 1200; b++) {
        for (uint32_t i = 0; i < BATCH; i++)
            keys[i] = key_of(n++);
        assert_true(exact_observe(x, keys, NULL, 0, BATCH, verdicts));
        if (b % 32)
            continue;
        assert_true(commit(x, "", 0));
        assert_in_range(bytes_on_disk(), 0, LIMIT);
    }
    assert_true(exact_figures(x).disk_drops > 0);
    for (uint64_t id = 0; id < n;
         id += 10 * BATCH) { /* ascending: all old ones are new, then none */
        for (uint32_t i = 0; i < BATCH; i++)
            keys[i] = key_of(id + i);
        assert_true(exact_ask(x, keys, BATCH, verdicts));
        for (uint32_t i = 0; i < BATCH; i++) {
            assert_true(kept == 0 || verdicts[i] == WEIR_SEEN);
            kept += verdicts[i] == WEIR_SEEN;
        }
    }
    assert_in_range(kept * 10 * 16, LIMIT / 2, LIMIT); /* at least half of the disk is used */
    exact_close(x);
}

/* ---- commits ---- */

static void what_is_not_committed_is_forgotten(void **state)
{
    struct model *m = new_model(3, 0), *committed = new_model(3, 0);
    uint64_t round = 0;

    for (; round < sized(100); round++) {
        struct index *x = open_with((struct index_options){.memory = TINY});
        size_t size;
        const uint64_t *note = exact_note(x, &size);

        assert_int_equal(size, round ? sizeof *note : 0);
        assert_true(round == 0 || *note == round - 1);
        for (uint64_t b = draw(m, 8); b > 0; b--)
            observe(x, m, 50000, 0);
        assert_true(commit(x, &round, sizeof round));
        *committed = *m;
        for (uint64_t b = draw(m, 8); b > 0; b--)
            observe(x, m, 50000, 0);
        exact_close(x);
        *m = *committed;
    }
    free(m);
    free(committed);
}

/* A child observes batch after batch, and commits each with its number, until it is killed; in
 * every other round after a commit. */
static void after_a_kill_it_continues_from_the_last_commit(void **state)
{
    struct model *m = new_model(4, 0);
    uint64_t done = 0, size;
    atomic_uint *commits =
        mmap(NULL, sizeof *commits, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    for (size_t round = 0; round < sized(100); round++) {
        atomic_store(commits, 0);
        pid_t child = fork();

        if (child == 0) {
            struct index *x = open_with((struct index_options){.memory = TINY});

            for (uint64_t b = done + 1;; b++) {
                m->random = b;
                observe(x, m, 200000, 0);
                if (!commit(x, &b, sizeof b))
                    _exit(1);
                atomic_fetch_add(commits, 1);
            }
        }
        while (round % 2 == 0 && atomic_load(commits) == 0)
            usleep(100);
        usleep((useconds_t)(mix(round) % 30000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        struct index *x = open_with((struct index_options){.memory = TINY});
        const uint64_t *note = exact_note(x, &size);
        uint64_t last = size ? *note : 0;

        assert_true(last >= done);
        for (; done < last; done++) { /* what the child did */
            m->random = done + 1;
            for (uint32_t i = 0; i < BATCH; i++)
                model_is_new(m, draw(m, draw(m, 2) ? 200000 : 4001), 0);
        }
        m->random = ++done;
        observe(x, m, 200000, 0);
        assert_true(commit(x, &done, sizeof done));
        exact_close(x);
    }
    assert_true(done > sized(100));
    munmap(commits, sizeof *commits);
    free(m);
}

static void a_second_writer_is_refused_and_a_reader_is_not(void **state)
{
    struct index *x = open_with((struct index_options){.memory = TINY});
    struct model *m = new_model(5, 0);

    assert_refused_open((struct index_options){.memory = TINY}, "in use by another process");
    assert_refused_open((struct index_options){.memory = TINY, .read_only = true},
                        "not an exact index");
    for (size_t b = 0; b < 20; b++) {
        struct weir_key key = key_of(b + IDS);
        uint8_t verdict;

        observe(x, m, 50000, 0);
        assert_true(exact_observe(x, &key, NULL, 0, 1, &verdict));
        assert_true(commit(x, "", 0));
        struct index *reader = open_with((struct index_options){.memory = TINY, .read_only = true});
        for (uint64_t id = 0; id < 50000; id += 97) {
            key = key_of(id);
            assert_true(exact_ask(reader, &key, 1, &verdict));
            assert_int_equal(verdict, m->seen[id] ? WEIR_SEEN : WEIR_NEW);
        }
        assert_false(exact_observe(reader, &key, NULL, 0, 1, &verdict));
        exact_close(reader);
    }
    exact_close(x);
    free(m);
}

/* ---- wrong directories, damage, write errors ---- */

static void write_to(const char *name, const char *text)
{
    char path[120];
    FILE *out;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    out = fopen(path, "w");
    assert_true(out && fputs(text, out) >= 0 && fclose(out) == 0);
}

static void other_directories_are_left_alone(void **state)
{
    assert_refused_open((struct index_options){.memory = TINY, .read_only = true},
                        "no file manifest");
    write_to("log-2024.txt", "x"); /* looks like a log, but is not deleted */
    write_to("run-tests.sh", "x");
    assert_refused_open((struct index_options){.memory = TINY}, "; name a new directory");
    assert_int_equal(bytes_on_disk(), 2);
    write_to("manifest", "weirinx9 of a later version, which has other numbers in other places: "
                         "at least a hundred bytes of them, so that it is long enough");
    assert_refused_open((struct index_options){.memory = TINY}, "another version of weir");
    write_to("manifest", "hello");
    assert_refused_open((struct index_options){.memory = TINY}, "not the manifest");
}

static void copy_directory(const char *from, const char *to)
{
    char command[400];

    snprintf(command, sizeof command, "rm -rf %s && cp -r %s %s", to, from, to);
    assert_int_equal(system(command), 0);
}

static void damage(const char *path, uint64_t at, bool cut)
{
    int fd = open(path, O_RDWR);
    uint8_t byte = 0;

    assert_true(fd >= 0);
    if (cut) {
        assert_int_equal(ftruncate(fd, (off_t)at), 0);
    } else {
        assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
        byte ^= (uint8_t)(1 << at % 8);
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    }
    close(fd);
}

static bool all_right(const struct model *m)
{
    char why[INDEX_MESSAGE];
    struct index *x = exact_open(dir, &(struct index_options){.memory = SMALL}, why);
    struct weir_key keys[BATCH];
    uint8_t verdicts[BATCH];
    bool refused = !x;

    for (uint64_t id = 0; !refused && id < 30000; id += BATCH) {
        for (uint32_t i = 0; i < BATCH; i++)
            keys[i] = key_of(id + i);
        refused = !exact_ask(x, keys, BATCH, verdicts);
        for (uint32_t i = 0; !refused && i < BATCH; i++)
            assert_int_equal(verdicts[i], m->seen[id + i] ? WEIR_SEEN : WEIR_NEW);
    }
    if (refused && x)
        snprintf(why, sizeof why, "%s", exact_failure(x));
    if (refused && !strstr(why, "damaged") && !strstr(why, "manifest") &&
        !strstr(why, "No such file"))
        fail_msg("%s", why);
    exact_close(x);
    return !refused;
}

/* One byte changed, the file cut or deleted: a message, never a wrong verdict. */
static void damage_is_found(void **state)
{
    struct index *x = open_with((struct index_options){.memory = TINY});
    struct model *m = new_model(6, 0);
    char whole[72], path[600];
    const struct dirent *entry;
    uint32_t refused = 0, tried = 0;

    for (size_t b = 0; b < 30; b++)
        observe(x, m, 30000, 0);
    assert_true(commit(x, "1", 2));
    observe(x, m, 30000, 0);
    assert_true(commit(x, "2", 2));
    observe(x, m, 100, 0);
    assert_true(commit(x, "3", 2));
    exact_close(x);
    assert_true(all_right(m));
    snprintf(whole, sizeof whole, "%s.whole", dir);
    copy_directory(dir, whole);
    for (uint32_t i = 0; i < sized(200); i++) {
        DIR *list = opendir(whole);
        struct stat st = {.st_size = 0};

        for (uint32_t skip = (uint32_t)draw(m, 12); (entry = readdir(list)) && skip > 0; skip--)
            ;
        snprintf(path, sizeof path, "%s/%s", dir, entry ? entry->d_name : "lock");
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
            tried++;
            if (draw(m, 10) == 0)
                assert_int_equal(unlink(path), 0);
            else
                damage(path, draw(m, (uint64_t)st.st_size), draw(m, 2));
            refused += !all_right(m);
            copy_directory(whole, dir);
        }
        closedir(list);
    }
    assert_true(tried > 0 && refused >= tried * 9 / 10);
    snprintf(path, sizeof path, "rm -rf %s", whole);
    assert_int_equal(system(path), 0);
    free(m);
}

/* A write that fails, wherever it is, leaves the last commit. */
static void a_full_disk_leaves_the_last_commit(void **state)
{
    struct model *m = new_model(7, 0);
    struct rlimit unlimited, limited;
    uint32_t failures = 0;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &unlimited);
    for (size_t round = 0; round < sized(30); round++) {
        struct model *before = new_model(0, 0);
        struct index *x = open_with((struct index_options){.memory = TINY});
        struct weir_key keys[BATCH];
        uint8_t verdicts[BATCH];
        bool ok = true;

        *before = *m;
        limited = unlimited;
        limited.rlim_cur = 1000 + 6000 * round;
        setrlimit(RLIMIT_FSIZE, &limited);
        for (uint32_t b = 0; ok && b < 40; b++) {
            uint64_t id[BATCH];

            for (uint32_t i = 0; i < BATCH; i++) {
                id[i] = draw(m, IDS);
                keys[i] = key_of(id[i]);
            }
            ok = exact_observe(x, keys, NULL, 0, BATCH, verdicts);
            for (uint32_t i = 0; ok && i < BATCH; i++)
                assert_int_equal(verdicts[i], model_is_new(m, id[i], 0) ? WEIR_NEW : WEIR_SEEN);
            ok = ok && (b % 8 || commit(x, "", 0));
            if (ok && b % 8 == 0)
                *before = *m;
        }
        failures += !ok;
        if (!ok)
            assert_non_null(strstr(exact_failure(x), "cannot write"));
        setrlimit(RLIMIT_FSIZE, &unlimited);
        exact_close(x);
        before->random = m->random;
        *m = *before;
        free(before);
        x = open_with((struct index_options){.memory = TINY});
        observe(x, m, IDS, 0);
        assert_true(commit(x, "", 0));
        exact_close(x);
    }
    assert_true(failures > sized(30) / 4);
    free(m);
}

int main(void)
{
#define index_test(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)
    const struct CMUnitTest cases[] = {
        index_test(verdicts_are_those_of_a_model),
        index_test(a_key_of_zeros_is_a_key),
        index_test(keys_that_differ_in_lo_only),
        index_test(keys_of_one_slot),
        index_test(repeats_within_a_large_batch),
        index_test(asking_does_not_add),
        index_test(keys_are_kept_and_then_forgotten),
        index_test(times_within_a_batch),
        index_test(a_limit_of_disk_drops_the_oldest),
        index_test(what_is_not_committed_is_forgotten),
        index_test(after_a_kill_it_continues_from_the_last_commit),
        index_test(a_second_writer_is_refused_and_a_reader_is_not),
        index_test(other_directories_are_left_alone),
        index_test(damage_is_found),
        index_test(a_full_disk_leaves_the_last_commit),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
