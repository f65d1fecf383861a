/* files.c - weir_save_file(), weir_load_file() and similar functions: files round-trip, and a
 * failure keeps the old file and leaves no temporary file. Each test has its own empty directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/saved.h>
#include <weir/screen.h>
#include <weir/shared.h>
#include <weir/sketch.h>

#include "support/sketches.h"
#include "support/support.h"

#define NOBODY 65534 /* for root, who ignores permissions */

static char directory[64];

static int make_directory(void **state)
{
    strcpy(directory, "/tmp/weir-files-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

struct path {
    char text[400];
};

static struct path in_directory(const char *name)
{
    struct path p;

    snprintf(p.text, sizeof p.text, "%s/%s", directory, name);
    return p;
}

/* Returns the number of files, and removes them on request. */
static size_t files(bool clean)
{
    DIR *d = opendir(directory);
    size_t n = 0;

    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        n++;
        if (clean)
            remove(in_directory(e->d_name).text);
    }
    closedir(d);
    return n;
}

static int remove_directory(void **state)
{
    files(true);
    return rmdir(directory);
}

static weir_filter *small_filter(void)
{
    weir_filter *w = open_filter("bloom memory=4K k=4 seed=1");

    weir_observe_bytes(w, "key", 3);
    return w;
}

static void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void assert_file_holds(const char *path, const weir_filter *w)
{
    struct blob expected = blob_of(w), b = blob_read(path);

    assert_same_blob(expected, b);
    blob_free(b);
    blob_free(expected);
}

static void assert_load_fails(const char *path, int32_t code, const char *problem)
{
    struct weir_error error = {0};
    weir_filter *w = (weir_filter *)directory;

    assert_int_equal(weir_load_file(&w, path, NULL, &error), code / 100);
    assert_null(w);
    assert_int_equal(error.code, code);
    assert_int_equal(error.status, code / 100);
    if (!strstr(error.text, problem))
        fail_msg("'%s' does not contain '%s'", error.text, problem);
    assert_int_equal(weir_load_file(&w, path, NULL, NULL), code / 100);
}

static void assert_save_fails(const char *path, const char *problem)
{
    weir_filter *w = small_filter();
    struct weir_error error = {0};

    assert_int_equal(weir_save_file(w, path, &error), WEIR_WRITE_FAILED);
    assert_int_equal(error.code, WEIR_ERROR_WRITE_FAILED);
    if (!strstr(error.text, problem))
        fail_msg("'%s' does not contain '%s'", error.text, problem);
    assert_int_equal(weir_save_file(w, path, NULL), WEIR_WRITE_FAILED);
    weir_close(w);
}

/* ---- round trips ---- */

static void round_trip(const weir_filter *w)
{
    struct path p = in_directory("f");
    weir_filter *again;

    assert_int_equal(weir_save_file(w, p.text, NULL), WEIR_OK);
    assert_file_holds(p.text, w);
    assert_int_equal(weir_load_file(&again, p.text, NULL, NULL), WEIR_OK);
    assert_same_state(w, again);
    weir_close(again);
    assert_int_equal(files(false), 1);
}

/* A small spec of each algorithm. */
struct spec {
    char text[64];
};

static struct spec small(enum weir_kind kind, const char *name)
{
    bool takes_memory = weir_find_parameter(kind, name, "memory");
    struct spec s;

    snprintf(s.text, sizeof s.text, "%s seed=1%s", name, takes_memory ? " memory=16K" : "");
    return s;
}

static void every_algorithm_round_trips(void **state)
{
    const struct weir_algorithm *a;
    struct path path = in_directory("f");

    for (size_t i = 0; (a = weir_algorithm_at(WEIR_KIND_FILTER, i)); i++) {
        struct weir_key keys[300];
        struct spec spec = small(WEIR_KIND_FILTER, a->name);

        for (size_t k = 0; k < 300; k++)
            keys[k] =
                (struct weir_key){.lo = k * 0x9e3779b97f4a7c15u, .hi = k * 0xc2b2ae3d27d4eb4fu};
        weir_filter *w =
            can_learn(a->name) ? open_filter(spec.text) : built_filter(spec.text, keys, 300);
        round_trip(w);
        weir_close(w);
    }
    for (size_t i = 0; (a = weir_algorithm_at(WEIR_KIND_SKETCH, i)); i++) {
        weir_sketch *s = open_sketch(small(WEIR_KIND_SKETCH, a->name).text), *again;

        weir_sketch_add(s, (struct weir_bytes){"key", 3}, 7);
        assert_int_equal(weir_sketch_save_file(s, path.text, NULL), WEIR_OK);
        assert_int_equal(weir_sketch_load_file(&again, path.text, NULL, NULL), WEIR_OK);
        assert_same_sketch(s, again);
        weir_sketch_close(again);
        weir_sketch_close(s);
    }
    for (size_t i = 0; (a = weir_algorithm_at(WEIR_KIND_SCREEN, i)); i++) {
        weir_screen *s, *again;
        struct blob saved = {NULL, 0}, then = {NULL, 0};

        assert_int_equal(weir_screen_open(&s, small(WEIR_KIND_SCREEN, a->name).text, NULL),
                         WEIR_OK);
        weir_screen_add_members(s, &(struct weir_bytes){"key", 3}, 1);
        assert_int_equal(weir_screen_save_file(s, path.text, NULL), WEIR_OK);
        assert_int_equal(weir_screen_load_file(&again, path.text, NULL, NULL), WEIR_OK);
        assert_int_equal(weir_screen_save_stream(s, blob_sink, &saved, NULL), WEIR_OK);
        assert_int_equal(weir_screen_save_stream(again, blob_sink, &then, NULL), WEIR_OK);
        assert_same_blob(saved, then);
        blob_free(saved);
        blob_free(then);
        weir_screen_close(again);
        weir_screen_close(s);
    }
    assert_int_equal(files(false), 1);
}

static void the_shards_of_every_filter_round_trip(void **state)
{
    struct path p = in_directory("f");
    const struct weir_algorithm *a;
    weir_shared *s, *again;

    for (size_t i = 0; (a = weir_algorithm_at(WEIR_KIND_FILTER, i)); i++) {
        if (!can_learn(a->name))
            continue;
        assert_int_equal(weir_shared_open(&s, small(WEIR_KIND_FILTER, a->name).text, 3, NULL, NULL),
                         WEIR_OK);
        for (uint32_t k = 0; k < 500; k++)
            weir_shared_observe(s, weir_shared_hash(s, &k, sizeof k));
        assert_int_equal(weir_shared_save_file(s, p.text, NULL), WEIR_OK);
        assert_int_equal(weir_shared_load_file(&again, p.text, NULL, NULL), WEIR_OK);
        assert_int_equal(weir_shared_shards(again), 3);
        for (uint32_t k = 0; k < 3; k++)
            assert_same_state(weir_shared_shard(s, k), weir_shared_shard(again, k));
        weir_shared_close(again);
        weir_shared_close(s);
    }
    assert_int_equal(files(false), 1);
}

/* ---- file contents ---- */

static void notes_are_skipped(void **state)
{
    weir_filter *w = small_filter(), *again;
    struct path p = in_directory("f");
    struct blob b = {NULL, 0};
    weir_shared *s;
    static char note[10000];

    assert_int_equal(weir_part_write(WEIR_PART_NOTE, "a", 1, blob_sink, &b, NULL), WEIR_OK);
    assert_int_equal(weir_part_write(WEIR_PART_NOTE, note, sizeof note, blob_sink, &b, NULL),
                     WEIR_OK);
    size_t notes = b.size;
    assert_int_equal(weir_save_stream(w, blob_sink, &b, NULL), WEIR_OK);
    size_t whole = b.size;
    assert_true(blob_sink(&b, "damaged", 7));
    write_bytes(p.text, b.data, b.size);
    assert_int_equal(weir_load_file(&again, p.text, NULL, NULL), WEIR_OK);
    assert_same_state(w, again);
    weir_close(again);
    assert_int_equal(weir_shared_load_file(&s, p.text, NULL, NULL), WEIR_OK);
    assert_int_equal(weir_shared_shards(s), 1);
    assert_same_state(w, weir_shared_shard(s, 0));
    weir_shared_close(s);
    write_bytes(p.text, b.data, notes);
    assert_load_fails(p.text, WEIR_ERROR_WRONG_KIND, "f: the file contains only notes");
    write_bytes(p.text, b.data, notes - 1);
    assert_load_fails(p.text, WEIR_ERROR_TRUNCATED, "f: the data is truncated");
    write_bytes(p.text, b.data, whole - 1);
    assert_load_fails(p.text, WEIR_ERROR_TRUNCATED, "f: the data is truncated");
    b.data[whole - 70] ^= 1;
    write_bytes(p.text, b.data, whole);
    assert_load_fails(p.text, WEIR_ERROR_CHECKSUM, "f: the data is damaged");
    blob_free(b);
    weir_close(w);
}

/* Truncated to every length: the right error. */
static void a_truncated_file_is_refused(void **state)
{
    weir_filter *w = open_filter("bloom memory=64 k=1 seed=1");
    struct path p = in_directory("f");
    struct blob b = blob_of(w);

    write_bytes(p.text, "", 0);
    assert_load_fails(p.text, WEIR_ERROR_TRUNCATED, "f: the file is empty");
    for (size_t n = 1; n < b.size; n++) {
        write_bytes(p.text, b.data, n);
        assert_load_fails(p.text, n < 4 ? WEIR_ERROR_NOT_WEIR : WEIR_ERROR_TRUNCATED, "f: ");
    }
    write_bytes(p.text, "short text", 10);
    assert_load_fails(p.text, WEIR_ERROR_NOT_WEIR, "f: this is not saved by weir");
    blob_free(b);
    weir_close(w);
}

static void a_file_of_another_kind_is_refused(void **state)
{
    weir_sketch *s = open_sketch("count-min memory=1K seed=1"), *again;
    struct path p = in_directory("f");
    struct weir_error error = {0};
    weir_shared *shards;

    assert_int_equal(weir_sketch_save_file(s, p.text, NULL), WEIR_OK);
    assert_load_fails(p.text, WEIR_ERROR_WRONG_KIND, "f: this part is not a filter");
    weir_sketch_close(s);
    assert_int_equal(weir_shared_open(&shards, "bloom memory=4K k=4 seed=1", 2, NULL, NULL), 0);
    assert_int_equal(weir_shared_save_file(shards, p.text, NULL), WEIR_OK);
    assert_load_fails(p.text, WEIR_ERROR_ONE_SHARD, "weir_shared_load_file()");
    assert_int_equal(weir_sketch_load_file(&again, p.text, NULL, &error), WEIR_BAD_DATA);
    weir_shared_close(shards);
}

/* The second of two parts is damaged: the first is freed. */
static void a_damaged_shard_is_refused(void **state)
{
    struct weir_error error = {0};
    struct path p = in_directory("f");
    weir_shared *s;

    assert_int_equal(weir_shared_open(&s, "bloom memory=4K k=4 seed=1", 2, NULL, NULL), WEIR_OK);
    assert_int_equal(weir_shared_save_file(s, p.text, NULL), WEIR_OK);
    weir_shared_close(s);
    struct blob b = blob_read(p.text);
    write_bytes(p.text, b.data, b.size / 2);
    assert_int_equal(weir_shared_load_file(&s, p.text, NULL, &error), WEIR_BAD_DATA);
    assert_int_equal(error.code, WEIR_ERROR_TRUNCATED);
    b.data[b.size - 70] ^= 1;
    write_bytes(p.text, b.data, b.size);
    assert_int_equal(weir_shared_load_file(&s, p.text, NULL, &error), WEIR_BAD_DATA);
    assert_int_equal(error.code, WEIR_ERROR_CHECKSUM);
    assert_null(s);
    blob_free(b);
}

static void a_limit_of_memory_is_kept(void **state)
{
    struct weir_options options = {.size = sizeof options, .max_bytes = 1000};
    weir_filter *w = small_filter();
    struct path p = in_directory("f");
    struct weir_error error = {0};
    weir_shared *s;

    assert_int_equal(weir_save_file(w, p.text, NULL), WEIR_OK);
    weir_close(w);
    assert_int_equal(weir_load_file(&w, p.text, &options, &error), WEIR_NO_MEMORY);
    assert_int_equal(error.code, WEIR_ERROR_MAX_BYTES);
    assert_int_equal(weir_shared_load_file(&s, p.text, &options, &error), WEIR_NO_MEMORY);
    assert_int_equal(error.code, WEIR_ERROR_MAX_BYTES);
}

/* ---- paths ---- */

static void paths_that_cannot_be(void **state)
{
    struct path link = in_directory("link"), fifo = in_directory("fifo");
    char long_path[5000];

    assert_load_fails(in_directory("none").text, WEIR_ERROR_FILE_NOT_FOUND,
                      "none: no such file or directory");
    assert_load_fails(directory, WEIR_ERROR_READ_FAILED, ": it is a directory");
    assert_save_fails(in_directory("none/f").text, "none/f: no such file or directory");
    assert_save_fails(directory, ": it is a directory; add the name of a file");
    assert_save_fails("", "cannot save : no such file or directory");
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    long_path[4998] = '\n';
    assert_save_fails(long_path, "xx?: name too long");
    assert_int_equal(symlink("nowhere", link.text), 0);
    assert_save_fails(link.text, "link: it is a symbolic link to a file that does not exist");
    assert_int_equal(mkfifo(fifo.text, 0600), 0);
    assert_save_fails(fifo.text, "fifo: it is not a regular file");
    assert_int_equal(files(false), 2);
}

static void a_directory_without_permission_is_refused(void **state)
{
    weir_filter *w = small_filter();
    struct path p = in_directory("f");
    bool root = geteuid() == 0;

    assert_int_equal(weir_save_file(w, p.text, NULL), WEIR_OK);
    assert_int_equal(chmod(p.text, 0), 0);
    assert_int_equal(chmod(directory, 0555), 0);
    assert_false(root && seteuid(NOBODY) != 0);
    assert_save_fails(p.text, "f: permission denied");
    assert_load_fails(p.text, WEIR_ERROR_READ_FAILED, "f: permission denied");
    assert_false(root && seteuid(0) != 0);
    assert_int_equal(chmod(directory, 0700), 0);
    assert_int_equal(chmod(p.text, 0600), 0);
    assert_file_holds(p.text, w);
    weir_close(w);
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void permissions_are_kept(void **state)
{
    weir_filter *w = small_filter();
    struct path p = in_directory("f");
    mode_t mask = umask(027);

    assert_int_equal(weir_save_file(w, p.text, NULL), WEIR_OK);
    assert_int_equal(mode_of(p.text), 0640);
    assert_int_equal(chmod(p.text, 0604), 0);
    assert_int_equal(weir_save_file(w, p.text, NULL), WEIR_OK);
    assert_int_equal(mode_of(p.text), 0604);
    umask(mask);
    weir_close(w);
}

static void a_symbolic_link_is_followed(void **state)
{
    weir_filter *w = small_filter(), *again;
    struct path file = in_directory("file"), link = in_directory("link"), two = in_directory("two");
    struct stat st;

    write_bytes(file.text, "old", 3);
    assert_int_equal(symlink("file", link.text), 0);
    assert_int_equal(symlink(link.text, two.text), 0);
    assert_int_equal(weir_save_file(w, two.text, NULL), WEIR_OK);
    assert_file_holds(file.text, w);
    assert_int_equal(lstat(two.text, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(weir_load_file(&again, two.text, NULL, NULL), WEIR_OK);
    weir_close(again);
    assert_int_equal(files(false), 3);
    weir_close(w);
}

static void a_relative_path_will_do(void **state)
{
    weir_filter *w = small_filter();
    int here = open(".", O_RDONLY | O_DIRECTORY);

    assert_int_equal(chdir(directory), 0);
    assert_int_equal(weir_save_file(w, "f", NULL), WEIR_OK);
    assert_int_equal(weir_save_file(w, "f", NULL), WEIR_OK);
    assert_file_holds("f", w);
    assert_int_equal(fchdir(here), 0);
    close(here);
    assert_int_equal(files(false), 1);
    weir_close(w);
}

/* ---- failed writes ---- */

/* Like a full disk: writing fails after any number of bytes. */
static void a_failed_write_leaves_the_old_file(void **state)
{
    weir_filter *old = small_filter(), *w = open_filter("bloom memory=100K k=4 seed=2");
    struct path p = in_directory("f"), absent = in_directory("absent");
    struct rlimit limit, none;
    struct weir_error error;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(weir_save_file(old, p.text, NULL), WEIR_OK);
    for (rlim_t at = 0; at < weir_saved_size(w); at += 10007) {
        limit = (struct rlimit){at, none.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        int one = weir_save_file(w, p.text, &error), other = weir_save_file(w, absent.text, NULL);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
        assert_int_equal(one, WEIR_WRITE_FAILED);
        assert_int_equal(other, WEIR_WRITE_FAILED);
        assert_non_null(strstr(error.text, "f: file too large"));
        assert_file_holds(p.text, old);
        assert_int_equal(files(false), 1);
    }
    assert_int_equal(weir_save_file(w, p.text, NULL), WEIR_OK);
    assert_file_holds(p.text, w);
    weir_close(w);
    weir_close(old);
}

#define file_test(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        file_test(every_algorithm_round_trips),
        file_test(the_shards_of_every_filter_round_trip),
        file_test(notes_are_skipped),
        file_test(a_truncated_file_is_refused),
        file_test(a_file_of_another_kind_is_refused),
        file_test(a_damaged_shard_is_refused),
        file_test(a_limit_of_memory_is_kept),
        file_test(paths_that_cannot_be),
        file_test(a_directory_without_permission_is_refused),
        file_test(permissions_are_kept),
        file_test(a_symbolic_link_is_followed),
        file_test(a_relative_path_will_do),
        file_test(a_failed_write_leaves_the_old_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
