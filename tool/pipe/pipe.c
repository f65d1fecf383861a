/* pipe.c - see pipe.h. Only this file connects the stages. */
#include "pipe/pipe.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

#define FILL_EVERY 1.0 /* seconds; counting cells takes milliseconds */

struct driver {
    struct pipe *pipe;
    _Atomic double fill, next_fill;
};

static enum read_result do_read(void *context, struct batch *b)
{
    const struct pipe *p = ((struct driver *)context)->pipe;
    enum read_result result = p->source.read(p->source.context, b);

    if (result == READ_BATCH && p->verdict.ticket)
        b->ticket = p->verdict.ticket(p->verdict.context);
    return result;
}

static void do_prepare(void *context, struct batch *b)
{
    const struct pipe *p = ((struct driver *)context)->pipe;

    p->source.prepare(p->source.context, b);
    if (p->verdict.prepare)
        p->verdict.prepare(p->verdict.context, b);
}

static void do_order(void *context, struct batch *b)
{
    const struct pipe *p = ((struct driver *)context)->pipe;

    if (p->clock)
        clock_batch(p->clock, b);
    if (p->verdict.order)
        p->verdict.order(p->verdict.context, b);
}

static void set_all_new(struct batch *b)
{
    memset(b->verdict, WEIR_NEW, b->n);
    for (uint32_t i = 0; b->bads && i < b->n; i++)
        if (b->bad[i])
            b->verdict[i] = VERDICT_NONE;
}

static void look_at_fill(struct driver *r, const struct verdict *v)
{
    double at = now();

    if (at < r->next_fill)
        return;
    r->next_fill = at + FILL_EVERY;
    r->fill = v->fill(v->context);
}

static void do_give(void *context, struct batch *b)
{
    struct driver *r = context;
    const struct verdict *v = &r->pipe->verdict;

    if (v->give)
        v->give(v->context, b);
    else
        set_all_new(b);
    if (v->fill && r->pipe->progress && r->pipe->progress->bar)
        look_at_fill(r, v);
}

static void note_first_skipped(struct tally *t, const struct batch *b)
{
    const uint8_t *first = memchr(b->verdict, VERDICT_NONE, b->n);

    if (!first || !b->input.name)
        return;
    t->skipped_in = b->input.name;
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
    t->unparsed += b->unparsed;
    t->late += b->event.late;
    t->most_late = b->event.most_late > t->most_late ? b->event.most_late : t->most_late;
}

static void draw(struct driver *r)
{
    struct pipe *p = r->pipe;

    if (p->progress && progress_due(p->progress))
        progress_draw(p->progress, &p->tally, p->verdict.fill ? r->fill : -1);
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
    const struct stages stages = {.read = do_read,
                                  .prepare = do_prepare,
                                  .order = p->clock || p->verdict.order ? do_order : NULL,
                                  .give = do_give,
                                  .write = do_write,
                                  .look = do_look,
                                  .wants_rest = wants_rest,
                                  .rest = do_rest,
                                  .parallel = p->verdict.parallel ? p->verdict.parallel : 1};
    struct driver r = {.pipe = p};

    return threads_run(&stages, &r, p->threads) || reject("out of memory");
}
