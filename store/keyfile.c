/* keyfile.c - keys:FILE, a file of keys, one per line (or NUL-terminated).
 *
 * One that is sorted bytewise is searched where it lies, by halves, so that it
 * takes no memory; of any other a table is made, 16 bytes per key. Either way
 * the file must not change while it is in use.
 *
 * latency=1ms makes every call take as long as if a server were asked, and batch=50
 * makes as many calls of a batch as if it took 50 keys at a time. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "key_index.h"
#include "backend.h"

#define LISTED 1024 /* keys at once */

struct keyfile {
    char *path;
    char *data;
    size_t size;
    size_t mapped; /* bytes, if data is the file itself */
    size_t keys;
    char end; /* of a key */
    bool ready, sorted;
    double latency;
    unsigned long batch; /* keys of one call */
    struct key_index index;
};

static struct weir_bytes key_at(const void *context, uint64_t at)
{
    const struct keyfile *f = context;
    const char *stop = memchr(f->data + at, f->end, f->size - at);

    return (struct weir_bytes){f->data + at, stop ? (size_t)(stop - f->data) - at : f->size - at};
}

/* ---- searching ---- */

static bool is_sorted(struct keyfile *f)
{
    struct weir_bytes before = {"", 0};
    bool sorted = true;

    f->keys = 0;
    for (size_t at = 0; at < f->size; f->keys++) {
        struct weir_bytes key = key_at(f, at);

        sorted = sorted && index_compare(before, key) <= 0;
        before = key;
        at += key.size + 1;
    }
    return sorted;
}

static bool search(const struct keyfile *f, struct weir_bytes key)
{
    size_t from = 0, to = f->size;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const char *before = memrchr(f->data + from, f->end, middle - from);
        size_t start = before ? (size_t)(before - f->data) + 1 : from;
        struct weir_bytes there = key_at(f, start);
        int order = index_compare(key, there);

        if (order == 0)
            return true;
        if (order < 0)
            to = start;
        else
            from = start + there.size + 1;
    }
    return false;
}

static bool make_table(struct keyfile *f)
{
    if (!index_open(&f->index, f->keys, key_at, f))
        return false;
    for (size_t at = 0; at < f->size;) {
        index_add(&f->index, at);
        at += key_at(f, at).size + 1;
    }
    return true;
}

static void sleep_for(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&t, NULL);
}

static enum outcome answer(struct store *o, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers)
{
    const struct keyfile *f = o->own;

    for (size_t i = 0; i < n; i++) {
        if (f->latency > 0 && i % f->batch == 0) {
            sleep_for(f->latency);
            if (store_late(o))
                return STORE_AGAIN;
        }
        bool member = f->sorted ? search(f, keys[i]) : index_find(&f->index, keys[i], NULL);
        answers[i] = member ? WEIR_MEMBER : WEIR_OTHER;
    }
    return STORE_OK;
}

/* ---- size and list ---- */

static enum outcome size(struct store *o, uint64_t *keys)
{
    *keys = ((struct keyfile *)o->own)->keys;
    return STORE_OK;
}

static enum outcome list(struct store *o, store_taker take, void *context)
{
    const struct keyfile *f = o->own;
    struct weir_bytes held[LISTED];
    size_t n = 0;

    for (size_t at = 0; at < f->size; at += held[n++].size + 1) {
        if (n == LISTED) {
            take(context, held, n);
            n = 0;
        }
        held[n] = key_at(f, at);
    }
    take(context, held, n);
    return STORE_OK;
}

/* ---- opening ---- */

static bool read_latency(const char *text, double *seconds)
{
    char *unit;

    if (!text)
        return true;
    *seconds = strtod(text, &unit);
    if (unit == text || !(*seconds >= 0 && *seconds <= 60000))
        return false;
    *seconds /= strcmp(unit, "ms") == 0 ? 1e3 : strcmp(unit, "us") == 0 ? 1e6 : 1;
    return strcmp(unit, "s") == 0 || strcmp(unit, "ms") == 0 || strcmp(unit, "us") == 0;
}

static bool read_batch(const char *text, unsigned long *keys)
{
    char *end = NULL;

    *keys = text ? strtoul(text, &end, 10) : ULONG_MAX;
    return !text || (*text >= '1' && *text <= '9' && !*end);
}

static bool open_file(struct store *o)
{
    struct keyfile *f = o->own = calloc(1, sizeof *f);

    if (!f || !(f->path = url_decode(o->url.place, strlen(o->url.place))))
        return store_fail(o, STORE_REFUSED, "its file has no name that could be read") == STORE_OK;
    f->end = o->options.nul ? '\0' : '\n';
    return (read_latency(url_value(&o->url, "latency"), &f->latency) &&
            read_batch(url_value(&o->url, "batch"), &f->batch)) ||
           store_fail(o, STORE_REFUSED, "latency takes a time, such as 1ms, batch a number") ==
               STORE_OK;
}

static enum outcome map(struct store *o, struct keyfile *f)
{
    struct stat st;
    int fd = open(f->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        int error = fd < 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : ESPIPE;

        if (fd >= 0)
            close(fd);
        return store_fail(o, STORE_REFUSED, "cannot search %s: %s", f->path,
                          error == ESPIPE ? "it is not a regular file" : strerror(error));
    }
    f->size = f->mapped = (size_t)st.st_size;
    f->data = f->size ? mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    close(fd);
    if (f->data != MAP_FAILED)
        return STORE_OK;
    f->data = NULL;
    return store_fail(o, STORE_REFUSED, "cannot read %s: %s", f->path, strerror(errno));
}

static void unmap(struct keyfile *f)
{
    if (f->mapped && f->data)
        munmap(f->data, f->mapped);
    else
        free(f->data);
    f->data = NULL;
}

/* A copy with letters folded, as those of the keys will be. */
static enum outcome fold_all(struct store *o, struct keyfile *f)
{
    char *copy = o->options.fold ? malloc(2 * f->size + 8) : NULL;

    if (!o->options.fold)
        return STORE_OK;
    if (!copy)
        return store_fail(o, STORE_REFUSED, "memory is short");
    size_t folded = f->size ? o->options.fold(f->data, f->size, copy) : 0;
    unmap(f);
    f->data = copy;
    f->size = folded;
    f->mapped = 0;
    return STORE_OK;
}

static enum outcome ready(struct store *o)
{
    struct keyfile *f = o->own;
    enum outcome outcome = f->ready ? STORE_OK : map(o, f);

    if (f->ready || outcome != STORE_OK || (outcome = fold_all(o, f)) != STORE_OK)
        return outcome;
    f->sorted = is_sorted(f);
    f->ready = f->sorted || make_table(f);
    return f->ready ? STORE_OK
                    : store_fail(o, STORE_REFUSED,
                                 "memory is short for its keys; sort it with LC_ALL=C sort");
}

static void release(struct store *o)
{
    (void)o; /* nothing is lost by keeping a file */
}

static void close_file(struct store *o)
{
    struct keyfile *f = o->own;

    unmap(f);
    index_close(&f->index);
    free(f->path);
    free(f);
}

static const char *const parameters[] = {"latency", "batch", NULL};

const struct backend backend_keys = {.scheme = "keys",
                                     .form = "keys:FILE",
                                     .parameters = parameters,
                                     .open = open_file,
                                     .connect = ready,
                                     .disconnect = release,
                                     .answer = answer,
                                     .size = size,
                                     .list = list,
                                     .close = close_file};
