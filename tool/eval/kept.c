/* kept.c - see kept.h. */
#include "eval/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/units.h"
#include "eval/synthetic.h"

#define KEYS_LEAST 4096 /* of a sample */
#define ROOM_LEAST ((uint64_t)1 << 16)
#define COUNTED 16384 /* keys at a time */

void kept_close(struct kept *k)
{
    free(k->key);
    free(k->stays);
}

uint64_t kept_bytes(const struct kept *k)
{
    return k->room * sizeof *k->key;
}

static bool make_room(struct kept *k, uint64_t count, const struct truth *truth, char failure[512])
{
    uint64_t room = k->room ? k->room : k->most || !k->expected ? ROOM_LEAST : k->expected;
    struct weir_key *key;

    if (count <= k->room)
        return true;
    while (room < count)
        room += room / 2;
    key = room * sizeof *key <= truth->limit - truth->bytes ? realloc(k->key, room * sizeof *key)
                                                            : NULL;
    if (!key) {
        snprintf(failure, 512,
                 "%s keeps the stream in memory, %zu bytes per record: %s are more than "
                 "--truth-memory or the system allows",
                 k->because, sizeof *key, show_bytes((double)(room * sizeof *key)).text);
        return false;
    }
    k->key = key;
    k->room = room;
    return true;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* Keys are chosen by bits that no filter places them by. */
static bool is_sampled(const struct kept *k, struct weir_key key)
{
    uint64_t h = (key.lo ^ (key.hi << 29 | key.hi >> 35)) * UINT64_C(0xd6e8feb86659fd93);

    return k->halvings == 0 || mix(h) >> (64 - k->halvings) == 0;
}

/* Of those kept, different keys; false if there is no memory to count them. */
static bool count_keys(const struct kept *k, struct truth *truth, char failure[512])
{
    static uint8_t seen[COUNTED];
    bool ok = true;

    truth_clear(truth);
    for (uint64_t i = 0; i < k->count && ok; i += COUNTED) {
        uint64_t left = k->count - i;

        ok = truth_observe_keys(truth, k->key + i, left < COUNTED ? (uint32_t)left : COUNTED, seen,
                                failure);
    }
    return ok;
}

static bool halve(struct kept *k, struct truth *truth, char failure[512])
{
    uint64_t left = 0;

    if (!count_keys(k, truth, failure))
        return false;
    k->cut = truth->used < 2 * KEYS_LEAST;
    k->halvings += !k->cut;
    for (uint64_t i = 0; i < k->count; i++)
        if (is_sampled(k, k->key[i]))
            k->key[left++] = k->key[i];
    k->count = left;
    return true;
}

static bool add_one(struct kept *k, struct weir_key key, struct truth *truth, char failure[512])
{
    while (k->count == k->most && is_sampled(k, key) && !k->cut)
        if (!halve(k, truth, failure))
            return false;
    if (k->cut || !is_sampled(k, key))
        return true;
    if (!make_room(k, k->count + 1, truth, failure))
        return false;
    k->key[k->count++] = key;
    return true;
}

bool kept_add(struct kept *k, const struct weir_key *key, uint32_t n, struct truth *truth,
              char failure[512])
{
    for (uint32_t i = 0; i < n && k->most; i++)
        if (!add_one(k, key[i], truth, failure))
            return false;
    if (k->most)
        return true;
    if (!make_room(k, k->count + n, truth, failure))
        return false;
    memcpy(k->key + k->count, key, n * sizeof *k->key);
    k->count += n;
    return true;
}

void kept_shuffle(struct kept *k)
{
    for (uint64_t i = k->count; i > 1; i--) {
        uint64_t j = draw_below(&k->rng, i);
        struct weir_key key = k->key[i - 1];

        k->key[i - 1] = k->key[j];
        k->key[j] = key;
    }
}

/* ---- a stream that goes on ---- */

static int by_key(const void *a, const void *b, void *keys)
{
    const struct weir_key *x = (const struct weir_key *)keys + *(const uint64_t *)a;
    const struct weir_key *y = (const struct weir_key *)keys + *(const uint64_t *)b;

    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->hi < y->hi ? -1 : x->hi > y->hi;
}

/* Arrivals order[from .. to) are those of one key. */
static bool is_in_both_halves(const struct kept *k, const uint64_t *order, uint64_t from,
                              uint64_t to)
{
    uint64_t early = 0;

    for (uint64_t i = from; i < to; i++)
        early += order[i] < k->count / 2;
    return early > 0 && early < to - from;
}

static void mark_staying(struct kept *k, const uint64_t *order)
{
    uint64_t keys = 0, staying = 0;

    for (uint64_t from = 0, to; from < k->count; from = to) {
        bool stays;

        for (to = from + 1; to < k->count && by_key(order + from, order + to, k->key) == 0;)
            to++;
        stays = is_in_both_halves(k, order, from, to);
        for (uint64_t i = from; i < to; i++)
            k->stays[order[i]] = stays;
        keys++;
        staying += stays;
    }
    k->staying = keys ? (double)staying / (double)keys : 1;
}

bool kept_find_staying(struct kept *k)
{
    uint64_t *order = malloc((k->count + 1) * sizeof *order);

    free(k->stays);
    k->stays = malloc(k->count + 1);
    if (order && k->stays) {
        for (uint64_t i = 0; i < k->count; i++)
            order[i] = i;
        qsort_r(order, k->count, sizeof *order, by_key, k->key);
        mark_staying(k, order);
    }
    free(order);
    return order && k->stays;
}

struct weir_key kept_key(const struct kept *k, uint64_t i, uint32_t showing)
{
    struct weir_key key = k->key[i];

    if (showing > 0 && !k->stays[i]) {
        key.lo = mix(key.lo + showing);
        key.hi = mix(key.hi + showing);
    }
    return key;
}

void kept_rewind(struct kept *k, uint32_t showing)
{
    k->next = 0;
    k->showing = showing;
}

uint32_t kept_next(struct kept *k, struct weir_key *key, uint32_t most)
{
    uint64_t left = k->count - k->next;
    uint32_t n = left < most ? (uint32_t)left : most;

    for (uint32_t i = 0; i < n; i++)
        key[i] = kept_key(k, k->next + i, k->showing);
    k->next += n;
    return n;
}
