/* table.c - see table.h. */
#include "index/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SPARE 4096 /* slots after the last one that a key can select */

bool index_table_open(struct index_table *t, size_t bytes)
{
    uint32_t bits = 10;

    while (((size_t)2 << bits) * sizeof *t->slot <= bytes)
        bits++;
    *t = (struct index_table){.slots = ((size_t)1 << bits) + SPARE, .shift = 64 - bits};
    t->limit = ((uint64_t)1 << bits) * 78 / 100;
    t->slot = mmap(NULL, t->slots * sizeof *t->slot, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t->slot == MAP_FAILED) {
        t->slot = NULL;
        return false;
    }
    (void)madvise(t->slot, t->slots * sizeof *t->slot, MADV_HUGEPAGE);
    return true;
}

void index_table_close(struct index_table *t)
{
    if (t->slot)
        munmap(t->slot, t->slots * sizeof *t->slot);
    t->slot = NULL;
}

void index_table_clear(struct index_table *t)
{
    if (t->keys)
        memset(t->slot, 0, t->slots * sizeof *t->slot);
    t->keys = 0;
}

bool index_table_add(struct index_table *t, struct digest key)
{
    size_t i = key.hi >> t->shift;

    while (t->slot[i].hi | t->slot[i].lo)
        i++;
    if (t->keys >= t->limit || i + 1 == t->slots) /* the last slot stays free: it ends a search */
        return false;
    t->slot[i] = key;
    t->keys++;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct digest *x = a, *y = b;

    return key_less(*x, *y) ? -1 : key_less(*y, *x);
}

static void sort(struct digest *keys, size_t n)
{
    if (n > 64) {
        qsort(keys, n, sizeof *keys, compare);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct digest key = keys[i];
        size_t at = i;

        for (; at > 0 && key_less(key, keys[at - 1]); at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* The number of slots from here to the next free one. */
static size_t cluster_at(const struct index_table *t, size_t from)
{
    size_t n = 0;

    while (from + n < t->slots && t->slot[from + n].hi | t->slot[from + n].lo)
        n++;
    return n;
}

bool index_table_list(const struct index_table *t, bool (*take)(void *context, struct digest key),
                      void *context)
{
    size_t longest = 1, n;
    struct digest *cluster;
    bool ok = true;

    for (size_t i = 0; i < t->slots; i += n + 1)
        longest = (n = cluster_at(t, i)) > longest ? n : longest;
    cluster = malloc(longest * sizeof *cluster);
    for (size_t i = 0; cluster && ok && i < t->slots; i += n + 1) {
        n = cluster_at(t, i);
        memcpy(cluster, t->slot + i, n * sizeof *cluster);
        sort(cluster, n);
        for (size_t j = 0; ok && j < n; j++)
            ok = take(context, cluster[j]);
    }
    free(cluster);
    return ok && cluster;
}
