/* flood.c - see flood.h. Drops are counted in slots of 10,000 records. */
#include "verdict/flood.h"

#include <stdio.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/normalize.h"

/* The beginning of a text, with blanks for what cannot be printed. */
static void set_excerpt(struct flood *f, struct weir_bytes text)
{
    const char *at = text.data, *end = at + text.size;
    size_t used = 0;

    while (at && at < end && used + 4 < sizeof f->excerpt) {
        size_t n = utf8_printable(at, (size_t)(end - at));

        if (n)
            memcpy(f->excerpt + used, at, n);
        else
            f->excerpt[used] = ' ';
        used += n ? n : 1;
        at += n ? n : 1;
    }
    f->excerpt[used] = '\0';
}

static void vote(struct flood *f, struct representative r)
{
    if (f->votes == 0 && f->candidate != r.id) {
        f->candidate = r.id;
        set_excerpt(f, r.text);
    }
    f->votes = f->votes == 0 || f->candidate == r.id ? f->votes + 1 : f->votes - 1;
}

/* At the end of a slot, f->slot is the next one, whose count is FLOOD_RECORDS old. */
static bool is_flood(struct flood *f)
{
    uint64_t dropped = 0;

    if (f->in_slot > 0)
        return false;
    for (int i = 0; i < FLOOD_SLOTS; i++)
        dropped += f->dropped[i];
    f->dropped[f->slot] = 0;
    return f->records >= FLOOD_RECORDS && dropped > FLOOD_RECORDS / 2;
}

static void describe(const struct flood *f, char *text, size_t size)
{
    char most[EXCERPT + 40] = "";

    if (f->votes && f->candidate && *f->excerpt)
        snprintf(most, sizeof most, ", many of them with the text '%s'", f->excerpt);
    else if (f->votes && f->candidate)
        snprintf(most, sizeof most, ", many of them similar to record %llu",
                 (unsigned long long)f->candidate);
    snprintf(text, size,
             "more than half of the last %d records were dropped%s; if that is a surprise, check "
             "-k, or remove boilerplate first",
             FLOOD_RECORDS, most);
}

static void report(struct flood *f, struct batch *b)
{
    char text[320];

    if (f->reported)
        return;
    f->reported = true;
    describe(f, text, sizeof text);
    if (f->action == FULL_STOPS) {
        b->failed = true;
        snprintf(b->failure, sizeof b->failure, "stopped: %s; --on-flood warn continues", text);
    } else if (!f->quiet) {
        note("%s", text);
    }
}

void flood_count(struct flood *f, struct batch *b, bool dropped, struct representative r)
{
    if (dropped)
        vote(f, r);
    f->dropped[f->slot] += dropped;
    f->records++;
    if (++f->in_slot == FLOOD_RECORDS / FLOOD_SLOTS) {
        f->in_slot = 0;
        f->slot = (f->slot + 1) % FLOOD_SLOTS;
    }
    if (is_flood(f))
        report(f, b);
}
