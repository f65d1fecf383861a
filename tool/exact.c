/* exact.c - see exact.h. */
#include "exact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fold.h"
#include "say.h"

/* A slot of the table. */
struct slot {
    uint64_t at;  /* where the key lies, plus one; 0: empty */
    uint64_t tag; /* of its hash, so that few keys are compared in vain */
};

struct exact {
    char *data;
    size_t size;
    size_t mapped; /* bytes, if data is the file itself */
    char end;      /* of a key */
    bool sorted;
    struct slot *table;
    size_t mask;
    weir *hasher; /* a filter of no use but for its hash */
};

static struct weir_bytes key_at(const struct exact *e, size_t at)
{
    const char *stop = memchr(e->data + at, e->end, e->size - at);

    return (struct weir_bytes){e->data + at, stop ? (size_t)(stop - e->data) - at : e->size - at};
}

static int compare(struct weir_bytes a, struct weir_bytes b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

    return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* ---- sorted: search by halves ---- */

static bool is_sorted(const struct exact *e, size_t *keys)
{
    struct weir_bytes before = {"", 0};
    bool sorted = true;

    *keys = 0;
    for (size_t at = 0; at < e->size; ++*keys) {
        struct weir_bytes key = key_at(e, at);

        sorted &= compare(before, key) <= 0;
        before = key;
        at += key.size + 1;
    }
    return sorted;
}

static bool search(const struct exact *e, struct weir_bytes key)
{
    size_t from = 0, to = e->size;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const char *before = memrchr(e->data + from, e->end, middle - from);
        size_t start = before ? (size_t)(before - e->data) + 1 : from;
        struct weir_bytes there = key_at(e, start);
        int order = compare(key, there);

        if (order == 0)
            return true;
        if (order < 0)
            to = start;
        else
            from = start + there.size + 1;
    }
    return false;
}

/* ---- not sorted: a table ---- */

static struct slot *find(const struct exact *e, struct weir_bytes key, struct weir_key hash)
{
    size_t i = hash.lo & e->mask;

    for (; e->table[i].at; i = (i + 1) & e->mask)
        if (e->table[i].tag == hash.hi && compare(key_at(e, e->table[i].at - 1), key) == 0)
            break;
    return &e->table[i];
}

static bool make_table(struct exact *e, size_t keys)
{
    size_t slots = 64;

    while (slots < keys + keys / 2)
        slots *= 2;
    e->mask = slots - 1;
    e->table = calloc(slots, sizeof *e->table);
    if (!e->table || weir_open(&e->hasher, "memory=64", NULL) != WEIR_OK)
        return false;
    for (size_t at = 0; at < e->size;) {
        struct weir_bytes key = key_at(e, at);
        struct weir_key hash = weir_hash(e->hasher, key.data, key.size);

        *find(e, key, hash) = (struct slot){at + 1, hash.hi};
        at += key.size + 1;
    }
    return true;
}

bool exact_has(const struct exact *e, struct weir_bytes key)
{
    if (e->sorted)
        return search(e, key);
    return find(e, key, weir_hash(e->hasher, key.data, key.size))->at != 0;
}

/* ---- opening ---- */

static bool map(struct exact *e, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        int error = fd < 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : ESPIPE;

        if (fd >= 0)
            close(fd);
        return fail("cannot search %s: %s", path,
                    error == ESPIPE ? "it is not a regular file" : strerror(error)) == 0;
    }
    e->size = e->mapped = (size_t)st.st_size;
    e->data = e->size ? mmap(NULL, e->size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    close(fd);
    if (e->data != MAP_FAILED)
        return true;
    e->data = NULL;
    return fail("cannot read %s: %s", path, strerror(errno)) == 0;
}

static void unmap(struct exact *e)
{
    if (e->mapped && e->data)
        munmap(e->data, e->mapped);
    else
        free(e->data);
}

/* A copy with letters folded, as those of the keys will be. */
static bool fold_all(struct exact *e)
{
    char *copy = malloc(FOLD_ROOM(e->size));

    if (!copy)
        return fail("memory is short") == 0;
    fold_open();
    size_t size = fold(e->data, e->size, copy);
    unmap(e);
    e->data = copy;
    e->size = size;
    e->mapped = 0;
    return true;
}

struct exact *exact_open(const char *path, const struct options *o)
{
    struct exact *e = calloc(1, sizeof *e);
    size_t keys;

    if (!e)
        return NULL;
    e->end = o->nul ? '\0' : '\n';
    if (!map(e, path) || (o->ignore_case && !fold_all(e))) {
        exact_close(e);
        return NULL;
    }
    e->sorted = is_sorted(e, &keys);
    if (e->sorted || make_table(e, keys))
        return e;
    fail("memory is short for the keys of %s; sort it with LC_ALL=C sort", path);
    exact_close(e);
    return NULL;
}

void exact_close(struct exact *e)
{
    if (!e)
        return;
    unmap(e);
    free(e->table);
    weir_close(e->hasher);
    free(e);
}
