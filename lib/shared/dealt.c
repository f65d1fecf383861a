/* dealt.c - see dealt.h.
 *
 * Keys stay where they are; only their places are written down, in one pass. A list that
 * is full ends it: the batch goes on when all lists have been shown. Keys that are spread
 * evenly fill all lists alike; where one key comes again and again, lists are short.
 *
 * Where all shards have a key at the same spot (locate()), that is worked out once, before it is
 * dealt.
 *
 * Price: some 2 ns per key, in which its line is fetched. A batch needs no memory but 120 KiB of
 * the stack. */
#include "shared/dealt.h"

#include <string.h>
#include <weir/hash.h>

#include "filter/filter.h"

#define PARTS 8
#define TOGETHER 256 /* keys copied at a time */

/* Eight parts of a batch at once, each with lists of its own: a key then need not wait for the one
 * before it, which is often of the same list. Twice as fast as one by one. */
struct parts {
    uint32_t each, room; /* keys of a part; of which each list can take so many */
    uint16_t *end[PARTS][WEIR_SHARED_SHARDS_MAX];
};

static uint16_t *list_of(struct dealt *d, uint32_t shard)
{
    return d->at + (size_t)shard * d->room;
}

/* How many keys more can be dealt, whichever lists they are of. */
static uint32_t room_left(const struct parts *p, struct dealt *d, uint32_t shards)
{
    uint32_t most = 0;

    for (uint32_t q = 0; q < PARTS; q++)
        for (uint32_t j = 0; j < shards; j++) {
            uint32_t n = (uint32_t)(p->end[q][j] - list_of(d, j)) - q * p->room;

            most = n > most ? n : most;
        }
    return p->room - most;
}

/* Where slot_refs are known, lines are fetched by the way: memory would be idle while keys are
 * dealt. A fifth less time per key (bench/shared). */
static inline void deal_some(struct parts *p, const struct weir_key *keys, uint32_t from,
                             uint32_t to, const weir_shared *s, const uint64_t *slot_refs)
{
    for (uint32_t i = from; i < to; i++)
#pragma GCC unroll 8
        for (uint32_t q = 0; q < PARTS; q++) {
            uint32_t at = q * p->each + i, shard = weir_shard(keys[at], s->n);

            *p->end[q][shard]++ = (uint16_t)at;
            if (slot_refs)
                __builtin_prefetch(s->shard[shard].filter->cells + (slot_refs[at] >> 32) * 64, 1,
                                   2);
        }
}

/* The lists of a shard become one. */
static void join_parts(const struct parts *p, struct dealt *d, uint32_t shards)
{
    for (uint32_t j = 0; j < shards; j++) {
        uint16_t *list = list_of(d, j), *end = p->end[0][j];

        for (uint32_t q = 1; q < PARTS; q++) {
            size_t n = (size_t)(p->end[q][j] - (list + (size_t)q * p->room));

            memmove(end, list + (size_t)q * p->room, n * sizeof *list);
            end += n;
        }
        d->count[j] = (uint32_t)(end - list);
    }
}

/* False if a list is full before all are dealt. */
static bool deal_parts(struct dealt *d, const struct weir_key *keys, uint32_t n,
                       const weir_shared *s)
{
    const uint32_t shards = s->n;
    struct parts p;

    p.each = n / PARTS;
    p.room = d->room / PARTS;

    for (uint32_t q = 0; q < PARTS; q++)
        for (uint32_t j = 0; j < shards; j++)
            p.end[q][j] = list_of(d, j) + (size_t)q * p.room;
    for (uint32_t done = 0, left; done < p.each; done += left) {
        left = room_left(&p, d, shards);
        if (left == 0)
            return false;
        left = left < p.each - done ? left : p.each - done;
        if (d->located)
            deal_some(&p, keys, done, done + left, s, d->slot_refs);
        else
            deal_some(&p, keys, done, done + left, s, NULL);
    }
    join_parts(&p, d, shards);
    return true;
}

size_t deal(struct dealt *d, const struct weir_key *keys, size_t n, const weir_shared *s)
{
    const uint32_t shards = s->n;
    uint32_t most = (uint32_t)(n < DEALT_MOST / 2 ? n : DEALT_MOST / 2), dealt = 0;

    d->room = DEALT_MOST / shards;
    if (most >= shards && deal_parts(d, keys, most, s))
        dealt = most / PARTS * PARTS;
    else
        memset(d->count, 0, shards * sizeof *d->count);
    for (uint32_t i = dealt; i < most; i++) {
        uint32_t j = weir_shard(keys[i], shards), end = d->count[j]++;

        d->at[j * d->room + end] = (uint16_t)i;
        if (end + 1 == d->room)
            return i + 1;
    }
    return most;
}

/* Keys that were copied together, and their answers. */
struct together {
    struct weir_key keys[TOGETHER];
    uint64_t times[TOGETHER];
    uint8_t verdicts[TOGETHER];
};

static void answer_together(const struct showing *batch, size_t begin, const uint16_t *at, size_t n,
                            weir_filter *filter)
{
    struct together t;

    for (size_t i = 0; i < n; i++)
        t.keys[i] = batch->keys[begin + at[i]];
    for (size_t i = 0; batch->times && i < n; i++)
        t.times[i] = batch->times[begin + at[i]];
    batch->answer(batch->context, filter, t.keys, batch->times ? t.times : NULL, n, t.verdicts);
    for (size_t i = 0; i < n; i++)
        batch->verdicts[begin + at[i]] = t.verdicts[i];
}

void show_dealt(const weir_shared *s, const struct dealt *d, const struct showing *batch,
                size_t begin, uint32_t shard, uint32_t next)
{
    struct picked p = {.keys = batch->keys + begin,
                       .slot_refs = d->located ? d->slot_refs : NULL,
                       .verdicts = batch->verdicts + begin,
                       .at = d->at + (size_t)shard * d->room,
                       .n = d->count[shard],
                       .next = s->shard[next].filter,
                       .next_at = d->at + (size_t)next * d->room,
                       .next_n = next == shard ? 0 : d->count[next]};

    if (!batch->answer) {
        handle_observe_picked(s->shard[shard].filter, &p);
        return;
    }
    for (size_t done = 0, some; done < p.n; done += some) {
        some = p.n - done < TOGETHER ? p.n - done : TOGETHER;
        answer_together(batch, begin, p.at + done, some, s->shard[shard].filter);
    }
}
