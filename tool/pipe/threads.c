/* threads.c - see threads.h. */
#include "pipe/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LOOKS                                                                                      \
    1000 /* at what others do, before a thread without a task sleeps: some 20 us; guessed */
#ifdef __x86_64__
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() (void)0
#endif

enum stage { FREE, READ, PREPARING, PREPARED };

struct slot {
    struct batch *batch;
    enum stage stage;
    uint32_t given; /* parts of its verdict */
};

struct turn {
    uint64_t next; /* batch that the part takes next */
    bool busy;
};

struct threads {
    const struct threads_work *work;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t parts, slots;
    bool first_leads;
    struct slot *slot;
    struct turn *turn;
    uint64_t next_read, next_write;
    uint64_t last;       /* number of the batch to stop after */
    atomic_uint changes; /* tasks done */
    bool reading, writing, resting, ended, stopped;
};

enum task_kind { TASK_NONE, TASK_DONE, TASK_WRITE, TASK_GIVE, TASK_PREPARE, TASK_REST, TASK_READ };

struct task {
    enum task_kind kind;
    struct slot *slot;
    uint32_t part;
};

static struct slot *slot_of(struct threads *c, uint64_t number)
{
    return &c->slot[number % c->slots];
}

/* ---- choosing; the lock is held ---- */

static struct task choose_give(struct threads *c)
{
    struct task task = {.kind = TASK_NONE};
    uint64_t oldest = UINT64_MAX;

    for (uint32_t i = 0; i < c->parts; i++) {
        struct turn *t = &c->turn[i];

        if (!t->busy && t->next < c->next_read && t->next <= c->last && t->next < oldest &&
            slot_of(c, t->next)->stage == PREPARED &&
            (i == 0 || !c->first_leads || t->next < c->turn[0].next)) {
            oldest = t->next;
            task = (struct task){TASK_GIVE, slot_of(c, t->next), i};
        }
    }
    return task;
}

static struct task choose_prepare(struct threads *c)
{
    for (uint64_t i = c->next_write; i < c->next_read; i++)
        if (slot_of(c, i)->stage == READ)
            return (struct task){.kind = TASK_PREPARE, .slot = slot_of(c, i)};
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
    struct slot *oldest = slot_of(c, c->next_write);
    struct task task;

    if (c->stopped || c->next_write > c->last)
        return (struct task){.kind = TASK_DONE};
    if (!c->writing && c->next_write < c->next_read && oldest->given == c->parts)
        return (struct task){.kind = TASK_WRITE, .slot = oldest};
    task = choose_give(c);
    if (task.kind == TASK_NONE)
        task = choose_prepare(c);
    if (task.kind == TASK_NONE)
        task = choose_read(c);
    return task;
}

static void begin(struct threads *c, struct task task)
{
    c->writing |= task.kind == TASK_WRITE;
    c->reading |= task.kind == TASK_READ || task.kind == TASK_REST;
    if (task.kind == TASK_GIVE)
        c->turn[task.part].busy = true;
    if (task.kind == TASK_PREPARE)
        task.slot->stage = PREPARING;
}

/* ---- doing; the lock is not held, except to tell ---- */

static void stop_after(struct threads *c, const struct batch *b)
{
    if (b->failed && b->number < c->last)
        c->last = b->number;
}

static void do_read(struct threads *c, struct slot *slot)
{
    struct batch *b = slot->batch;

    batch_reset(b);
    enum read_result result = c->work->read(c->context, b);
    pthread_mutex_lock(&c->lock);
    c->reading = false;
    if (result == READ_NOTHING && !c->writing) {
        c->work->look(c->context);
        c->resting |= c->work->wants_rest(c->context);
    }
    c->ended |= result == READ_END;
    if (result == READ_BATCH) {
        b->number = c->next_read++;
        slot->stage = READ;
        slot->given = 0;
        stop_after(c, b);
    }
}

static void do_prepare(struct threads *c, struct slot *slot)
{
    c->work->prepare(c->context, slot->batch);
    pthread_mutex_lock(&c->lock);
    slot->stage = PREPARED;
    stop_after(c, slot->batch);
}

static void do_give(struct threads *c, struct slot *slot, uint32_t part)
{
    c->work->give(c->context, slot->batch, part);
    pthread_mutex_lock(&c->lock);
    slot->given++;
    stop_after(c, slot->batch);
    c->turn[part].next++;
    c->turn[part].busy = false;
}

static void do_write(struct threads *c, struct slot *slot)
{
    bool ok = c->work->write(c->context, slot->batch);

    pthread_mutex_lock(&c->lock);
    slot->stage = FREE;
    slot->given = 0;
    c->next_write++;
    c->writing = false;
    c->stopped |= !ok;
    c->resting |= ok && c->work->wants_rest(c->context);
}

static void do_rest(struct threads *c)
{
    bool ok = c->work->rest(c->context);

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
    case TASK_GIVE:
        do_give(c, task.slot, task.part);
        break;
    case TASK_WRITE:
        do_write(c, task.slot);
        break;
    default:
        do_rest(c);
    }
}

/* Look for a while whether something changes: most tasks are shorter than it takes to fall asleep
 * and be woken. */
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
    c->turn = calloc(c->parts, sizeof *c->turn);
    if (!c->slot || !c->turn)
        return false;
    for (uint32_t i = 0; i < c->slots; i++)
        if (!(c->slot[i].batch = batch_open(c->parts)))
            return false;
    return pthread_mutex_init(&c->lock, NULL) == 0 && pthread_cond_init(&c->changed, NULL) == 0;
}

static void threads_close(struct threads *c)
{
    for (uint32_t i = 0; c->slot && i < c->slots; i++)
        batch_close(c->slot[i].batch);
    free(c->slot);
    free(c->turn);
}

bool threads_run(const struct threads_work *work, void *context, uint32_t threads, uint32_t parts,
                 bool first_leads)
{
    struct threads c = {.work = work,
                        .context = context,
                        .parts = parts,
                        .first_leads = first_leads,
                        .last = UINT64_MAX};
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
