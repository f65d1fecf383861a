/* cut.c - see cut.h. The field is searched again: few records are rewritten. */
#include "pick/cut.h"

#include <string.h>

#include "pipe/csv.h"

/* The key as it is in the record. */
struct raw_text {
    const char *at, *end;
    bool escaped;
    size_t offset; /* of `at` in the key */
};

static bool find_raw(const struct batch *b, uint32_t i, const struct json_paths *field,
                     struct raw_text *t)
{
    const char *record = b->data + record_begin(b, i);
    size_t size = record_end(b, i) - record_begin(b, i), mark = csv_mark(record, size);
    struct json_value value;
    struct json_fault fault;

    if (!field) {
        *t = (struct raw_text){record, record + b->key[i].size, false, 0};
        return true;
    }
    if (!json_scan(field, record + mark, size - mark, &value, &fault) || !value.at ||
        *value.at != '"')
        return false;
    *t = (struct raw_text){value.at + 1, value.at + value.size - 1, value.escaped, 0};
    return true;
}

/* Advance to this offset of the key; it is between two characters. */
static void skip_to(struct raw_text *t, size_t offset)
{
    char character[4];

    if (!t->escaped)
        t->at += offset - t->offset;
    while (t->escaped && t->offset < offset)
        t->offset += json_character(&t->at, character);
    t->offset = offset;
}

static char *copy(char *to, const char *from, const char *end)
{
    memcpy(to, from, (size_t)(end - from));
    return to + (end - from);
}

bool record_cut(struct batch *b, uint32_t i, const struct json_paths *field,
                const struct cut_range *range, uint32_t n, struct weir_bytes *out)
{
    const char *from = b->data + record_begin(b, i), *end = b->data + record_end(b, i);
    char *text = arena_take(&b->arena, (size_t)(end - from) + 1), *to = text;
    struct raw_text raw;

    if (!text)
        return false;
    if (!find_raw(b, i, field, &raw))
        n = 0;
    for (uint32_t j = 0; j < n; j++) {
        skip_to(&raw, range[j].begin);
        to = copy(to, from, raw.at);
        skip_to(&raw, range[j].end);
        from = raw.at;
    }
    to = copy(to, from, end);
    *out = (struct weir_bytes){text, (size_t)(to - text)};
    return true;
}
