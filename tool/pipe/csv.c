/* csv.c - see csv.h.
 *
 * Only three bytes matter: delimiter, quote, line break. In valid CSV, record ends are found 64
 * bytes at a time: a block becomes three masks, and the rules of CSV are a few operations on them.
 * The quotes give a mask of the bytes inside quotes (Langdale and Lemire 2019). Line breaks outside
 * it end records. A block without quotes needs two masks.
 *
 * If a block breaks a rule, a state machine steps through these bytes and finds the fault. Both can
 * stop at any byte and continue when more data arrives. */
#include "pipe/csv.h"

#include <string.h>

#include "pipe/scan.h"

#define TEXT_AFTER_QUOTE "not CSV: text after a closing quote"

/* A byte-order mark may precede the first field of a record. */
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

/* A field ends here; after a closing quote, only a CR may precede the line break. */
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

/* ---- 64 bytes at a time ---- */

/* State carried from one block to the next. */
struct carry {
    uint64_t quoted;  /* all ones: inside quotes */
    uint64_t opens;   /* 1: a quote may open a field here */
    uint64_t closed;  /* 1: a closing quote was the last byte, */
    uint64_t returns; /* 1: and a CR after it */
};

/* Process a block that contains quotes or begins inside them; false if a rule is broken. A doubled
 * quote closes one quoted range and opens the next. */
MATCH_INLINE bool take_quotes(match_function match, struct carry *c, const char *block,
                              char delimiter, uint64_t quotes, uint64_t breaks, uint64_t *ends)
{
    uint64_t inside = match_between(quotes) ^ c->quoted;
    uint64_t opening = quotes & inside, closing = quotes & ~inside;
    uint64_t between = (match(block, delimiter) | breaks) & ~inside;
    uint64_t may_open = (between | closing) << 1 | c->opens;
    uint64_t behind = closing << 1 | c->closed;
    uint64_t returns = behind & match(block, '\r');
    uint64_t broken = (opening & ~may_open) | (behind & ~(between | opening | returns)) |
                      ((returns << 1 | c->returns) & ~breaks);

    if (broken)
        return false;
    *c = (struct carry){-(inside >> 63), (between | closing) >> 63, closing >> 63, returns >> 63};
    *ends = breaks & ~inside;
    return true;
}

MATCH_INLINE bool take_block(match_function match, struct carry *c, const char *block,
                             char delimiter, uint64_t *ends)
{
    uint64_t quotes = match(block, '"'), breaks = match(block, '\n');

    if (quotes | c->quoted | c->closed | c->returns)
        return take_quotes(match, c, block, delimiter, quotes, breaks, ends);
    c->opens = block[63] == delimiter || block[63] == '\n';
    *ends = breaks;
    return true;
}

static struct carry carry_in(const struct csv_scan *s)
{
    return (struct carry){
        .quoted = s->quoted ? UINT64_MAX : 0,
        .opens = !s->quoted && (s->at == s->field || (s->closed && s->at == s->close + 1)),
        .closed = s->closed && s->at == s->close + 1,
        .returns = s->closed && s->at == s->close + 2,
    };
}

/* The start of the field matters only if a quote may still open it: at its first byte, or after a
 * mark of three bytes. So the search does not go further back. */
static void carry_out(struct csv_scan *s, const struct batch *b, const struct carry *c,
                      char delimiter)
{
    size_t least = s->at - s->start > 4 ? s->at - 4 : s->start;

    s->quoted = c->quoted;
    s->closed = c->closed || c->returns;
    s->close = s->at - (c->returns ? 2 : 1);
    s->field = s->at;
    if (!s->quoted && !s->closed)
        while (s->field > least && b->data[s->field - 1] != delimiter)
            s->field--;
}

/* Stops before a block with a record that may be too long, and before one that ends more records
 * than fit into the batch: walk() handles those. */
MATCH_INLINE void take_blocks(match_function match, struct csv_scan *s, struct batch *b, size_t to,
                              const struct csv_rules *rules)
{
    struct carry c = carry_in(s);
    uint64_t ends;

    for (; to - s->at >= 64; s->at += 64) {
        struct carry next = c;

        if (s->at + 64 - s->start > rules->longest ||
            !take_block(match, &next, b->data + s->at, rules->delimiter, &ends) ||
            (uint32_t)__builtin_popcountll(ends) > RECORDS_MAX - b->n)
            break;
        c = next;
        b->n += match_positions(ends, (uint32_t)s->at, b->ends + 1 + b->n);
        if (ends)
            s->start = b->ends[b->n] + 1;
    }
    carry_out(s, b, &c, rules->delimiter);
}

static MATCH_AVX2 void take_blocks_avx2(struct csv_scan *s, struct batch *b, size_t to,
                                        const struct csv_rules *rules)
{
    take_blocks(match64_avx2, s, b, to, rules);
}

/* Is there a fault, or text after a closing quote, which will be one? */
static bool is_odd(const struct csv_scan *s, const struct batch *b)
{
    size_t behind = s->at - s->close; /* 1: nothing; 2: a byte */

    return s->fault || (s->closed && behind > 1 && (behind > 2 || b->data[s->at - 1] != '\r'));
}

/* Process whole blocks. Stops before a block with a fault, before one with more records than fit
 * into the batch, and when fewer than 64 bytes are left. */
static void take_whole_blocks(struct csv_scan *s, struct batch *b, size_t to,
                              const struct csv_rules *rules)
{
    if (is_odd(s, b) || rules->delimiter == '"' || to - s->at < 64 || rules->longest < 64)
        return;
    if (match_has_avx2())
        take_blocks_avx2(s, b, to, rules);
    else
        take_blocks(match64, s, b, to, rules);
}

/* ---- from one mark to the next ---- */

static void too_long(struct csv_scan *s)
{
    csv_give_up(s, s->quoted ? "not CSV: a quote is opened and not closed within --max-record bytes"
                             : "the record is longer than --max-record bytes");
}

/* Step from mark to mark through a block that has a fault. */
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
        take_whole_blocks(s, b, to, rules);
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
