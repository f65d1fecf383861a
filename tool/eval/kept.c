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

/* Keys are chosen by bits that no filter places them by. */
static bool is_sampled(const struct kept *k, struct weir_key key)
{
    uint64_t h = (key.lo ^ (key.hi << 29 | key.hi >> 35)) * UINT64_C(0xd6e8feb86659fd93);

    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return k->halvings == 0 || (h ^ h >> 32) >> (64 - k->halvings) == 0;
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
