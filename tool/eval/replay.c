/* replay.c - keep arrivals in memory, or those of some keys. See replay.h. */
#include "eval/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/units.h"
#include "eval/synthetic.h"

#define KEYS_LEAST 4096 /* of a sample */
#define ROOM_LEAST ((uint64_t)1 << 16)
#define COUNTED 16384 /* keys at a time */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

void replay_close(struct replay *k)
{
    free(k->key);
}

uint64_t replay_bytes(const struct replay *k)
{
    return k->room * sizeof *k->key;
}

static bool make_room(struct replay *k, uint64_t count, const struct truth *truth,
                      char failure[512])
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
                 "--baseline-memory or the system allows",
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

/* Keys are sampled by bits that no filter uses for places. */
static bool is_sampled(const struct replay *k, struct weir_key key)
{
    uint64_t h = (key.lo ^ (key.hi << 29 | key.hi >> 35)) * UINT64_C(0xd6e8feb86659fd93);

    return k->halvings == 0 || mix(h) >> (64 - k->halvings) == 0;
}

/* Count the distinct keys that are kept. False if out of memory. */
static bool count_keys(const struct replay *k, struct truth *truth, char failure[512])
{
    static uint8_t seen[COUNTED];
    bool ok = true;

    truth_clear(truth);
    for (uint64_t i = 0; i < k->count && ok; i += COUNTED) {
        uint64_t left = k->count - i;

        ok = truth_observe_keys(truth, k->key + i, NULL, left < COUNTED ? (uint32_t)left : COUNTED,
                                seen, failure);
    }
    return ok;
}

static bool halve(struct replay *k, struct truth *truth, char failure[512])
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

static bool add_one(struct replay *k, struct weir_key key, struct truth *truth, char failure[512])
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

bool replay_add(struct replay *k, const struct weir_key *key, uint32_t n, struct truth *truth,
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

void replay_shuffle(struct replay *k)
{
    for (uint64_t i = k->count; i > 1; i--) {
        uint64_t j = draw_below(&k->rng, i);
        struct weir_key key = k->key[i - 1];

        k->key[i - 1] = k->key[j];
        k->key[j] = key;
    }
}

bool replay_count_new(const struct replay *k, struct truth *truth, uint64_t fresh[REPLAY_PARTS],
                      char failure[512])
{
    bool ok = true;

    truth_clear(truth);
    for (uint32_t part = 0; part < REPLAY_PARTS && ok; part++) {
        uint64_t from = part * k->count / REPLAY_PARTS, to = (part + 1) * k->count / REPLAY_PARTS;

        fresh[part] = 0;
        for (; from < to && ok; from += COUNTED) {
            uint32_t n = to - from < COUNTED ? (uint32_t)(to - from) : COUNTED;
            static uint8_t seen[COUNTED];

            ok = truth_observe_keys(truth, k->key + from, NULL, n, seen, failure);
            for (uint32_t i = 0; i < n; i++)
                fresh[part] += !seen[i];
        }
    }
    truth_clear(truth);
    return ok;
}

void replay_unique_keys(const struct replay *k, uint64_t from, struct weir_key *key, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        key[i] = (struct weir_key){.lo = mix(mix((from + i + 1) * GOLDEN)),
                                   .hi = mix(mix(~(from + i) * GOLDEN)),
                                   .importance = k->key[(from + i) % k->count].importance};
}

uint32_t replay_next(struct replay *k, struct weir_key *key, uint32_t most)
{
    uint64_t left = k->count - k->next;
    uint32_t n = left < most ? (uint32_t)left : most;

    memcpy(key, k->key + k->next, n * sizeof *key);
    k->next += n;
    return n;
}
