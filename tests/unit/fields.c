/* fields.c - the command's records and fields, compared with a byte-by-byte model: random text with
 * quotes, delimiters, spaces and line breaks, whole and in pieces. Built for this processor and
 * without its vector instructions. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "pipe/csv.h"
#include "pick/pick.h"
#include "pipe/scan.h"

#define SIZE 600
#define RECORDS 600

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 16) % below;
}

/* ---- the model: RFC 4180 as a state machine ---- */

enum place { FIELD_START, UNQUOTED, QUOTED, QUOTE_IN_QUOTED, CR_BEHIND_QUOTE, FAULTY };

/* The next state after byte c. A misplaced quote makes the record invalid; an open field stays open
 * until its closing quote. */
static enum place follow(enum place at, char c)
{
    bool ends = c == ',' || c == '\n';

    switch (at) {
    case FIELD_START:
        return c == '"' ? QUOTED : ends ? FIELD_START : UNQUOTED;
    case UNQUOTED:
        return c == '"' ? FAULTY : ends ? FIELD_START : UNQUOTED;
    case QUOTED:
        return c == '"' ? QUOTE_IN_QUOTED : QUOTED;
    case QUOTE_IN_QUOTED:
        return c == '"' ? QUOTED : ends ? FIELD_START : c == '\r' ? CR_BEHIND_QUOTE : FAULTY;
    case CR_BEHIND_QUOTE:
        return c == '\n' ? FIELD_START : FAULTY;
    default:
        return c == '\n' ? FIELD_START : at;
    }
}

struct expected {
    size_t end[RECORDS];
    bool faulty[RECORDS];
    uint32_t n;
};

static void split_plainly(const char *text, size_t size, struct expected *e)
{
    enum place at = FIELD_START;
    bool faulty = false;

    e->n = 0;
    for (size_t i = 0; i < size; i++) {
        at = follow(at, text[i]);
        faulty |= at == FAULTY;
        if (text[i] == '\n' && at != QUOTED) {
            e->faulty[e->n] = faulty;
            e->end[e->n++] = i;
            faulty = false;
        }
    }
}

/* ---- texts ---- */

/* Long stretches without quotes, and some with many. */
static __attribute__((noinline)) void fill(char *text, size_t size)
{
    static const char often[] = "\"\"\",,\n\r \tab", seldom[] = ",, \tabcdefghijklmnopqrstuvw\n\r";
    bool quotes = false;

    for (size_t i = 0; i < size; i++) {
        if (draw(40) == 0)
            quotes = !quotes;
        text[i] = quotes ? often[draw(sizeof often - 1)] : seldom[draw(sizeof seldom - 1)];
    }
    text[size - 1] = '\n';
}

/* Mostly well-formed, so that few records are invalid. */
static size_t fill_well(char *text, size_t most)
{
    static const char *const field[] = {"a",           "",         "\"\"", "\"b,\"\"c\"\"\nd\"",
                                        "longer text", "\"\r\n\"", "\"x\""};
    size_t n = 0;

    while (n < most - 40) {
        n += strlen(strcpy(text + n, field[draw(7)]));
        n += strlen(strcpy(text + n, draw(4) ? "," : draw(2) ? "\n" : "\r\n"));
    }
    if (draw(4) == 0)
        text[draw((uint32_t)n)] = "\"x\n,"[draw(4)];
    text[n] = '\n';
    return n + 1;
}

/* ---- record ends ---- */

static const struct csv_rules rules = {.delimiter = ',', .skip = true, .longest = 1 << 20};

/* In pieces as read() returns them; a piece may end anywhere. */
static void split_in_pieces(struct batch *b, size_t size)
{
    struct csv_scan s = {0};

    for (size_t to = 0; to < size;) {
        to += 1 + draw(draw(2) ? 300 : 20);
        csv_split(&s, b, to < size ? to : size, &rules);
    }
}

static void load(struct batch *b, const char *text, size_t size)
{
    batch_reset(b);
    assert_true(batch_grow(b, size));
    b->input.name = "text";
    memcpy(b->data, text, size);
    memset(b->data + size, '"', MARGIN);
}

static void assert_split(const struct batch *b, const struct expected *e, const char *text)
{
    assert_int_equal(b->n, e->n);
    for (uint32_t i = 0; i < e->n; i++) {
        if (record_end(b, i) != e->end[i])
            fail_msg("record %u ends at %zu, not %zu: %s", i, record_end(b, i), e->end[i], text);
        if ((b->bads && b->bad[i]) != e->faulty[i])
            fail_msg("record %u is %s: %s", i, e->faulty[i] ? "taken" : "refused", text);
    }
}

TEST(csv_records_end_where_the_model_says)
{
    static struct expected e;
    static char text[SIZE + 64];
    struct batch *b = batch_open();
    uint32_t fine = 0, faulty = 0;

    assert_non_null(b);
    for (int round = 0; round < 20000; round++) {
        size_t size = draw(2) ? 2 + draw(SIZE - 2) : fill_well(text, 50 + draw(SIZE - 50));

        if (size < SIZE && draw(2))
            fill(text, size);
        text[size] = '\0';
        split_plainly(text, size, &e);
        load(b, text, size);
        split_in_pieces(b, size);
        assert_split(b, &e, text);
        for (uint32_t i = 0; i < e.n; i++)
            *(e.faulty[i] ? &faulty : &fine) += 1;
    }
    assert_true(fine > 10000 && faulty > 10000);
    batch_close(b);
}

/* ---- fields ---- */

struct model {
    char text[SIZE];
    size_t at[SIZE], size[SIZE];
    uint32_t n;
};

static void put(struct model *m, size_t *to, const char *from, size_t size)
{
    m->at[m->n] = *to;
    m->size[m->n++] = size;
    memcpy(m->text + *to, from, size);
    *to += size;
}

static void cut_plainly(struct model *m, enum pick_way way, const char *record, size_t size)
{
    size_t to = 0, start = 0;

    m->n = 0;
    for (size_t i = 0; i <= size && way == PICK_CHAR; i++)
        if (i == size || record[i] == ',') {
            put(m, &to, record + start, i - start);
            start = i + 1;
        }
    for (size_t i = 0; i < size && way == PICK_BLANKS; i++) {
        for (start = i; i < size && !strchr(" \t\r", record[i]); i++)
            ;
        if (i > start)
            put(m, &to, record + start, i - start);
    }
    if (way == PICK_BLANKS && m->n == 0)
        put(m, &to, "", 0);
}

static void cut_csv_plainly(struct model *m, const char *record, size_t size)
{
    enum place at = FIELD_START;
    size_t to = 0;

    m->n = 0;
    m->at[0] = 0;
    size -= size > 0 && record[size - 1] == '\r';
    for (size_t i = 0; i <= size; i++) {
        char c = i < size ? record[i] : '\n';
        enum place next = follow(at, c);

        if (next == FIELD_START) {
            m->size[m->n] = to - m->at[m->n];
            m->at[++m->n] = to;
        } else if (c != '"' || at == QUOTE_IN_QUOTED) {
            m->text[to++] = c;
        }
        at = next;
    }
}

static void assert_field(const struct model *m, uint32_t number, struct weir_bytes got)
{
    size_t size = m->size[number - 1];

    if (got.size != size || memcmp(got.data, m->text + m->at[number - 1], size) != 0)
        fail_msg("field %u is '%.*s', not '%.*s'", number, (int)got.size, (const char *)got.data,
                 (int)size, m->text + m->at[number - 1]);
}

/* One field of all records at a time, and two of each record. */
static void assert_fields(struct batch *b, const struct model *m, enum pick_way way, bool strip)
{
    struct picker p = {.way = way, .delimiter = ',', .columns = 1, .keys = 1, .strip_field = strip};
    struct weir_bytes field[2];

    p.widest = p.column[0].number = 1 + draw(m->n + 1);
    assert_int_equal(fields_batch(&p, b, 0), p.widest <= m->n);
    if (p.widest <= m->n)
        assert_field(m, p.widest, b->key[0]);
    p.columns = 2;
    p.column[0].number = 1 + draw(m->n);
    p.column[1].number = 1 + draw(m->n);
    p.order[0] = p.column[0].number > p.column[1].number;
    p.order[1] = !p.order[0];
    assert_int_equal(fields_of(&p, &b->arena, b->data, record_end(b, 0), field),
                     p.column[p.order[1]].number);
    assert_field(m, p.column[0].number, field[0]);
    assert_field(m, p.column[1].number, field[1]);
}

TEST(fields_equal_those_of_the_model)
{
    static const enum pick_way ways[] = {PICK_CHAR, PICK_BLANKS, PICK_CSV};
    static struct model m;
    static struct expected e;
    static char text[SIZE + 64];
    struct batch *b = batch_open();
    uint32_t compared = 0;

    assert_non_null(b);
    for (int round = 0; round < 60000; round++) {
        enum pick_way way = ways[round % 3];
        size_t size = 1 + draw(200);
        bool strip = way == PICK_CSV || draw(2);

        if (way == PICK_CSV)
            size = fill_well(text, 50 + draw(200));
        else
            fill(text, size);
        split_plainly(text, size, &e);
        if (e.n == 0 || e.faulty[0])
            continue;
        size = e.end[0];
        load(b, text, size + 1);
        b->n = 1;
        b->ends[1] = (uint32_t)size;
        if (way == PICK_CSV)
            cut_csv_plainly(&m, text, size);
        else
            cut_plainly(&m, way, text, size - (strip && size > 0 && text[size - 1] == '\r'));
        assert_fields(b, &m, way, strip);
        compared++;
    }
    assert_true(compared > 20000);
    batch_close(b);
}

TEST(a_column_is_found_by_its_name)
{
    const char *header = "\xef\xbb\xbfid,\"first, second\",\"say \"\"hi\"\"\",last\r";
    struct picker p = {.way = PICK_CSV, .delimiter = ',', .strip_field = true};
    struct arena a = {0};
    char *copy = malloc(strlen(header)); /* nothing after it may be read */

    assert_non_null(copy);
    memcpy(copy, header, strlen(header));
    assert_int_equal(fields_find(&p, &a, copy, strlen(header), "id", 0), 1);
    assert_int_equal(fields_find(&p, &a, copy, strlen(header), "first, second", 0), 2);
    assert_int_equal(fields_find(&p, &a, copy, strlen(header), "say \"hi\"", 0), 3);
    assert_int_equal(fields_find(&p, &a, copy, strlen(header), "last", 0), 4);
    assert_int_equal(fields_find(&p, &a, copy, strlen(header), "first", 0), 0);
    arena_close(&a);
    free(copy);
}

TEST(bytes_are_counted_as_by_a_loop)
{
    static char text[SIZE + 64];

    for (int round = 0; round < 5000; round++) {
        size_t to = 1 + draw(SIZE - 1), from = draw((uint32_t)to), n = 0;

        fill(text, SIZE);
        for (size_t i = from; i < to; i++)
            n += text[i] == '\n';
        assert_int_equal(scan_count(text, from, to, '\n'), n);
    }
}

RUN_TESTS("fields")
