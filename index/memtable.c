/* memtable.c - see memtable.h. */
#include "index/memtable.h"

#include <string.h>
#include <sys/mman.h>

#define SPARE 4096 /* slots after the last one that a key can select */

bool memtable_open(struct memtable *t, size_t bytes)
{
    uint32_t bits = 10;

    while (((size_t)2 << bits) * sizeof *t->slot <= bytes)
        bits++;
    *t = (struct memtable){.slots = ((size_t)1 << bits) + SPARE, .shift = 64 - bits};
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

void memtable_close(struct memtable *t)
{
    if (t->slot)
        munmap(t->slot, t->slots * sizeof *t->slot);
    t->slot = NULL;
}

bool memtable_add(struct memtable *t, struct digest key)
{
    size_t at = memtable_find(t, key), end = at;

    while (!key_is_free(t->slot[end]))
        end++;
    if (t->keys >= t->limit || end + 1 == t->slots)
        return false;
    memmove(t->slot + at + 1, t->slot + at, (end - at) * sizeof key);
    t->slot[at] = key;
    t->keys++;
    return true;
}
