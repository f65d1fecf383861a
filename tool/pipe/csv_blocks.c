/* csv_blocks.c - the ends of CSV records, 64 bytes at a time (csv.h).
 *
 * A block is three masks, and the rules of CSV are a few operations on them: from
 * the quotes follows what lies inside quotes (Langdale and Lemire 2019), and line
 * breaks outside end records. A block without quotes costs two masks. At
 * a block that breaks a rule this stops, and csv.c goes on from mark to mark to
 * say what is wrong. */
#include "pipe/csv.h"

#include "pipe/match.h"

/* What a block leaves to the next one. */
struct carry {
    uint64_t quoted;  /* all ones: inside quotes */
    uint64_t opens;   /* 1: a quote may come now */
    uint64_t closed;  /* 1: a closing quote was the last byte, */
    uint64_t returns; /* 1: and behind it came CR */
};

/* Take a block with quotes in it or before it; false if a rule is broken. A doubled
 * quote closes one stretch and opens the next. */
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

/* Where the field began matters only if a quote may still open it, at its first
 * byte or behind a mark of three: it is not searched for further back. */
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

/* Stops at a block with a record that may be too long, and at one that ends more
 * records than the batch has room for: csv.c takes those. */
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

/* Is there a fault already, or text behind a closing quote that will be one? */
static bool is_odd(const struct csv_scan *s, const struct batch *b)
{
    size_t behind = s->at - s->close; /* 1: nothing; 2: a byte */

    return s->fault || (s->closed && behind > 1 && (behind > 2 || b->data[s->at - 1] != '\r'));
}

void csv_blocks(struct csv_scan *s, struct batch *b, size_t to, const struct csv_rules *rules)
{
    if (is_odd(s, b) || rules->delimiter == '"' || to - s->at < 64 || rules->longest < 64)
        return;
    if (match_has_avx2())
        take_blocks_avx2(s, b, to, rules);
    else
        take_blocks(match64, s, b, to, rules);
}
