/* pipe.c - see pipe.h: the only place where the stages meet. */
#include "pipe/pipe.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "pipe/threads.h"

#define FILL_EVERY 1.0 /* seconds; counting cells takes milliseconds */

/* How full a part of the verdict is; looked at by whoever works on it. */
struct gauge {
    _Atomic double fill;
    double next;
};

struct driver {
    struct pipe *pipe;
    struct gauge *gauge;
    uint32_t before; /* parts before those of the verdict: 1 for the clock if it has its own */
};

static enum read_result do_read(void *context, struct batch *b)
{
    const struct pipe *p = ((struct driver *)context)->pipe;
    enum read_result result = p->source.read(p->source.context, b);

    if (result == READ_BATCH && p->verdict.ticket)
        b->ticket = p->verdict.ticket(p->verdict.context);
    return result;
}

static void set_all_new(struct batch *b)
{
    memset(b->verdict, WEIR_NEW, b->n);
    for (uint32_t i = 0; b->bads && i < b->n; i++)
        if (b->bad[i])
            b->verdict[i] = VERDICT_NONE;
}

/* It is known which records are bad. */
static void sort(const struct pipe *p, struct batch *b)
{
    if (!p->verdict.parts)
        set_all_new(b);
    else if (p->verdict.sort)
        p->verdict.sort(p->verdict.context, b);
}

static void do_prepare(void *context, struct batch *b)
{
    const struct pipe *p = ((struct driver *)context)->pipe;

    p->source.prepare(p->source.context, b);
    if (p->verdict.prepare)
        p->verdict.prepare(p->verdict.context, b);
    if (!p->clock)
        sort(p, b);
}

/* The clock comes before all parts of the verdict, and may find bad records. */
static void tell_time(const struct pipe *p, struct batch *b)
{
    clock_batch(p->clock, b);
    sort(p, b);
}

static void look_at_fill(struct gauge *g, const struct verdict *v, uint32_t part)
{
    double at = now();

    if (at < g->next)
        return;
    g->fill = v->fill(v->context, part);
    g->next = at + FILL_EVERY;
}

static void do_give(void *context, struct batch *b, uint32_t part)
{
    struct driver *r = context;
    const struct verdict *v = &r->pipe->verdict;

    if (part == 0 && r->pipe->clock)
        tell_time(r->pipe, b);
    if (part < r->before)
        return;
    part -= r->before;
    if (v->give)
        v->give(v->context, b, part);
    if (v->fill && r->pipe->progress && r->pipe->progress->bar)
        look_at_fill(&r->gauge[part], v, part);
}

static void note_first_skipped(struct tally *t, const struct batch *b)
{
    const uint8_t *first = memchr(b->verdict, VERDICT_NONE, b->n);

    if (!first || !b->name)
        return;
    t->skipped_in = b->name;
    t->skipped_line = batch_line(b, (uint32_t)(first - b->verdict));
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
    t->late += b->late;
    t->most_late = b->most_late > t->most_late ? b->most_late : t->most_late;
}

static void draw(struct driver *r)
{
    struct pipe *p = r->pipe;
    double fill = 0;

    if (!p->progress || !progress_due(p->progress))
        return;
    for (uint32_t i = 0; i < p->verdict.parts && p->verdict.fill; i++)
        fill += r->gauge[i].fill / p->verdict.parts;
    progress_draw(p->progress, &p->tally, p->verdict.fill ? fill : -1);
}

static void do_look(void *context)
{
    struct driver *r = context;
    const struct sink *s = &r->pipe->sink;

    draw(r);
    if (s->look)
        s->look(s->context);
}

static bool do_write(void *context, struct batch *b)
{
    struct driver *r = context;
    struct pipe *p = r->pipe;

    if (p->verdict.complete)
        p->verdict.complete(p->verdict.completer, b);
    for (uint32_t i = 0; b->bads && i < b->n; i++)
        if (b->bad[i] == BAD_KEYLESS)
            b->verdict[i] = VERDICT_KEYLESS;
    if (p->sink.take && !p->sink.take(p->sink.context, b))
        return false;
    count(&p->tally, b);
    do_look(r);
    p->failed = b->failed;
    if (b->failed)
        memcpy(p->failure, b->failure, sizeof p->failure);
    return !b->failed;
}

static bool wants_rest(void *context)
{
    const struct sink *s = &((struct driver *)context)->pipe->sink;

    return s->wants_rest && s->wants_rest(s->context);
}

static bool do_rest(void *context)
{
    const struct sink *s = &((struct driver *)context)->pipe->sink;

    return s->rest(s->context);
}

bool pipe_run(struct pipe *p)
{
    static const struct threads_work work = {.read = do_read,
                                             .prepare = do_prepare,
                                             .give = do_give,
                                             .write = do_write,
                                             .look = do_look,
                                             .wants_rest = wants_rest,
                                             .rest = do_rest};
    uint32_t parts = p->verdict.parts ? p->verdict.parts : 1;
    struct driver r = {.pipe = p, .gauge = calloc(parts, sizeof *r.gauge)};
    r.before = p->clock && parts > 1 && !p->verdict.first_leads;
    bool ok = r.gauge && threads_run(&work, &r, p->threads, parts + r.before,
                                     r.before || p->verdict.first_leads);

    free(r.gauge);
    return ok || reject("memory is short");
}
