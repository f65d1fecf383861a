/* csv.c - see csv.h.
 *
 * Only three bytes matter: delimiter, quote, line break. Where all is in order
 * csv_blocks.c finds the ends; for the rest, and to say what is wrong, a small
 * machine walks from one of the three to the next. Both can stop anywhere and go on
 * when there is more data. */
#include "pipe/csv.h"

#include <string.h>

#include "pipe/scan.h"

#define TEXT_AFTER_QUOTE "not CSV: text after a closing quote"

/* Before the first field of a record there may be a mark. */
static bool begins_field(const struct csv_scan *s, const char *data, size_t at)
{
    return at == s->field ||
           (s->field == s->start && at == s->start + csv_mark(data + s->start, at - s->start));
}

static void quote(struct csv_scan *s, const char *data, size_t at)
{
    if (s->quoted) {
        s->quoted = false;
        s->closed = true;
        s->close = at;
    } else if (s->closed && at == s->close + 1) {
        s->quoted = true; /* a doubled quote */
        s->closed = false;
    } else if (!s->closed && begins_field(s, data, at)) {
        s->quoted = true;
    } else {
        s->fault = s->closed ? TEXT_AFTER_QUOTE : "not CSV: a quote inside an unquoted field";
    }
}

/* A field ends here; behind quotes only CR may stand before a line break. */
static void end_field(struct csv_scan *s, const char *data, size_t at)
{
    bool cr = s->closed && data[at] == '\n' && at == s->close + 2 && data[at - 1] == '\r';

    if (s->closed && at != s->close + 1 && !cr)
        s->fault = TEXT_AFTER_QUOTE;
    s->closed = false;
    s->field = at + 1;
}

static void end_record(struct csv_scan *s, struct batch *b, size_t at, bool skip)
{
    const char *fault = s->fault;

    *s = (struct csv_scan){.at = at + 1, .start = at + 1, .field = at + 1};
    b->ends[++b->n] = (uint32_t)at;
    if (fault)
        batch_fault(b, b->n - 1, skip, "%s", fault);
}

static void step(struct csv_scan *s, struct batch *b, size_t at, bool skip)
{
    char c = b->data[at];

    s->at = at + 1;
    if (!s->fault) {
        if (c == '"')
            quote(s, b->data, at);
        else if (!s->quoted)
            end_field(s, b->data, at);
    }
    if (c == '\n' && !s->quoted)
        end_record(s, b, at, skip);
}

static void too_long(struct csv_scan *s)
{
    csv_give_up(s, s->quoted ? "not CSV: a quote is opened and not closed within --max-record bytes"
                             : "the record is longer than --max-record bytes");
}

/* From one mark to the next, as far as a block goes that has a fault in it. */
static void walk(struct csv_scan *s, struct batch *b, size_t to, const struct csv_rules *rules)
{
    uint32_t marks[64 + 64];
    const char wanted[3] = {rules->delimiter, '"', '\n'};
    size_t stop = to - s->at < 64 ? to : s->at + 64;
    size_t n = scan_three(b->data, s->at, stop, wanted, marks, 64);

    for (size_t i = 0; i < n; i++) {
        if (marks[i] - s->start > rules->longest && !s->given_up) {
            too_long(s);
            return;
        }
        step(s, b, marks[i], rules->skip);
        if (b->n == RECORDS_MAX || b->failed)
            return;
    }
    s->at = stop;
}

void csv_split(struct csv_scan *s, struct batch *b, size_t to, const struct csv_rules *rules)
{
    while (s->at < to && b->n < RECORDS_MAX && !b->failed) {
        csv_blocks(s, b, to, rules);
        if (s->at < to && b->n < RECORDS_MAX)
            walk(s, b, to, rules);
        if (s->at == to && to - s->start > rules->longest && !s->given_up)
            too_long(s); /* no mark behind the limit */
    }
}

void csv_give_up(struct csv_scan *s, const char *fault)
{
    *s = (struct csv_scan){.at = s->start, .start = s->start, .given_up = true, .fault = fault};
}

void csv_move(struct csv_scan *s, size_t bytes)
{
    s->at -= bytes;
    s->start -= bytes;
    s->field -= bytes;
    s->close -= bytes;
}

bool csv_unquote_doubled(struct arena *a, struct weir_bytes *field)
{
    const char *from = field->data;
    char *to = arena_take(a, field->size);
    size_t n = 0;

    if (!to)
        return false;
    for (size_t i = 0; i < field->size; i++) {
        to[n++] = from[i];
        i += from[i] == '"';
    }
    *field = (struct weir_bytes){to, n};
    return true;
}
