/* pick.c - see pick.h. */
#include "pick/pick.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pick/json.h"
#include "cli/normalize.h"
#include "cli/messages.h"
#include "cli/units.h"

#define HEADER_SHOWN 400
#define NUMBER_MAX 64 /* characters of an importance with an exponent */

/* ---- what -k and -i ask for ---- */

/* A path as in jq, .user.id or .users[0], or in JSONPath, with a leading $. */
static bool is_path(const char *word, size_t size)
{
    return *word == '.' || (size > 1 && *word == '$' && (word[1] == '.' || word[1] == '['));
}

#define POINTER_MAX 64

/* A pointer has slashes instead. */
static void path_to_pointer(const char *word, size_t size, char pointer[POINTER_MAX])
{
    size_t n = 0;

    for (size_t i = *word == '$'; i < size && n + 1 < POINTER_MAX; i++) {
        bool begins = word[i] == '.' || word[i] == '[';

        if (begins && (n == 0 || pointer[n - 1] != '/'))
            pointer[n++] = '/';
        else if (!begins && !strchr("]\"'", word[i]))
            pointer[n++] = word[i];
    }
    pointer[n] = '\0';
}

static bool refuse_path(const char *word, size_t size, const char *option)
{
    char pointer[POINTER_MAX];

    path_to_pointer(word, size, pointer);
    return reject("%s %.*s: not a field; for JSON records, use %s with --jsonl", option, (int)size,
                  word, pointer);
}

static bool add_column(struct picker *p, const char *word, size_t size, const char *option)
{
    struct column *c = &p->column[p->columns];
    uint64_t number;
    char *text;

    if (size == 0)
        return reject(
            "%s: empty field; use 2, 1,3, a column's name or a JSON pointer such as /user/id",
            option);
    if (is_path(word, size) && (p->way == PICK_JSON || p->way == PICK_BLANKS))
        return refuse_path(word, size, option);
    if (p->columns == COLUMNS_MAX)
        return reject("%s names more than %d fields", option, COLUMNS_MAX);
    text = malloc(size + 2);
    if (!text)
        return reject("out of memory");
    memcpy(text, word, size);
    text[size] = '\0';
    if (p->way != PICK_JSON && read_whole(text, &number)) {
        free(text);
        if (number == 0 || number > UINT32_MAX)
            return reject("%s: fields are numbered from 1", option);
        c->number = (uint32_t)number;
    } else {
        if (p->way == PICK_JSON && *text != '/') { /* a bare name is a member */
            memmove(text + 1, text, size + 1);
            *text = '/';
        }
        c->name = text;
    }
    p->columns++;
    return true;
}

static bool add_columns(struct picker *p, const char *list, const char *option)
{
    for (;;) {
        const char *comma = strchrnul(list, ',');

        if (!add_column(p, list, (size_t)(comma - list), option))
            return false;
        if (!*comma)
            return true;
        list = comma + 1;
    }
}

static enum pick_way way_of(const struct records *r)
{
    if (r->format == FORMAT_JSONL)
        return PICK_JSON;
    if (!r->key && !records_measure(r) && !r->time.field)
        return PICK_WHOLE;
    return r->format == FORMAT_CSV ? PICK_CSV : r->format == FORMAT_LINES ? PICK_BLANKS : PICK_CHAR;
}

/* By insertion: there are few. */
static void order_columns(struct picker *p)
{
    for (uint32_t i = 0; i < p->columns; i++) {
        uint32_t at = i;

        for (; at > 0 && p->column[p->order[at - 1]].number > p->column[i].number; at--)
            p->order[at] = p->order[at - 1];
        p->order[at] = i;
    }
    p->widest = p->columns ? p->column[p->order[p->columns - 1]].number : 0;
}

static bool add_pointers(struct picker *p)
{
    for (uint32_t i = 0; i < p->columns; i++)
        if (!json_add(&p->json, p->column[i].name))
            return reject("out of memory");
    return true;
}

bool pick_open(struct picker *p, const struct records *r)
{
    *p = (struct picker){.way = way_of(r), .skip = r->skip, .delimiter = r->delimiter};
    p->skip_missing = records_skip_missing(r);
    p->pass_missing = r->missing == MISSING_PASSES;
    if (!key_as_open(&p->as, r->key_as))
        return false;
    if (r->cidr)
        key_as_network(&p->as);
    p->networks = r->cidr;
    p->unparsed_malformed = r->on_error_given || r->cidr;
    p->fold = r->ignore_case && !r->parts;
    p->squeeze_spaces = r->ignore_space && !r->parts;
    p->strip_record = records_strip_cr(r);
    p->strip_field = p->strip_record || p->way == PICK_CSV; /* RFC 4180: its lines end in CR LF */
    if (r->key && !add_columns(p, r->key, "--key"))
        return false;
    p->keys = p->columns;
    const char *measure = records_measure(r), *option = r->weight ? "--weight" : "--importance";
    if (measure && !add_columns(p, measure, option))
        return false;
    p->important = measure != NULL;
    if (p->important && p->columns != p->keys + 1)
        return reject("%s takes one field", option);
    uint32_t before = p->columns;
    if (r->ttl && !add_columns(p, r->ttl, "--ttl"))
        return false;
    p->has_ttl = r->ttl != NULL;
    if (p->columns != before + p->has_ttl)
        return reject("--ttl takes one field");
    before = p->columns;
    if (r->time.field && !add_columns(p, r->time.field, "--time"))
        return false;
    p->times = p->columns - before;
    p->measure = option + 2;
    p->exact = r->weight != NULL;
    order_columns(p);
    return p->way != PICK_JSON || add_pointers(p);
}

void pick_close(struct picker *p)
{
    for (uint32_t i = 0; i < p->columns; i++)
        free(p->column[i].name);
    json_close(&p->json);
}

#define HINT_LINES 10 /* that must have the same number of fields */

/* How many fields it would have with this delimiter: outside quotes. */
static uint32_t count_split(const char *record, size_t size, char delimiter)
{
    uint32_t n = 1;
    bool quoted = false;

    for (size_t i = 0; i < size; i++) {
        quoted ^= record[i] == '"';
        n += !quoted && record[i] == delimiter;
    }
    return n;
}

/* Does it split this record, and some of the batch's from i on, into equally many fields? */
static bool is_delimiter(const struct batch *b, uint32_t i, const char *record, size_t size, char c)
{
    uint32_t fields = count_split(record, size, c), others = 0;

    for (; i < b->n && others < HINT_LINES; i++) {
        const char *other = b->data + record_begin(b, i);

        if (other == record)
            continue;
        others++;
        if (count_split(other, record_end(b, i) - record_begin(b, i), c) != fields)
            return false;
    }
    return fields > 1 && others > 0;
}

/* The likely format if a field is not found between blanks or commas: a hint for the message. The
 * record is the header, or record i of the batch. */
static const char *other_format(const struct picker *p, const struct batch *b, uint32_t i,
                                const char *record, size_t size)
{
    static const struct {
        char delimiter;
        const char *hint;
    } formats[] = {{',', "; did you mean --csv?"},
                   {';', "; did you mean --csv -d ';'?"},
                   {'\t', "; did you mean --tsv?"}};

    if (p->way != PICK_BLANKS && (p->way != PICK_CSV || memchr(record, p->delimiter, size)))
        return "";
    if (size > 0 && *record == '{')
        return "; did you mean --jsonl?";
    i -= i < HINT_LINES ? i : HINT_LINES; /* it may be the last one */
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        if (is_delimiter(b, i, record, size, formats[f].delimiter))
            return formats[f].hint;
    return "";
}

static bool find_column(struct picker *p, struct column *c, const char *header, size_t size,
                        const struct batch *b)
{
    struct arena scratch = {0};
    uint32_t again;

    c->number = fields_find(p, &scratch, header, size, c->name, 0);
    again = c->number ? fields_find(p, &scratch, header, size, c->name, c->number) : 0;
    arena_close(&scratch);
    if (!c->number)
        return reject("there is no column '%s'; the header is: %.*s%s%s", c->name,
                      (int)(size < HEADER_SHOWN ? size : HEADER_SHOWN), header,
                      size > HEADER_SHOWN ? "..." : "", other_format(p, b, 0, header, size));
    if (again && !p->quiet)
        note("columns %u and %u are both called '%s'; the first is used; for the other, use --key "
             "%u",
             c->number, again, c->name, again);
    return true;
}

static bool pick_header(struct picker *p, const char *header, size_t size, const struct batch *b)
{
    bool found = true;

    size -= size > 0; /* the delimiter */
    if (size > 0 && header[size - 1] == '\r')
        size--;
    for (uint32_t i = 0; i < p->columns && found && p->way != PICK_JSON; i++)
        if (p->column[i].name)
            found = find_column(p, &p->column[i], header, size, b);
    order_columns(p);
    return found;
}

bool pick_learn(struct picker *p, const char *header, size_t size, struct batch *b)
{
    if (p->learnt || !header)
        return true;
    p->learnt = true;
    if (pick_header(p, header, size, b))
        return true;
    b->failed = true;
    b->n = 0;
    b->failure[0] = '\0'; /* it has been said */
    return false;
}

/* ---- a batch ---- */

static struct weir_bytes whole_record(const struct picker *p, const char *record, size_t size)
{
    return (struct weir_bytes){record,
                               size - (p->strip_record && size > 0 && record[size - 1] == '\r')};
}

static void pick_whole(const struct picker *p, struct batch *b)
{
    const uint32_t *ends = b->ends;

    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t begin = ends[i] + 1;

        b->key[i] = whole_record(p, b->data + begin, ends[i + 1] - begin);
    }
}

static bool squeeze_spaces(struct arena *a, struct weir_bytes *key)
{
    const char *text = key->data;
    size_t size = key->size;
    char *to = NULL;

    if (!squeeze_space_ends(&text, &size)) {
        to = arena_take(a, size);
        if (!to)
            return false;
        size = squeeze_space(text, size, to);
    }
    *key = (struct weir_bytes){to ? to : text, size};
    return true;
}

static void fault_unparsed(const struct picker *p, struct batch *b, uint32_t i, const char *failed,
                           const struct weir_bytes *field)
{
    int size = (int)(field->size < 60 ? field->size : 60);

    if (p->networks)
        batch_fault(b, i, p->skip,
                    "'%.*s' is not an IP address or network, such as 192.0.2.7, 10.0.0.0/8 or "
                    "2001:db8::/32%s",
                    size, (const char *)field->data, p->keys ? "" : "; -k selects a field");
    else
        batch_fault(b, i, p->skip, "--key-as %s cannot parse '%.*s'", failed, size,
                    (const char *)field->data);
}

/* One field of the key of record i; false if the record is malformed. */
static bool normalize_field(const struct picker *p, struct batch *b, uint32_t i,
                            struct weir_bytes *field)
{
    enum key_as_result result = KEY_AS_DONE;
    struct weir_bytes before;
    const char *failed;

    if (p->squeeze_spaces && !squeeze_spaces(&b->arena, field))
        result = KEY_AS_NO_MEMORY;
    before = *field;
    if (p->as.n && result == KEY_AS_DONE)
        result = key_as_apply(&p->as, &b->arena, field, &failed);
    if (result == KEY_AS_NO_MEMORY)
        batch_fault(b, i, false, "out of memory");
    else if (result == KEY_AS_UNPARSED && p->unparsed_malformed)
        fault_unparsed(p, b, i, failed, &before);
    else if (result == KEY_AS_UNPARSED)
        b->unparsed++;
    else if (result == KEY_AS_MASKED && b->masked++ == 0)
        b->first_masked = i;
    return result < KEY_AS_UNPARSED || (result == KEY_AS_UNPARSED && !p->unparsed_malformed);
}

static bool normalize_fields(const struct picker *p, struct batch *b, uint32_t i,
                             struct weir_bytes *field)
{
    bool ok = true;

    for (uint32_t c = 0; (p->squeeze_spaces || p->as.n) && c < p->keys && ok; c++)
        ok = normalize_field(p, b, i, &field[c]);
    return ok;
}

bool pick_join(struct arena *a, const struct weir_bytes *field, uint32_t n, char joint,
               struct weir_bytes *out)
{
    size_t size = n - 1;
    char *at;

    for (uint32_t i = 0; i < n; i++)
        size += field[i].size;
    at = arena_take(a, size);
    if (!at)
        return false;
    *out = (struct weir_bytes){at, size};
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            *at++ = joint;
        if (field[i].size)
            memcpy(at, field[i].data, field[i].size);
        at += field[i].size;
    }
    return true;
}

/* An importance is approximate: decimals are truncated, and too large values become the maximum. A
 * weight is summed: it must be exact, or the record is malformed. */
static bool set_measure(double value, bool exact, uint32_t *out)
{
    *out = value >= UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    return !exact || (value == floor(value) && value <= UINT32_MAX);
}

/* The same written with an exponent, 1e3 or 1.5E+2, as programs print numbers. */
static bool read_scientific(const char *at, const char *end, bool exact, uint32_t *out)
{
    char number[NUMBER_MAX], *stop;
    size_t size = (size_t)(end - at);

    if (size >= sizeof number)
        return false;
    memcpy(number, at, size);
    number[size] = '\0';
    if (strspn(number, "0123456789.eE+-") < size)
        return false;
    double value = strtod(number, &stop);
    return *stop == '\0' && set_measure(value, exact, out);
}

static bool read_measure(struct weir_bytes text, bool exact, uint32_t *out)
{
    const char *at = text.data, *end = at + text.size;
    uint64_t value = 0;
    bool fraction = false;

    while (at < end && *at == ' ')
        at++;
    const char *start = at;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        value = value > UINT32_MAX ? value : value * 10 + (uint64_t)(*at - '0');
    bool digits = at > start;
    if (at < end && *at == '.')
        for (at++; at < end && *at >= '0' && *at <= '9'; at++)
            fraction |= *at != '0';
    while (end > at && (end[-1] == ' ' || end[-1] == '\r'))
        end--;
    if (digits && at < end && (*at == 'e' || *at == 'E'))
        return read_scientific(start, end, exact, out);
    *out = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    return digits && at == end && (!exact || (!fraction && value <= UINT32_MAX));
}

/* A hint for -k user.id: the pointer that was probably meant, if the record has it. */
static const char *other_pointer(const char *name, struct arena *a, const char *record, size_t size,
                                 char hint[POINTER_MAX + 32])
{
    struct json_paths paths = {0};
    struct weir_bytes field = {NULL, 0};
    struct json_fault fault;
    char pointer[POINTER_MAX];

    *hint = '\0';
    path_to_pointer(name, strlen(name), pointer);
    if (strcmp(name, pointer) != 0 && json_add(&paths, pointer) &&
        json_fields(&paths, a, record, size, &field, &fault) == JSON_FINE && field.data)
        snprintf(hint, POINTER_MAX + 32, "; did you mean %s?", pointer);
    json_close(&paths);
    return hint;
}

static bool split_json(const struct picker *p, struct batch *b, uint32_t i, const char *record,
                       size_t size, struct weir_bytes *field)
{
    char hint[POINTER_MAX + 32];
    struct json_fault fault;

    switch (json_fields(&p->json, &b->arena, record, size, field, &fault)) {
    case JSON_REFUSED:
        batch_fault(b, i, p->skip, "%s, at byte %zu", fault.text, fault.at + 1);
        return false;
    case JSON_NO_MEMORY:
        batch_fault(b, i, false, "out of memory");
        return false;
    default:
        break;
    }
    for (uint32_t c = 0; c < p->columns; c++)
        if (!field[c].data && !pick_is_optional(p, c)) {
            if (p->pass_missing)
                batch_keyless(b, i);
            else
                batch_fault(b, i, p->skip_missing, "the record has no %s%s", p->column[c].name,
                            p->skip_missing
                                ? ""
                                : other_pointer(p->column[c].name, &b->arena, record, size, hint));
            if (!p->pass_missing)
                batch_blame(b, i, BAD_MISSING);
            return false;
        }
    return true;
}

static bool split_record(const struct picker *p, struct batch *b, uint32_t i, const char *record,
                         size_t size, struct weir_bytes *field)
{
    if (p->way == PICK_JSON)
        return split_json(p, b, i, record, size, field);
    uint32_t found = fields_of(p, &b->arena, record, size, field);
    if (found < p->widest && p->pass_missing)
        batch_keyless(b, i);
    else if (found < p->widest)
        batch_fault(b, i, p->skip_missing, "the record has %u field%s, field %u is requested%s",
                    found, found == 1 ? "" : "s", p->widest,
                    p->skip_missing ? "" : other_format(p, b, i, record, size));
    if (found < p->widest && !p->pass_missing)
        batch_blame(b, i, BAD_MISSING);
    return found >= p->widest;
}

static void pick_fields(const struct picker *p, struct batch *b, uint32_t i)
{
    struct weir_bytes field[COLUMNS_MAX + 1];
    const char *record = b->data + record_begin(b, i);
    size_t size = record_end(b, i) - record_begin(b, i);

    if (!split_record(p, b, i, record, size, field))
        return;
    if (p->keys == 0)
        b->key[i] = whole_record(p, record, size);
    else if (p->keys == 1)
        b->key[i] = field[0];
    else if (!normalize_fields(p, b, i, field))
        return;
    else if (!pick_join(&b->arena, field, p->keys, KEY_JOINT, &b->key[i]))
        batch_fault(b, i, false, "out of memory");
    if (p->important && !read_measure(field[p->keys], p->exact, &b->importance[i]))
        batch_fault(b, i, p->skip, "the %s '%.*s' is not a number of 0 or more%s", p->measure,
                    (int)(field[p->keys].size < 40 ? field[p->keys].size : 40),
                    (const char *)field[p->keys].data, p->exact ? ", whole and below 2^32" : "");
    else if (p->has_ttl && !pick_ttl(p, b, i, field[p->keys + p->important]))
        return;
    else if (p->times)
        pick_time(p, b, i, field);
}

static void fold_key(struct batch *b, uint32_t i)
{
    char *to = arena_take(&b->arena, FOLD_CASE_ROOM(b->key[i].size));

    if (to)
        b->key[i] = (struct weir_bytes){to, fold_case(b->key[i].data, b->key[i].size, to)};
    else
        batch_fault(b, i, false, "out of memory");
}

/* Usually one field is requested and all records have it. Other cases are handled record by
 * record. */
static void pick_records(const struct picker *p, struct batch *b)
{
    bool simple = p->way != PICK_JSON && p->keys == 1 && !p->important && !p->has_ttl && !p->times;

    for (uint32_t i = 0; i < b->n; i++) {
        if (simple && !b->bads)
            i = fields_batch(p, b, i);
        if (i < b->n && (!b->bads || !b->bad[i]))
            pick_fields(p, b, i);
    }
}

void pick_batch(const struct picker *p, struct batch *b)
{
    b->important = p->important;
    b->event.timed = p->times > 0;
    b->event.has_ttl = p->has_ttl;
    if (p->way == PICK_WHOLE)
        pick_whole(p, b);
    else
        pick_records(p, b);
    for (uint32_t i = 0; (p->squeeze_spaces || p->as.n) && p->keys <= 1 && i < b->n; i++)
        if (!b->bads || !b->bad[i])
            normalize_field(p, b, i, &b->key[i]);
    for (uint32_t i = 0; p->fold && i < b->n; i++)
        if (!b->bads || !b->bad[i])
            fold_key(b, i);
}
