/* key_index.c - an exact hash table of keys that are not copied: see backend.h. */
#include "backend.h"

#include <stdlib.h>
#include <string.h>

struct index_slot {
    uint64_t number; /* plus one; 0: empty */
    uint64_t tag;    /* of its hash: avoids most comparisons of different keys */
};

int index_compare(struct weir_bytes a, struct weir_bytes b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    int order = n ? memcmp(a.data, b.data, n) : 0;

    return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

static struct index_slot *find(const struct key_index *x, struct weir_bytes key,
                               struct weir_key hash)
{
    size_t i = hash.lo & x->mask;

    for (; x->slot[i].number; i = (i + 1) & x->mask)
        if (x->slot[i].tag == hash.hi &&
            index_compare(x->key(x->context, x->slot[i].number - 1), key) == 0)
            break;
    return &x->slot[i];
}

bool index_reset(struct key_index *x, size_t keys)
{
    size_t slots = 64;

    while (slots < keys + keys / 2)
        slots *= 2;
    if (!x->slot || slots != x->mask + 1) {
        free(x->slot);
        x->slot = calloc(slots, sizeof *x->slot);
    } else {
        memset(x->slot, 0, slots * sizeof *x->slot);
    }
    x->mask = slots - 1;
    return x->slot != NULL;
}

bool index_open(struct key_index *x, size_t keys, index_key key, const void *context)
{
    *x = (struct key_index){.key = key, .context = context};
    return weir_open(&x->hasher, "memory=64", NULL) == WEIR_OK && index_reset(x, keys);
}

void index_close(struct key_index *x)
{
    free(x->slot);
    weir_close(x->hasher);
    *x = (struct key_index){0};
}

void index_add(struct key_index *x, uint64_t number)
{
    struct weir_bytes key = x->key(x->context, number);
    struct weir_key hash = weir_hash(x->hasher, key.data, key.size);
    struct index_slot *slot = find(x, key, hash);

    if (!slot->number)
        *slot = (struct index_slot){number + 1, hash.hi};
}

bool index_find(const struct key_index *x, struct weir_bytes key, uint64_t *number)
{
    const struct index_slot *slot = find(x, key, weir_hash(x->hasher, key.data, key.size));

    if (slot->number && number)
        *number = slot->number - 1;
    return slot->number != 0;
}
