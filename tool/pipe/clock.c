/* clock.c - event time: see pipe.h. */
#include "pipe/pipe.h"

#include "cli/units.h"

/* ---- too far ahead? ---- */

/* The time of record i of the batch or after it; NO_TIME if it has none or is unknown. */
static uint64_t time_behind(const struct batch *b, uint64_t i)
{
    if (i < b->n)
        return b->bads && b->bad[i] ? NO_TIME : b->event.time[i];
    return i - b->n < b->event.aheads && !b->failed ? b->event.ahead[i - b->n] : NO_TIME;
}

/* Are most of the records after it as far ahead? If there are none, compare with the machine's
 * clock. */
static bool others_agree(const struct event_clock *c, const struct batch *b, uint32_t i)
{
    uint64_t time = b->event.time[i], least = time > c->span ? time - c->span : 0;
    uint32_t there = 0, agree = 0;

    if (c->now != NO_TIME)
        least = c->now + c->span + 1;
    for (uint64_t j = i + 1; j <= (uint64_t)i + LOOK_AHEAD; j++) {
        uint64_t other = time_behind(b, j);

        there += other != NO_TIME;
        agree += other != NO_TIME && other >= least;
    }
    return there ? 2 * agree > there : time <= b->read_at;
}

static bool is_far_ahead(const struct event_clock *c, uint64_t time)
{
    return c->now == NO_TIME || (time > c->now && time - c->now > c->span);
}

/* ---- a batch ---- */

static void refuse_ahead(const struct event_clock *c, struct batch *b, uint32_t i)
{
    if (c->now == NO_TIME)
        batch_fault(b, i, c->skip, "its time is later than those of the records after it");
    else
        batch_fault(b, i, c->skip,
                    "its time is %s later than any before it, and the records after it do not "
                    "follow",
                    show_duration((double)(b->event.time[i] - c->now) / 1000).text);
}

/* Count a late record, or reject it. */
static void take_late(const struct event_clock *c, struct batch *b, uint32_t i)
{
    uint64_t late = c->now - b->event.time[i];

    if (late > c->lateness) {
        batch_fault(b, i, c->skip,
                    "its time is %s older than the newest before it; --lateness "
                    "allows %s",
                    show_duration((double)late / 1000).text,
                    show_duration((double)c->lateness / 1000).text);
        batch_blame(b, i, BAD_LATE);
        return;
    }
    b->event.late++;
    b->event.most_late = late > b->event.most_late ? late : b->event.most_late;
    b->event.time[i] = c->now;
}

static void take(struct event_clock *c, struct batch *b, uint32_t i)
{
    if (b->event.time[i] == NO_TIME)
        b->event.time[i] = c->now == NO_TIME ? 0 : c->now;
    else if (is_far_ahead(c, b->event.time[i]) && !others_agree(c, b, i))
        refuse_ahead(c, b, i);
    else if (c->now != NO_TIME && b->event.time[i] < c->now)
        take_late(c, b, i);
    else
        c->now = b->event.time[i];
}

void clock_batch(struct event_clock *c, struct batch *b)
{
    b->event.begun = c->now;
    for (uint32_t i = 0; i < b->n; i++) {
        if (!b->bads || !b->bad[i])
            take(c, b, i);
        b->event.begun = b->event.begun == NO_TIME ? c->now : b->event.begun;
    }
    b->event.clock = c->now;
}

/* ---- waiting ---- */

/* May this record be far ahead of the clock? Of LOOK_AHEAD consecutive records with a time, at
 * least one is accepted: if all are too far ahead, the later ones confirm the first. So a record
 * that is more than a span ahead of the clock is that far ahead of one of them. If one has no time,
 * or is older than the first by more than a span, all of them may have been rejected. */
static bool leaps(const uint64_t *before, uint64_t time, uint64_t span)
{
    uint64_t least = before[0];

    if (time == NO_TIME)
        return false;
    for (uint32_t i = 0; i < LOOK_AHEAD; i++) {
        if (before[i] == NO_TIME)
            return true;
        least = before[i] < least ? before[i] : least;
    }
    return before[0] - least > span || (time > least && time - least > span);
}

bool clock_may_leap(const struct look_behind *l, const uint64_t *time, uint32_t n, uint64_t span)
{
    uint64_t all[3 * LOOK_AHEAD];
    uint32_t size = 0;

    for (uint32_t i = 0; i < LOOK_AHEAD; i++)
        all[size++] = l->time[i];
    for (uint32_t i = n > 2 * LOOK_AHEAD ? n - 2 * LOOK_AHEAD : 0; i < n; i++)
        all[size++] = time[i];
    for (uint32_t i = size - (n < LOOK_AHEAD ? n : LOOK_AHEAD); i < size; i++)
        if (leaps(all + i - LOOK_AHEAD, all[i], span))
            return true;
    return false;
}
