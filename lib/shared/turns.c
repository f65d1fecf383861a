/* turns.c - which thread is at which shard, and when.
 *
 * Without a ticket: a thread tries its shards round after round, each batch from another
 * one on, and works at those whose lock is free; it waits for a lock only after a round in
 * which it got none.
 *
 * With a ticket: each shard knows whose turn it is. A thread works at those where its own
 * has come and sleeps when there is none. Shards go from ticket to ticket in order, so the
 * verdicts are those of one thread; the lock is taken all the same, as calls without a ticket
 * may come in between. */
#include "filter/filter.h"
#include "shared/dealt.h"

/* The shards that a batch has still to be shown to. */
struct visits {
    const struct showing *batch;
    const struct dealt *dealt; /* NULL: all keys are of one shard */
    size_t begin;
    bool last; /* after this the ticket is used */
    uint32_t left;
    uint16_t shard[WEIR_SHARED_SHARDS_MAX];
};

/* ---- in line ---- */

/* The next ticket may come. Whoever goes to sleep says so before it looks a last time, and
 * this looks after it has moved: one of the two sees the other. */
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
        if (atomic_load(&s->shard[v->shard[i]].turn) == v->batch->ticket)
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

/* ---- at a shard ---- */

static bool enter(struct shard *shard, const struct showing *batch)
{
    if (!batch->ordered)
        return pthread_mutex_trylock(&shard->lock) == 0;
    return atomic_load(&shard->turn) == batch->ticket && pthread_mutex_lock(&shard->lock) == 0;
}

/* The lock is held, and given back. */
static void visit(weir_shared *s, const struct visits *v, uint32_t j, uint32_t next)
{
    const struct showing *batch = v->batch;
    struct shard *shard = &s->shard[j];

    if (v->dealt)
        show_dealt(s, v->dealt, batch, v->begin, j, next);
    else if (!batch->answer)
        weir_observe_many(shard->filter, batch->keys, batch->n, batch->verdicts);
    else
        batch->answer(batch->context, shard->filter, batch->keys, batch->times, batch->n,
                      batch->verdicts);
    pthread_mutex_unlock(&shard->lock);
    if (batch->ordered && v->last)
        pass_on(s, shard);
}

/* Visit the i-th of those left; another comes into its place. */
static void visit_nth(weir_shared *s, struct visits *v, uint32_t i)
{
    uint32_t j = v->shard[i];

    v->shard[i] = v->shard[--v->left];
    visit(s, v, j, v->left == 0 ? j : v->shard[i < v->left ? i : 0]);
}

/* At every shard that can be entered. False if there is none. */
static bool visit_some(weir_shared *s, struct visits *v)
{
    uint32_t before = v->left;

    for (uint32_t i = 0; i < v->left;) {
        if (enter(&s->shard[v->shard[i]], v->batch))
            visit_nth(s, v, i);
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
        if (v->batch->ordered) {
            await_turn(s, v);
        } else {
            pthread_mutex_lock(&s->shard[v->shard[0]].lock);
            visit_nth(s, v, 0);
        }
    }
}

/* ---- a batch ---- */

/* Those that have keys; with a ticket all, as it must be passed on. Threads that come at
 * once begin far apart. */
static void plan_visits(weir_shared *s, struct visits *v)
{
    uint32_t call = atomic_fetch_add_explicit(&s->calls, 1, memory_order_relaxed);
    uint32_t from =
        v->batch->ordered ? 0 : (uint32_t)((uint64_t)(call * UINT32_C(0x9e3779b9)) * s->n >> 32);

    v->left = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t j = (from + i) % s->n;

        if (v->batch->ordered || !v->dealt || v->dealt->count[j] > 0)
            v->shard[v->left++] = (uint16_t)j;
    }
}

void shared_show_dealt(weir_shared *s, const struct showing *batch, uint32_t shard)
{
    struct visits v = {.batch = batch, .last = true, .left = 1, .shard = {(uint16_t)shard}};

    visit_all(s, &v);
}

static bool locates(const weir_shared *s, const struct weir_key *keys, size_t n,
                    uint64_t *slot_refs)
{
    const weir_filter *any = s->shard[0].filter;

    return any->ops->locate && any->ops->locate(any, keys, n, slot_refs);
}

static void show_by_shard(weir_shared *s, const struct showing *batch)
{
    struct dealt dealt;
    struct visits v = {.batch = batch, .dealt = &dealt};
    size_t n;

    do {
        n = batch->n - v.begin < DEALT_MOST / 2 ? batch->n - v.begin : DEALT_MOST / 2;
        dealt.located = !batch->answer && locates(s, batch->keys + v.begin, n, dealt.slot_refs);
        n = deal(&dealt, batch->keys + v.begin, n, s);
        v.last = v.begin + n == batch->n;
        plan_visits(s, &v);
        visit_all(s, &v);
        v.begin += n;
    } while (v.begin < batch->n);
}

void shared_show(weir_shared *s, const struct showing *batch)
{
    if (s->n == 1)
        shared_show_dealt(s, batch, 0);
    else
        show_by_shard(s, batch);
}
