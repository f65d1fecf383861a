/* source.c - see source.h. */
#include "pipe/source.h"

#include <string.h>
#include <unistd.h>

#include "cli/messages.h"
#include "pick/pick.h"

#define PATIENCE 200 /* milliseconds, if there is other work to do meanwhile */

/* ---- records that have a time ---- */

static uint64_t time_of(void *context, struct batch *b, uint32_t i)
{
    struct file_source *s = context;

    return pick_time_early(&s->picker, b, i, s->formed ? &s->format : NULL);
}

/* The times of the last `most` records of a batch. Returns how many there are. */
static uint32_t latest_times(struct file_source *s, struct batch *b, uint64_t *time, uint32_t most)
{
    uint32_t n = b->n < most ? b->n : most;

    for (uint32_t i = 0; i < n; i++)
        time[i] = time_of(s, b, b->n - n + i);
    return n;
}

static void learn_format(struct file_source *s, struct batch *b)
{
    if (s->formed || !pick_time_format(&s->picker, b, &s->format))
        return;
    s->formed = true;
    if (!s->quiet)
        note("the times in --time %s are read as %s; --time-format sets another format",
             s->time->field, time_format_words(&s->format));
}

static bool must_wait(void *context, struct batch *b)
{
    struct file_source *s = context;
    uint64_t time[2 * LOOK_AHEAD];

    if (!pick_learn(&s->picker, s->reader.header, s->reader.header_size, b)) {
        s->refused_header = true;
        return false;
    }
    learn_format(s, b);
    return s->formed && clock_may_leap(&s->behind, time, latest_times(s, b, time, 2 * LOOK_AHEAD),
                                       s->time->span);
}

/* Pass on the records of the batch. */
static void look_behind(struct file_source *s, struct batch *b)
{
    uint64_t time[LOOK_AHEAD];
    uint32_t n = latest_times(s, b, time, LOOK_AHEAD);

    memmove(s->behind.time, s->behind.time + n, (LOOK_AHEAD - n) * sizeof *time);
    memcpy(s->behind.time + LOOK_AHEAD - n, time, n * sizeof *time);
    b->event.format = s->formed ? &s->format : NULL;
}

static bool open_time(struct file_source *s, const struct records *r)
{
    const char *why = r->time.format ? time_format_read(r->time.format, &s->format) : NULL;

    if (why)
        return reject("--time-format %s: %s", r->time.format, why);
    s->formed = r->time.format;
    s->time = &r->time;
    s->clock = (struct event_clock){
        .span = r->time.span,
        .lateness = r->time.limited ? (uint64_t)(r->time.lateness * 1000) : UINT64_MAX,
        .skip = r->skip};
    s->reader.hold = (struct holding){.context = s, .wait = must_wait, .time = time_of};
    source_set_clock(s, NO_TIME, false);
    return true;
}

void source_set_clock(struct file_source *s, uint64_t now, bool at_once)
{
    s->clock.now = now;
    s->reader.hold.at_once = at_once;
    for (uint32_t i = 0; i < LOOK_AHEAD; i++)
        s->behind.time[i] = now;
}

struct event_clock *source_clock(struct file_source *s)
{
    return s->time ? &s->clock : NULL;
}

/* ---- the whole ---- */

bool source_open(struct file_source *s, const struct records *r, struct inputs inputs,
                 const char *command, bool quiet)
{
    *s = (struct file_source){.quiet = quiet};
    read_open(&s->reader, r, inputs);
    if (inputs.count == 0 && isatty(0) && !quiet)
        note("reading from the terminal; Ctrl-D ends, 'weir help %s' explains", command);
    if (!pick_open(&s->picker, r) || (r->time.field && !open_time(s, r)))
        return false;
    s->picker.quiet = quiet;
    return true;
}

void source_close(struct file_source *s)
{
    read_close(&s->reader);
    pick_close(&s->picker);
}

void source_hurry(struct file_source *s)
{
    s->reader.bytes.patience = PATIENCE;
}

/* The time for filters with span=: that of reading. */
static enum read_result read_records(void *context, struct batch *b)
{
    struct file_source *s = context;
    enum read_result result = read_batch(&s->reader, b);

    b->read_at = steady_time();
    if (s->refused_header)
        return READ_BATCH;
    if (!pick_learn(&s->picker, s->reader.header, s->reader.header_size, b)) {
        s->refused_header = true;
        return READ_BATCH;
    }
    if (s->time && result == READ_BATCH) {
        learn_format(s, b); /* where nothing had to wait */
        look_behind(s, b);
    }
    return result;
}

static void pick_keys(void *context, struct batch *b)
{
    const struct file_source *s = context;

    pick_batch(&s->picker, b);
}

struct source source_of_files(struct file_source *s)
{
    return (struct source){.context = s, .read = read_records, .prepare = pick_keys};
}
