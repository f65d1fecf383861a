/* records_model.c - see records_model.h. */
#include "records_model.h"

#include <stdlib.h>
#include <string.h>

void text_append(struct text *t, const char *data, size_t size)
{
    if (size > sizeof t->data - t->size)
        abort();
    memcpy(t->data + t->size, data, size);
    t->size += size;
}

bool text_same(const struct text *a, const struct text *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

void model_finish(const struct model *m, struct text *in)
{
    if (in->size && in->data[in->size - 1] != m->end)
        text_append(in, &m->end, 1);
}

/* Some programs write a byte order mark before the first CSV field. */
static size_t mark_size(const char *data, size_t size)
{
    return size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* ---- records ---- */

static size_t line_end(const struct model *m, const struct text *t, size_t at)
{
    while (t->data[at] != m->end)
        at++;
    return at;
}

/* Returns the line break that ends a CSV record, or size if there is none. Sets *good to false if
 * the record is not CSV. */
static size_t csv_end(const struct model *m, const struct text *t, size_t at, bool *good)
{
    enum { BEGIN, BARE, QUOTED, CLOSED, FAULTY } state = BEGIN;

    for (at += mark_size(t->data + at, t->size - at); at < t->size; at++) {
        char c = t->data[at];

        if (c == '\n' && state != QUOTED)
            break;
        if (state == FAULTY || (state == CLOSED && c == '\r' && t->data[at + 1] == '\n'))
            continue;
        if (state == QUOTED)
            state = c == '"' ? CLOSED : QUOTED;
        else if (state == CLOSED)
            state = c == '"' ? QUOTED : c == m->delimiter ? BEGIN : FAULTY;
        else if (c == '"')
            state = state == BEGIN ? QUOTED : FAULTY;
        else
            state = c == m->delimiter ? BEGIN : BARE;
    }
    *good = state != FAULTY && at < t->size;
    return at;
}

struct model_record model_record(const struct model *m, const struct text *in, size_t begin)
{
    struct model_record r = {begin, 0, true};

    r.end = m->fields == MODEL_CSV ? csv_end(m, in, begin, &r.good) : line_end(m, in, begin);
    if (r.end == in->size || r.end - begin > m->longest)
        r = (struct model_record){begin, line_end(m, in, begin), false};
    return r;
}

/* ---- fields ---- */

static bool csv_field(const struct model *m, const char *record, size_t size, uint32_t number,
                      struct text *out)
{
    uint32_t current = 1;
    bool quoted = false;

    for (size_t i = mark_size(record, size); i < size; i++) {
        char c = record[i];
        bool twice = quoted && c == '"' && i + 1 < size && record[i + 1] == '"';

        if (c == '"' && !twice)
            quoted = !quoted;
        else if (c == m->delimiter && !quoted)
            current++;
        else if (current == number && (quoted || c != '\r' || i + 1 < size))
            text_append(out, &c, 1);
        i += twice;
    }
    return number <= current;
}

static bool delimited_field(const struct model *m, const char *record, size_t size, uint32_t number,
                            struct text *out)
{
    uint32_t current = 1;

    for (size_t i = 0; i < size; i++) {
        if (record[i] == m->delimiter)
            current++;
        else if (current == number && !(m->strip_cr && record[i] == '\r' && i + 1 == size))
            text_append(out, record + i, 1);
    }
    return number <= current;
}

/* A record of spaces has one field, which is empty. */
static bool field_between_blanks(const char *record, size_t size, uint32_t number, struct text *out)
{
    uint32_t current = 0;
    bool inside = false;

    for (size_t i = 0; i < size; i++) {
        bool blank = record[i] == ' ' || record[i] == '\t' || record[i] == '\r';

        current += !inside && !blank;
        inside = !blank;
        if (inside && current == number)
            text_append(out, record + i, 1);
    }
    return number <= (current ? current : 1);
}

bool model_field(const struct model *m, const char *record, size_t size, uint32_t number,
                 struct text *out)
{
    if (m->fields == MODEL_CSV)
        return csv_field(m, record, size, number, out);
    if (m->fields == MODEL_DELIMITED)
        return delimited_field(m, record, size, number, out);
    return field_between_blanks(record, size, number, out);
}
