/* threads.c - the stages on any number of threads: see pipe.h. */
#include "pipe/pipe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LOOKS 1000 /* for a change, before an idle thread sleeps: about 20 us, chosen */
#ifdef __x86_64__
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() (void)0
#endif

/* The last completed stage of a batch. */
enum stage { FREE, READ, PREPARING, PREPARED, ORDERED, GIVING, GIVEN };

struct slot {
    struct batch *batch;
    enum stage stage;
};

struct threads {
    const struct stages *stages;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t slots, giving;
    struct slot *slot;
    uint64_t next_read, next_order, next_give, next_write; /* numbers of batches */
    uint64_t last;                                         /* the batch to stop after */
    atomic_uint changes;                                   /* tasks done */
    bool reading, ordering, writing, resting, ended, stopped;
};

enum task_kind {
    TASK_NONE,
    TASK_DONE,
    TASK_WRITE,
    TASK_GIVE,
    TASK_ORDER,
    TASK_PREPARE,
    TASK_REST,
    TASK_READ
};

struct task {
    enum task_kind kind;
    struct slot *slot;
};

static struct slot *slot_of(struct threads *c, uint64_t number)
{
    return &c->slot[number % c->slots];
}

/* ---- choosing; the lock is held ---- */

static bool is_next(struct threads *c, uint64_t number, enum stage stage)
{
    return number < c->next_read && number <= c->last && slot_of(c, number)->stage == stage;
}

static struct task choose_prepare(struct threads *c)
{
    for (uint64_t i = c->next_write; i < c->next_read; i++)
        if (slot_of(c, i)->stage == READ)
            return (struct task){TASK_PREPARE, slot_of(c, i)};
    return (struct task){.kind = TASK_NONE};
}

static struct task choose_read(struct threads *c)
{
    struct slot *slot = slot_of(c, c->next_read);
    bool empty = c->next_write == c->next_read;

    if (c->reading)
        return (struct task){.kind = TASK_NONE};
    if (c->resting)
        return (struct task){.kind = empty ? TASK_REST : TASK_NONE};
    if (c->ended || c->last < UINT64_MAX || slot->stage != FREE)
        return (struct task){.kind = c->ended && empty ? TASK_DONE : TASK_NONE};
    return (struct task){.kind = TASK_READ, .slot = slot};
}

static struct task choose(struct threads *c)
{
    struct task task;

    if (c->stopped || c->next_write > c->last)
        return (struct task){.kind = TASK_DONE};
    if (!c->writing && is_next(c, c->next_write, GIVEN))
        return (struct task){TASK_WRITE, slot_of(c, c->next_write)};
    if (c->giving < c->stages->parallel && is_next(c, c->next_give, ORDERED))
        return (struct task){TASK_GIVE, slot_of(c, c->next_give)};
    if (!c->ordering && is_next(c, c->next_order, PREPARED))
        return (struct task){TASK_ORDER, slot_of(c, c->next_order)};
    task = choose_prepare(c);
    if (task.kind == TASK_NONE)
        task = choose_read(c);
    return task;
}

static void begin(struct threads *c, struct task task)
{
    c->writing |= task.kind == TASK_WRITE;
    c->ordering |= task.kind == TASK_ORDER;
    c->reading |= task.kind == TASK_READ || task.kind == TASK_REST;
    if (task.kind == TASK_PREPARE)
        task.slot->stage = PREPARING;
    if (task.kind == TASK_GIVE) {
        task.slot->stage = GIVING;
        c->giving++;
        c->next_give++;
    }
}

/* ---- doing; the lock is held only to record the result ---- */

static void stop_after(struct threads *c, const struct batch *b)
{
    if (b->failed && b->number < c->last)
        c->last = b->number;
}

static void do_read(struct threads *c, struct slot *slot)
{
    struct batch *b = slot->batch;

    batch_reset(b);
    enum read_result result = c->stages->read(c->context, b);
    pthread_mutex_lock(&c->lock);
    c->reading = false;
    if (result == READ_NOTHING && !c->writing) {
        c->stages->look(c->context);
        c->resting |= c->stages->wants_rest(c->context);
    }
    c->ended |= result == READ_END;
    if (result == READ_BATCH) {
        b->number = c->next_read++;
        slot->stage = READ;
        stop_after(c, b);
    }
}

static void do_prepare(struct threads *c, struct slot *slot)
{
    c->stages->prepare(c->context, slot->batch);
    pthread_mutex_lock(&c->lock);
    slot->stage = c->stages->order ? PREPARED : ORDERED;
    stop_after(c, slot->batch);
}

static void do_order(struct threads *c, struct slot *slot)
{
    c->stages->order(c->context, slot->batch);
    pthread_mutex_lock(&c->lock);
    slot->stage = ORDERED;
    c->next_order++;
    c->ordering = false;
    stop_after(c, slot->batch);
}

static void do_give(struct threads *c, struct slot *slot)
{
    c->stages->give(c->context, slot->batch);
    pthread_mutex_lock(&c->lock);
    slot->stage = GIVEN;
    c->giving--;
    stop_after(c, slot->batch);
}

static void do_write(struct threads *c, struct slot *slot)
{
    bool ok = c->stages->write(c->context, slot->batch);

    pthread_mutex_lock(&c->lock);
    slot->stage = FREE;
    c->next_write++;
    c->writing = false;
    c->stopped |= !ok;
    c->resting |= ok && c->stages->wants_rest(c->context);
}

static void do_rest(struct threads *c)
{
    bool ok = c->stages->rest(c->context);

    pthread_mutex_lock(&c->lock);
    c->reading = c->resting = false;
    c->stopped |= !ok;
}

/* Ends with the lock held again. */
static void perform(struct threads *c, struct task task)
{
    switch (task.kind) {
    case TASK_READ:
        do_read(c, task.slot);
        break;
    case TASK_PREPARE:
        do_prepare(c, task.slot);
        break;
    case TASK_ORDER:
        do_order(c, task.slot);
        break;
    case TASK_GIVE:
        do_give(c, task.slot);
        break;
    case TASK_WRITE:
        do_write(c, task.slot);
        break;
    default:
        do_rest(c);
    }
}

/* Spin for a while before sleeping: most tasks are shorter than a sleep and a wake-up. */
static void look_awhile(struct threads *c)
{
    unsigned before = atomic_load_explicit(&c->changes, memory_order_relaxed);

    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(&c->changes, memory_order_relaxed) != before)
            break;
        PAUSE();
    }
    pthread_mutex_lock(&c->lock);
}

static void *take_part(void *context)
{
    struct threads *c = context;
    struct task task;
    bool looked = false;

    pthread_mutex_lock(&c->lock);
    while ((task = choose(c)).kind != TASK_DONE) {
        if (task.kind == TASK_NONE) {
            if (looked)
                pthread_cond_wait(&c->changed, &c->lock);
            else
                look_awhile(c);
            looked = !looked;
            continue;
        }
        looked = false;
        begin(c, task);
        pthread_mutex_unlock(&c->lock);
        perform(c, task);
        atomic_fetch_add_explicit(&c->changes, 1, memory_order_relaxed);
        pthread_cond_broadcast(&c->changed);
    }
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- the whole ---- */

static bool threads_open(struct threads *c)
{
    c->slot = calloc(c->slots, sizeof *c->slot);
    if (!c->slot)
        return false;
    for (uint32_t i = 0; i < c->slots; i++)
        if (!(c->slot[i].batch = batch_open()))
            return false;
    return pthread_mutex_init(&c->lock, NULL) == 0 && pthread_cond_init(&c->changed, NULL) == 0;
}

static void threads_close(struct threads *c)
{
    for (uint32_t i = 0; c->slot && i < c->slots; i++)
        batch_close(c->slot[i].batch);
    free(c->slot);
}

bool threads_run(const struct stages *stages, void *context, uint32_t threads)
{
    struct threads c = {.stages = stages, .context = context, .last = UINT64_MAX};
    pthread_t *others = calloc(threads, sizeof *others);
    uint32_t started = 0;

    c.slots = threads > 1 ? 2 * threads + 1 : 1;
    bool ok = others && threads_open(&c);
    while (ok && started + 1 < threads &&
           pthread_create(&others[started], NULL, take_part, &c) == 0)
        started++; /* fewer threads do the same work */
    if (ok)
        take_part(&c);
    while (started > 0)
        pthread_join(others[--started], NULL);
    threads_close(&c);
    free(others);
    return ok;
}
