/* index.c - an exact index whose files were changed, also with right checksums, is opened or
 * refused, and answers or fails; it never crashes.
 *
 * Input: a byte; if it is odd, checksums are made right again, and if its next bit is set, the
 * index is opened for reading. Then edits of 12 bytes: which file, 3 bytes of offset, 8 bytes that
 * are xored; if the offset is behind the end, the file is truncated or extended to it. */
#include "fuzz.h"
#include "input.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weir/hash.h>

#include "index/index.h"
#include "index/manifest.h"
#include "index/page_file.h"

#define MEMORY (64 << 10) /* tables of 798 keys */
#define DAY 86400000ull
#define FILES 24
#define LARGEST (1 << 18)
#define BATCH 400

struct file {
    char name[32];
    size_t size;
    uint8_t bytes[LARGEST];
};

static char dir[40];
static struct file whole[FILES], file[FILES];
static uint32_t files;

static uint64_t hash(uint64_t seed, const void *bytes, size_t n)
{
    return weir_hash_bytes(WEIR_HASH_XXH3, seed, bytes, n).lo;
}

/* ---- the directory ---- */

static void empty_directory(void)
{
    DIR *list = opendir(dir);
    const struct dirent *entry;

    while ((entry = readdir(list)))
        (void)unlinkat(dirfd(list), entry->d_name, 0);
    closedir(list);
}

static void write_files(void)
{
    char path[80];

    empty_directory();
    for (uint32_t i = 0; i < files; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, file[i].name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        require(fd >= 0 && write(fd, file[i].bytes, file[i].size) == (ssize_t)file[i].size);
        close(fd);
    }
}

static void read_files(void)
{
    DIR *list = opendir(dir);
    const struct dirent *entry;

    while ((entry = readdir(list))) {
        struct file *f = &whole[files];
        int fd = openat(dirfd(list), entry->d_name, O_RDONLY);
        ssize_t n = *entry->d_name == '.' ? 0 : read(fd, f->bytes, LARGEST);

        close(fd);
        if (n <= 0)
            continue;
        require(n < LARGEST && ++files < FILES);
        f->size = (size_t)n;
        snprintf(f->name, sizeof f->name, "%.31s", entry->d_name);
    }
    closedir(list);
}

/* ---- the index ---- */

static void observe(struct index *x, uint64_t from, uint64_t time)
{
    struct weir_key keys[BATCH];
    uint64_t times[BATCH];
    uint8_t verdicts[BATCH];

    for (uint64_t i = 0; i < BATCH; i++) {
        keys[i] = (struct weir_key){.hi = (from + i) * 0x9e3779b97f4a7c15ull, .lo = from + i};
        times[i] = time;
    }
    if (exact_ask(x, keys, BATCH, verdicts))
        (void)exact_observe(x, keys, times, 0, BATCH, verdicts);
}

static void run(bool read_only)
{
    struct index_options options = {.memory = MEMORY, .keep = 32 * DAY, .read_only = read_only};
    char why[INDEX_MESSAGE];
    struct index *x = exact_open(dir, &options, why);

    if (!x)
        return;
    for (uint64_t i = 0; i < 6; i++)
        observe(x, i * 350, (40 + i) * DAY);
    (void)exact_commit(x, "note", 5);
    exact_close(x);
}

static void make(void)
{
    snprintf(dir, sizeof dir, "%s/weir-fuzz-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    require(mkdtemp(dir));
    run(false);
    run(false);
    read_files();
}

static void remove_directory(void)
{
    empty_directory();
    (void)rmdir(dir);
}

/* ---- checksums ---- */

static void seal_pages(struct file *f, size_t size)
{
    uint64_t id = strtoull(f->name + 4, NULL, 10);

    for (size_t at = 0; at + PAGE_BYTES <= size; at += PAGE_BYTES) {
        uint64_t page = hash(id, f->bytes + at + 8, PAGE_BYTES - 8);

        memcpy(f->bytes + at, &page, 8);
    }
}

static uint64_t seal_run(struct file *f)
{
    uint64_t sum = 0;
    size_t pages = f->size / (PAGE_BYTES + 8) * PAGE_BYTES;

    seal_pages(f, pages);
    for (size_t at = pages; at < f->size; at += PAGE_BYTES) {
        size_t n = f->size - at < PAGE_BYTES ? f->size - at : PAGE_BYTES;

        sum = hash(sum, f->bytes + at, n);
    }
    return sum;
}

static void seal_manifest(struct file *f)
{
    static struct index_manifest m;
    size_t runs = offsetof(struct index_manifest, run), one = sizeof m.run[0];

    for (uint32_t r = 0; r < INDEX_RUNS && runs + (r + 1) * one <= f->size; r++) {
        uint8_t *at = f->bytes + runs + r * one;

        memcpy(m.run, at, one);
        for (uint32_t i = 0; i < files; i++)
            if (strncmp(file[i].name, "run-", 4) == 0 &&
                strtoull(file[i].name + 4, NULL, 10) == m.run[0].id)
                m.run[0].fence_sum = seal_run(&file[i]);
        memcpy(at, m.run, one);
    }
    if (f->size < 8)
        return;
    uint64_t sum = hash(0, f->bytes, f->size - 8);

    memcpy(f->bytes + f->size - 8, &sum, 8);
}

static void seal(void)
{
    for (uint32_t i = 0; i < files; i++) {
        if (strncmp(file[i].name, "log-", 4) == 0)
            seal_pages(&file[i], file[i].size);
        else if (strcmp(file[i].name, "manifest") == 0)
            seal_manifest(&file[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t mode = byte(&in);

    if (files == 0) {
        make();
        atexit(remove_directory);
    }
    memcpy(file, whole, sizeof file);
    while (in.left >= 12) {
        struct file *f = &file[byte(&in) % files];
        size_t at = byte(&in);

        at = (at | (size_t)byte(&in) << 8 | (size_t)byte(&in) << 16) % LARGEST;
        if (at + 8 > f->size)
            f->size = at;
        for (uint32_t i = 0; i < 8 && at + 8 <= f->size; i++)
            f->bytes[at + i] ^= byte(&in);
    }
    if (mode & 1)
        seal();
    write_files();
    run(mode & 2);
    return 0;
}
