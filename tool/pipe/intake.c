/* intake.c - see intake.h. */
#include "pipe/intake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipe/threads.h"
#include "pipe/pick.h"
#include "cli/progress.h"
#include "pipe/read.h"
#include "cli/messages.h"
#include "cli/signals.h"

#define PATIENCE 200 /* milliseconds, where something is to be looked at meanwhile */

struct state {
    const struct intake *in;
    struct reader reader;
    struct picker picker;
    bool failed;
    char failure[512];
};

static enum read_result do_read(void *context, struct batch *b)
{
    struct state *s = context;
    enum read_result result = read_batch(&s->reader, b);

    b->read_at = time_of_day();
    if (!pick_learn(&s->picker, s->reader.header, s->reader.header_size, b))
        return READ_BATCH;
    return result;
}

static void do_prepare(void *context, struct batch *b)
{
    struct state *s = context;

    pick_batch(&s->picker, b);
}

static void do_take(void *context, struct batch *b, uint32_t shard)
{
    struct state *s = context;

    (void)shard;
    s->in->take(s->in->context, b);
}

static bool do_note(void *context, struct batch *b)
{
    struct state *s = context;

    s->failed = b->failed;
    if (b->failed)
        memcpy(s->failure, b->failure, sizeof s->failure);
    return true;
}

static bool do_look(void *context)
{
    struct state *s = context;

    if (s->in->look)
        s->in->look(s->in->context);
    return false; /* no rest is wanted */
}

static bool do_rest(void *context)
{
    (void)context;
    return true;
}

static const struct threads_work work = {do_read, do_prepare, do_take, do_note, do_look, do_rest};

static int run(struct state *s)
{
    const struct intake *in = s->in;

    read_open(&s->reader, in->records, in->inputs);
    s->reader.patience = in->look ? PATIENCE : -1;
    if (in->inputs.count == 0 && isatty(0) && !in->quiet)
        note("reading from the terminal; Ctrl-D ends, 'weir help %s' explains", in->command);
    if (!pick_open(&s->picker, in->records))
        return EXIT_ERROR;
    /* One takes while the other reads on; but look() must not meet a take(). */
    if (!threads_run(&work, s, in->look ? 1 : 2, 1))
        return fail("memory is short");
    if (s->failed && *s->failure)
        fail("%s", s->failure);
    return s->failed ? EXIT_ERROR : EXIT_FINE;
}

int intake_run(const struct intake *in)
{
    struct state *s = calloc(1, sizeof *s);
    int status;

    if (!s || !signals_watch())
        return fail("the system is short of memory or files");
    s->in = in;
    status = run(s);
    read_close(&s->reader);
    pick_close(&s->picker);
    free(s);
    return status;
}
