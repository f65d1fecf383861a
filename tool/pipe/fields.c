/* fields.c - fields between blanks (as awk has it), between delimiters, or of
 * CSV. */
#include "pipe/fields.h"

#include <string.h>

#include "pipe/csv.h"

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Blanks before the first field do not count, nor do those after the last. */
static struct weir_bytes next_between_blanks(const char **at, const char *end)
{
    const char *p = *at;

    while (p < end && blank(*p))
        p++;
    const char *start = p;
    while (p < end && !blank(*p))
        p++;
    const char *stop = p;
    while (p < end && blank(*p))
        p++;
    *at = p < end ? p : NULL;
    return (struct weir_bytes){start, (size_t)(stop - start)};
}

static struct weir_bytes next_between(const char **at, const char *end, char delimiter)
{
    const char *start = *at;
    const char *stop = memchr(start, delimiter, (size_t)(end - start));

    *at = stop ? stop + 1 : NULL;
    return (struct weir_bytes){start, (size_t)((stop ? stop : end) - start)};
}

static struct weir_bytes next_field(const struct picker *p, const char **at, const char *end)
{
    switch (p->way) {
    case PICK_BLANKS:
        return next_between_blanks(at, end);
    case PICK_CSV:
        return csv_field(at, end, p->delimiter);
    default:
        return next_between(at, end, p->delimiter);
    }
}

uint32_t fields_of(const struct picker *p, struct arena *a, const char *record, size_t size,
                   struct weir_bytes *wanted)
{
    const char *at = record, *end = record + size;
    uint32_t number = 0;

    if (p->way == PICK_CSV)
        at += csv_mark(record, size);
    while (at && number < p->widest) {
        struct weir_bytes field = next_field(p, &at, end);

        number++;
        for (uint32_t i = 0; i < p->columns; i++) {
            if (p->column[i].number != number)
                continue;
            if (p->way == PICK_CSV && !csv_unquote(a, &field))
                return 0;
            wanted[i] = field;
        }
    }
    return number;
}

uint32_t fields_find(const struct picker *p, struct arena *a, const char *record, size_t size,
                     const char *text)
{
    const char *at = record + csv_mark(record, size), *end = record + size;

    for (uint32_t number = 1; at; number++) {
        struct weir_bytes field = next_field(p, &at, end);

        if (p->way == PICK_CSV && !csv_unquote(a, &field))
            return 0;
        if (field.size == strlen(text) && memcmp(field.data, text, field.size) == 0)
            return number;
    }
    return 0;
}
