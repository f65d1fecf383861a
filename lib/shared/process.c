/* process.c - one batch, many shards.
 *
 * Partition. Keys stay where they are. One pass writes the index of each key to the list of its
 * shard. A full list ends the pass: the lists are processed, then the pass continues. Evenly
 * distributed keys fill all lists alike; if one key repeats, lists are short. If all shards have
 * a key in the same slot (locate()), the slot is computed once, before the partition.
 *
 * Without a ticket, a thread tries the locks of its shards round after round, starting at a
 * different shard for each batch. It waits for a lock only after a round without success.
 *
 * With a ticket, each shard counts turns. A thread processes the shards whose turn equals its
 * ticket, and sleeps if there is none. Every shard receives the tickets in order, so the verdicts
 * equal those of a single thread. The lock is taken too, because calls without a ticket may run
 * in between.
 *
 * Cost: about 2 ns per key, while its cache line is fetched; no memory except 120 KiB of stack. */
#include <string.h>
#include <weir/hash.h>

#include "filter/filter.h"
#include "shared/shared.h"

#define PLACES 16384          /* of all lists together */
#define KEYS_MAX (PLACES / 2) /* keys partitioned at a time: lists fill unevenly */
#define PARTS 8
#define COPIED 256 /* keys copied at a time */

/* For functions with large arrays, which must not be on the stack together. */
#define OWN_FRAME __attribute__((noinline))

/* The indices of each shard's keys, in order. All lists have the same size. */
struct partition {
    uint32_t room;
    uint32_t count[WEIR_SHARED_SHARDS_MAX];
    uint16_t list[PLACES];
    bool located;
    uint64_t slot_refs[KEYS_MAX];
};

static uint16_t *list_of(struct partition *p, uint32_t shard)
{
    return p->list + (size_t)shard * p->room;
}

/* ---- partition ---- */

/* Eight parts of a batch at once, each with its own lists: a key need not wait for the one before
 * it, which often goes to the same list. Twice as fast as one by one. */
struct parts {
    uint32_t each, room; /* keys per part; size of a list */
    uint16_t *end[PARTS][WEIR_SHARED_SHARDS_MAX];
};

/* How many more keys fit, whatever their shards. */
static uint32_t room_left(const struct parts *parts, struct partition *p, uint32_t shards)
{
    uint32_t longest = 0;

    for (uint32_t q = 0; q < PARTS; q++)
        for (uint32_t j = 0; j < shards; j++) {
            uint32_t n = (uint32_t)(parts->end[q][j] - list_of(p, j)) - q * parts->room;

            longest = n > longest ? n : longest;
        }
    return parts->room - longest;
}

/* If slot_refs are known, lines are prefetched here, while memory is otherwise idle: a fifth less
 * time per key (bench/shared). */
static inline void partition_some(struct parts *parts, const struct weir_key *keys, uint32_t from,
                                  uint32_t to, const weir_shared *s, const uint64_t *slot_refs)
{
    for (uint32_t i = from; i < to; i++)
#pragma GCC unroll 8
        for (uint32_t q = 0; q < PARTS; q++) {
            uint32_t at = q * parts->each + i, shard = weir_shard(keys[at], s->n);

            *parts->end[q][shard]++ = (uint16_t)at;
            if (slot_refs)
                __builtin_prefetch(s->shard[shard].filter->cells + (slot_refs[at] >> 32) * 64, 1,
                                   2);
        }
}

/* The parts of each list become one list. */
static void join_parts(const struct parts *parts, struct partition *p, uint32_t shards)
{
    for (uint32_t j = 0; j < shards; j++) {
        uint16_t *list = list_of(p, j), *end = parts->end[0][j];

        for (uint32_t q = 1; q < PARTS; q++) {
            size_t n = (size_t)(parts->end[q][j] - (list + (size_t)q * parts->room));

            memmove(end, list + (size_t)q * parts->room, n * sizeof *list);
            end += n;
        }
        p->count[j] = (uint32_t)(end - list);
    }
}

/* False if a list is full before all keys are in one. */
OWN_FRAME static bool partition_in_parts(struct partition *p, const struct weir_key *keys,
                                         uint32_t n, const weir_shared *s)
{
    struct parts parts = {.each = n / PARTS, .room = p->room / PARTS};

    for (uint32_t q = 0; q < PARTS; q++)
        for (uint32_t j = 0; j < s->n; j++)
            parts.end[q][j] = list_of(p, j) + (size_t)q * parts.room;
    for (uint32_t done = 0, left; done < parts.each; done += left) {
        left = room_left(&parts, p, s->n);
        if (left == 0)
            return false;
        left = left < parts.each - done ? left : parts.each - done;
        if (p->located)
            partition_some(&parts, keys, done, done + left, s, p->slot_refs);
        else
            partition_some(&parts, keys, done, done + left, s, NULL);
    }
    join_parts(&parts, p, s->n);
    return true;
}

/* Partition as many of n <= KEYS_MAX keys as fit into the lists. Returns how many: at least
 * one, if n > 0. */
static size_t partition_keys(struct partition *p, const struct weir_key *keys, size_t n,
                             const weir_shared *s)
{
    uint32_t all = (uint32_t)n, done = 0;

    p->room = PLACES / s->n;
    if (all >= s->n && partition_in_parts(p, keys, all, s))
        done = all / PARTS * PARTS;
    else
        memset(p->count, 0, s->n * sizeof *p->count);
    for (uint32_t i = done; i < all; i++) {
        uint32_t shard = weir_shard(keys[i], s->n), end = p->count[shard]++;

        list_of(p, shard)[end] = (uint16_t)i;
        if (end + 1 == p->room)
            return i + 1;
    }
    return all;
}

static bool locate(const weir_shared *s, const struct weir_key *keys, size_t n, uint64_t *slot_refs)
{
    const weir_filter *any = s->shard[0].filter;

    return any->ops->locate && any->ops->locate(any, keys, n, slot_refs);
}

/* ---- process the keys of one shard; its lock is held ---- */

/* A batch under way. */
struct visits {
    const struct weir_shared_batch *batch;
    const uint64_t *ticket;
    struct partition *partition; /* NULL: there is one shard */
    size_t from;                 /* the first key of the partition */
    bool last;                   /* the batch has no keys after this partition */
    uint32_t left;               /* shards to visit */
    uint16_t shard[WEIR_SHARED_SHARDS_MAX];
};

static void forget_keys(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    for (size_t i = 0; i < n; i++) {
        bool was_there = false;

        weir_forget(w, keys[i], &was_there, NULL);
        verdicts[i] = was_there ? WEIR_SEEN : WEIR_NEW;
    }
}

static void process_keys(weir_filter *w, enum weir_shared_operation operation,
                         const struct weir_key *keys, const uint64_t *times, const uint64_t *ttls,
                         size_t n, uint8_t *verdicts)
{
    if (operation == WEIR_SHARED_ASK)
        weir_ask_many(w, keys, n, verdicts);
    else if (operation == WEIR_SHARED_FORGET)
        forget_keys(w, keys, n, verdicts);
    else if (times || ttls)
        weir_observe_many_ttl(w, keys, times, ttls, n, verdicts);
    else
        weir_observe_many(w, keys, n, verdicts);
}

/* Keys at these indices are copied together, and their verdicts back. */
OWN_FRAME static void process_copied(weir_filter *w, const struct visits *v, const uint16_t *at,
                                     size_t n)
{
    const struct weir_shared_batch *b = v->batch;
    struct weir_key keys[COPIED];
    uint64_t times[COPIED], ttls[COPIED];
    uint8_t verdicts[COPIED];

    for (size_t i = 0; i < n; i++)
        keys[i] = b->keys[v->from + at[i]];
    for (size_t i = 0; b->times && i < n; i++)
        times[i] = b->times[v->from + at[i]];
    for (size_t i = 0; b->ttls && i < n; i++)
        ttls[i] = b->ttls[v->from + at[i]];
    process_keys(w, b->operation, keys, b->times ? times : NULL, b->ttls ? ttls : NULL, n,
                 verdicts);
    for (size_t i = 0; i < n; i++)
        b->verdicts[v->from + at[i]] = verdicts[i];
}

/* next: the shard that is most likely next, whose first keys are prefetched; it may be the same. */
static void process_list(const weir_shared *s, const struct visits *v, uint32_t shard,
                         uint32_t next)
{
    const struct weir_shared_batch *b = v->batch;
    struct partition *p = v->partition;
    struct picked picked = {.keys = b->keys + v->from,
                            .slot_refs = p->located ? p->slot_refs : NULL,
                            .verdicts = b->verdicts + v->from,
                            .at = list_of(p, shard),
                            .n = p->count[shard],
                            .next = s->shard[next].filter,
                            .next_at = list_of(p, next),
                            .next_n = next == shard ? 0 : p->count[next]};

    if (b->operation == WEIR_SHARED_OBSERVE && !b->times && !b->ttls) {
        filter_observe_picked(s->shard[shard].filter, &picked);
        return;
    }
    for (size_t done = 0, some; done < picked.n; done += some) {
        some = picked.n - done < COPIED ? picked.n - done : COPIED;
        process_copied(s->shard[shard].filter, v, picked.at + done, some);
    }
}

static void process_shard(const weir_shared *s, const struct visits *v, uint32_t shard,
                          uint32_t next)
{
    const struct weir_shared_batch *b = v->batch;
    weir_filter *w = s->shard[shard].filter;

    if (b->begin)
        weir_advance(w, *b->begin);
    if (v->partition)
        process_list(s, v, shard, next);
    else
        process_keys(w, b->operation, b->keys, b->times, b->ttls, b->n, b->verdicts);
    if (b->end && v->last)
        weir_advance(w, *b->end);
}

/* ---- turns ---- */

/* The next ticket may enter. A thread counts itself as a sleeper before its last look at the
 * turns, and this function looks for sleepers after it has changed the turn: one of the two
 * notices the other. */
static void pass_on(weir_shared *s, struct shard *shard)
{
    atomic_fetch_add(&shard->turn, 1);
    if (atomic_load(&s->sleepers) == 0)
        return;
    pthread_mutex_lock(&s->line);
    pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->line);
}

static bool has_turn(weir_shared *s, const struct visits *v)
{
    for (uint32_t i = 0; i < v->left; i++)
        if (atomic_load(&s->shard[v->shard[i]].turn) == *v->ticket)
            return true;
    return false;
}

static void await_turn(weir_shared *s, const struct visits *v)
{
    pthread_mutex_lock(&s->line);
    atomic_fetch_add(&s->sleepers, 1);
    while (!has_turn(s, v))
        pthread_cond_wait(&s->moved, &s->line);
    atomic_fetch_sub(&s->sleepers, 1);
    pthread_mutex_unlock(&s->line);
}

static bool enter(struct shard *shard, const uint64_t *ticket)
{
    if (!ticket)
        return pthread_mutex_trylock(&shard->lock) == 0;
    return atomic_load(&shard->turn) == *ticket && pthread_mutex_lock(&shard->lock) == 0;
}

/* ---- visit all shards ---- */

/* Visit the i-th shard left, whose lock is held. Another takes its place in the list. */
static void visit(weir_shared *s, struct visits *v, uint32_t i)
{
    uint32_t shard = v->shard[i];

    v->shard[i] = v->shard[--v->left];
    process_shard(s, v, shard, v->left == 0 ? shard : v->shard[i < v->left ? i : 0]);
    pthread_mutex_unlock(&s->shard[shard].lock);
    if (v->ticket && v->last)
        pass_on(s, &s->shard[shard]);
}

/* False if no shard can be entered. */
static bool visit_some(weir_shared *s, struct visits *v)
{
    uint32_t before = v->left;

    for (uint32_t i = 0; i < v->left;) {
        if (enter(&s->shard[v->shard[i]], v->ticket))
            visit(s, v, i);
        else
            i++;
    }
    return v->left < before;
}

static void visit_all(weir_shared *s, struct visits *v)
{
    while (v->left > 0) {
        if (visit_some(s, v))
            continue;
        if (v->ticket) {
            await_turn(s, v);
        } else {
            pthread_mutex_lock(&s->shard[v->shard[0]].lock);
            visit(s, v, 0);
        }
    }
}

/* The shards that have keys; with a ticket all, because each counts it. Threads that arrive at the
 * same time start far apart. */
static void plan_visits(weir_shared *s, struct visits *v)
{
    uint32_t call = atomic_fetch_add_explicit(&s->calls, 1, memory_order_relaxed);
    uint32_t first =
        v->ticket ? 0 : (uint32_t)((uint64_t)(call * UINT32_C(0x9e3779b9)) * s->n >> 32);

    v->left = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t shard = (first + i) % s->n;

        if (v->ticket || v->partition->count[shard] > 0)
            v->shard[v->left++] = (uint16_t)shard;
    }
}

static void process_partitioned(weir_shared *s, struct visits *v)
{
    const struct weir_shared_batch *b = v->batch;
    struct partition partition;

    v->partition = &partition;
    do {
        size_t n = b->n - v->from < KEYS_MAX ? b->n - v->from : KEYS_MAX;

        partition.located = b->operation == WEIR_SHARED_OBSERVE && !b->times && !b->ttls &&
                            locate(s, b->keys + v->from, n, partition.slot_refs);
        n = partition_keys(&partition, b->keys + v->from, n, s);
        v->last = v->from + n == b->n;
        plan_visits(s, v);
        visit_all(s, v);
        v->from += n;
    } while (v->from < b->n);
}

void shared_process(weir_shared *s, const struct weir_shared_batch *batch, const uint64_t *ticket)
{
    struct visits v = {.batch = batch, .ticket = ticket, .last = true, .left = 1};

    if (s->n == 1)
        visit_all(s, &v);
    else
        process_partitioned(s, &v);
}
