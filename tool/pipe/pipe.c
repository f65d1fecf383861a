/* pipe.c - see pipe.h. Connects the stages and divides them among threads.
 *
 * A ring of batches under one lock. A free thread takes the first of these tasks that can start:
 *
 *   write    the oldest batch, once it has its verdicts      in order, one at a time
 *   give     the verdicts of a batch                         starts in order, up to `parallel`
 *   order    what depends on the records before, such        in order, one at a time
 *            as the time of day
 *   prepare  a batch that was read                           any number at once
 *   rest     no batch is under way, and rest is wanted
 *   read     the next batch, if the ring has a free slot     in order, one at a time
 *
 * So the result does not depend on the number of threads. With one thread, a batch passes all
 * stages before the next is read. A batch may fail in any stage up to write, which reports it; in
 * give only if `parallel` is 1. */
#include "pipe/pipe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

#define FILL_EVERY 1.0 /* seconds; counting cells takes milliseconds */
#define LOOKS 1000     /* for a change, before an idle thread sleeps: about 20 us, chosen */
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

struct driver {
    struct pipe *pipe;
    _Atomic double fill, next_fill; /* for the progress bar */
    bool orders;                    /* there is something to do in order */
    uint32_t parallel;              /* calls of give at once */

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

static struct slot *slot_of(struct driver *c, uint64_t number)
{
    return &c->slot[number % c->slots];
}

/* ---- choosing; the lock is held ---- */

static bool is_next(struct driver *c, uint64_t number, enum stage stage)
{
    return number < c->next_read && number <= c->last && slot_of(c, number)->stage == stage;
}

static struct task choose_prepare(struct driver *c)
{
    for (uint64_t i = c->next_write; i < c->next_read; i++)
        if (slot_of(c, i)->stage == READ)
            return (struct task){TASK_PREPARE, slot_of(c, i)};
    return (struct task){.kind = TASK_NONE};
}

static struct task choose_read(struct driver *c)
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

static struct task choose(struct driver *c)
{
    struct task task;

    if (c->stopped || c->next_write > c->last)
        return (struct task){.kind = TASK_DONE};
    if (!c->writing && is_next(c, c->next_write, GIVEN))
        return (struct task){TASK_WRITE, slot_of(c, c->next_write)};
    if (c->giving < c->parallel && is_next(c, c->next_give, ORDERED))
        return (struct task){TASK_GIVE, slot_of(c, c->next_give)};
    if (!c->ordering && is_next(c, c->next_order, PREPARED))
        return (struct task){TASK_ORDER, slot_of(c, c->next_order)};
    task = choose_prepare(c);
    if (task.kind == TASK_NONE)
        task = choose_read(c);
    return task;
}

static void begin(struct driver *c, struct task task)
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

static void stop_after(struct driver *c, const struct batch *b)
{
    if (b->failed && b->number < c->last)
        c->last = b->number;
}

/* After a batch, and while no records arrive and none are written. */
static void look(struct driver *c)
{
    struct pipe *p = c->pipe;

    if (p->progress && progress_due(p->progress))
        progress_draw(p->progress, &p->tally, p->verdict.fill ? c->fill : -1);
    if (p->sink.look)
        p->sink.look(p->sink.context);
}

static bool wants_rest(const struct driver *c)
{
    const struct sink *s = &c->pipe->sink;

    return s->wants_rest && s->wants_rest(s->context);
}

static void do_read(struct driver *c, struct slot *slot)
{
    const struct pipe *p = c->pipe;
    struct batch *b = slot->batch;

    batch_reset(b);
    enum read_result result = p->source.read(p->source.context, b);
    if (result == READ_BATCH && p->verdict.ticket)
        b->ticket = p->verdict.ticket(p->verdict.context);
    pthread_mutex_lock(&c->lock);
    c->reading = false;
    if (result == READ_NOTHING && !c->writing) {
        look(c);
        c->resting |= wants_rest(c);
    }
    c->ended |= result == READ_END;
    if (result == READ_BATCH) {
        b->number = c->next_read++;
        slot->stage = READ;
        stop_after(c, b);
    }
}

static void do_prepare(struct driver *c, struct slot *slot)
{
    const struct pipe *p = c->pipe;

    p->source.prepare(p->source.context, slot->batch);
    if (p->verdict.prepare)
        p->verdict.prepare(p->verdict.context, slot->batch);
    pthread_mutex_lock(&c->lock);
    slot->stage = c->orders ? PREPARED : ORDERED;
    stop_after(c, slot->batch);
}

static void do_order(struct driver *c, struct slot *slot)
{
    const struct pipe *p = c->pipe;

    if (p->clock)
        clock_batch(p->clock, slot->batch);
    if (p->verdict.order)
        p->verdict.order(p->verdict.context, slot->batch);
    pthread_mutex_lock(&c->lock);
    slot->stage = ORDERED;
    c->next_order++;
    c->ordering = false;
    stop_after(c, slot->batch);
}

static void set_all_new(struct batch *b)
{
    memset(b->verdict, WEIR_NEW, b->n);
    for (uint32_t i = 0; b->bads && i < b->n; i++)
        if (b->bad[i])
            b->verdict[i] = VERDICT_NONE;
}

static void look_at_fill(struct driver *c, const struct verdict *v)
{
    double at = now();

    if (at < c->next_fill)
        return;
    c->next_fill = at + FILL_EVERY;
    c->fill = v->fill(v->context);
}

static void do_give(struct driver *c, struct slot *slot)
{
    const struct verdict *v = &c->pipe->verdict;

    if (v->give)
        v->give(v->context, slot->batch);
    else
        set_all_new(slot->batch);
    if (v->fill && c->pipe->progress && c->pipe->progress->bar)
        look_at_fill(c, v);
    pthread_mutex_lock(&c->lock);
    slot->stage = GIVEN;
    c->giving--;
    stop_after(c, slot->batch);
}

static void note_first_skipped(struct tally *t, const struct batch *b)
{
    const uint8_t *first = memchr(b->verdict, VERDICT_NONE, b->n);

    if (!first || !b->input.name)
        return;
    t->skipped_in = b->input.name;
    t->skipped_line = batch_line(b, (uint32_t)(first - b->verdict));
}

static void note_masked(struct tally *t, const struct batch *b)
{
    if (b->masked && !t->masked && b->input.name) {
        t->masked_in = b->input.name;
        t->masked_line = batch_line(b, b->first_masked);
    }
    t->masked += b->masked;
}

static void count(struct tally *t, const struct batch *b)
{
    uint32_t seen = 0, none = 0, unknown = 0, keyless = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        seen += b->verdict[i] == WEIR_SEEN;
        none += b->verdict[i] == VERDICT_NONE;
        unknown += b->verdict[i] == VERDICT_UNKNOWN;
        keyless += b->verdict[i] == VERDICT_KEYLESS;
    }
    if (none && !t->skipped)
        note_first_skipped(t, b);
    t->records += b->n - none - keyless;
    t->keyless += keyless;
    t->seen += seen;
    t->unanswered += unknown;
    t->skipped += none;
    t->bytes += b->used + b->dropped;
    t->unparsed += b->unparsed;
    note_masked(t, b);
    t->late += b->event.late;
    t->most_late = b->event.most_late > t->most_late ? b->event.most_late : t->most_late;
}

/* False: stop at once. */
static bool write_batch(struct driver *c, struct batch *b)
{
    struct pipe *p = c->pipe;

    if (p->verdict.complete)
        p->verdict.complete(p->verdict.completer, b);
    for (uint32_t i = 0; b->bads && i < b->n; i++)
        if (b->bad[i] == BAD_KEYLESS)
            b->verdict[i] = VERDICT_KEYLESS;
    if (p->sink.take && !p->sink.take(p->sink.context, b))
        return false;
    count(&p->tally, b);
    look(c);
    p->failed = b->failed;
    if (b->failed)
        memcpy(p->failure, b->failure, sizeof p->failure);
    return !b->failed;
}

static void do_write(struct driver *c, struct slot *slot)
{
    bool ok = write_batch(c, slot->batch);

    pthread_mutex_lock(&c->lock);
    slot->stage = FREE;
    c->next_write++;
    c->writing = false;
    c->stopped |= !ok;
    c->resting |= ok && wants_rest(c);
}

static void do_rest(struct driver *c)
{
    bool ok = c->pipe->sink.rest(c->pipe->sink.context);

    pthread_mutex_lock(&c->lock);
    c->reading = c->resting = false;
    c->stopped |= !ok;
}

/* Ends with the lock held again. */
static void perform(struct driver *c, struct task task)
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
static void look_awhile(struct driver *c)
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
    struct driver *c = context;
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

static bool driver_open(struct driver *c)
{
    c->slot = calloc(c->slots, sizeof *c->slot);
    if (!c->slot)
        return false;
    for (uint32_t i = 0; i < c->slots; i++)
        if (!(c->slot[i].batch = batch_open()))
            return false;
    return pthread_mutex_init(&c->lock, NULL) == 0 && pthread_cond_init(&c->changed, NULL) == 0;
}

bool pipe_run(struct pipe *p)
{
    struct driver c = {.pipe = p,
                       .orders = p->clock || p->verdict.order,
                       .parallel = p->verdict.parallel ? p->verdict.parallel : 1,
                       .slots = p->threads > 1 ? 2 * p->threads + 1 : 1,
                       .last = UINT64_MAX};
    pthread_t *others = calloc(p->threads, sizeof *others);
    uint32_t started = 0;

    bool ok = others && driver_open(&c);
    while (ok && started + 1 < p->threads &&
           pthread_create(&others[started], NULL, take_part, &c) == 0)
        started++; /* fewer threads do the same work */
    if (ok)
        take_part(&c);
    while (started > 0)
        pthread_join(others[--started], NULL);
    for (uint32_t i = 0; c.slot && i < c.slots; i++)
        batch_close(c.slot[i].batch);
    free(c.slot);
    free(others);
    return ok || reject("out of memory");
}
