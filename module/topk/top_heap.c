/* top_heap.c - counting an item, and who is kept: see top_value.h. */
#include <string.h>

#include "server/server.h"
#include "topk/top_value.h"

/* ---- the heap ---- */

static void sift_down(struct kept *heap, uint64_t n, uint64_t at)
{
    struct kept moving = heap[at];
    bool first = true;

    for (uint64_t child; (child = 2 * at + 1) < n; at = child, first = false) {
        if (child + 1 < n && heap[child].count > heap[child + 1].count)
            child++;
        if (first ? heap[child].count > moving.count : heap[child].count >= moving.count)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

static struct kept *find(const struct top *t, struct weir_bytes item, uint64_t hash)
{
    for (uint64_t i = 0; i < t->k; i++) {
        struct kept *e = &t->heap[i];

        if (e->hash == hash && e->item && e->size == item.size &&
            memcmp(e->item, item.data, item.size) == 0)
            return e;
    }
    return NULL;
}

uint64_t top_hash(const struct top *t, struct weir_bytes item)
{
    return weir_sketch_hash(t->s, item.data, item.size).lo;
}

/* Without these few bytes the server could not read a command either; of a large item they are
 * taken before it is counted, so that there is no half of a command. */
#define LARGE 4096

static char *copy_of(struct weir_bytes item)
{
    char *copy = item.size < LARGE ? rm.Alloc(item.size ? item.size : 1) : rm.TryAlloc(item.size);

    if (copy)
        memcpy(copy, item.data, item.size);
    return copy;
}

static void keep(struct top *t, struct weir_bytes item, char *copy, uint64_t hash, uint32_t count,
                 struct kept *expelled)
{
    *expelled = t->heap[0];
    t->heap[0] = (struct kept){copy, hash, (uint32_t)item.size, count};
    sift_down(t->heap, t->k, 0);
}

bool top_add(struct top *t, struct weir_bytes item, uint64_t amount, struct kept *expelled)
{
    uint64_t hash = top_hash(t, item), count;
    char *copy = NULL;
    struct kept *e;

    *expelled = (struct kept){0};
    if (amount == 0)
        return true;
    if (item.size >= LARGE && !(copy = copy_of(item)))
        return false;
    weir_sketch_add(t->s, item, amount);
    count = weir_sketch_ask(t->s, item).count;
    count = count < UINT32_MAX ? count : UINT32_MAX;
    e = count > 0 && count >= t->heap[0].count ? find(t, item, hash) : NULL;
    if (count == 0 || count < t->heap[0].count) {
        server_give(copy);
    } else if (e) {
        server_give(copy);
        e->count = (uint32_t)count;
        sift_down(t->heap, t->k, (uint64_t)(e - t->heap));
    } else {
        keep(t, item, copy ? copy : copy_of(item), hash, (uint32_t)count, expelled);
    }
    return true;
}

/* ---- asking ---- */

bool top_has(const struct top *t, struct weir_bytes item)
{
    return find(t, item, top_hash(t, item));
}

uint64_t top_count(const struct top *t, struct weir_bytes item)
{
    return weir_sketch_ask(t->s, item).count;
}

/* Merge sort: equals keep their order. */
static void sort(struct kept *list, struct kept *spare, size_t n)
{
    size_t half = n / 2, a = 0, b = half;

    if (n < 2)
        return;
    sort(list, spare, half);
    sort(list + half, spare, n - half);
    for (size_t i = 0; i < n; i++)
        spare[i] = b == n || (a < half && list[a].count >= list[b].count) ? list[a++] : list[b++];
    memcpy(list, spare, n * sizeof *list);
}

struct kept *top_sorted(const struct top *t, size_t *n)
{
    struct kept *list = server_take(2 * t->k * sizeof *list);

    *n = 0;
    for (uint64_t i = 0; list && i < t->k; i++)
        if (t->heap[i].item)
            list[(*n)++] = t->heap[i];
    if (list)
        sort(list, list + t->k, *n);
    return list;
}
