/* keyfile.c - keys:FILE, a file of keys, one per line (or NUL-terminated).
 *
 * field=1&delimiter=: selects the key in a line such as HASH:COUNT; field=1,3 joins fields with
 * tabs. Without delimiter=, fields are separated by blanks. Quotes are not interpreted.
 *
 * A file that is sorted by bytes is searched in place, in O(log n) and without memory. For any
 * other file a hash table of 16 to 48 bytes per key is built. The file must not be written to while
 * it is in use: mapped.c detects that, and lookups fail from then on. Renaming a new file over it
 * is safe.
 *
 * latency=1ms delays each call, like a slow server. batch=50 splits lookups into calls of 50 keys.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend.h"
#include "magic.h"
#include "mapped.h"

#define LISTED 1024 /* keys at once */
#define FIELDS_MAX 16

struct keyfile {
    struct mapped file;
    char *copy;       /* extracted or normalized keys, instead of the file; or NULL */
    const char *data; /* all keys */
    size_t size;
    size_t keys;
    char end;                   /* of a line */
    uint32_t fields;            /* of the key; 0: the whole line */
    uint32_t field[FIELDS_MAX]; /* their numbers, from 1 */
    char delimiter;             /* 0: blanks */
    size_t faulty;              /* the first line without the field, from 1; 0: none */
    bool quoted;                /* it has one, in quotes */
    bool strip_cr;
    bool ready, sorted;
    double latency;
    unsigned long batch; /* keys of one call */
    struct key_index index;
    void *set; /* of store_options.set, which replaces the data; or NULL */
};

/* The line that begins there. */
static struct weir_bytes line_at(const struct keyfile *f, size_t at)
{
    const char *line = f->data + at, *stop = memchr(line, f->end, f->size - at);
    size_t size = stop ? (size_t)(stop - line) : f->size - at;

    return (struct weir_bytes){line, size - (f->strip_cr && size > 0 && line[size - 1] == '\r')};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Field `number` of a line; its data is NULL if there are fewer. */
static struct weir_bytes field_of(const struct keyfile *f, struct weir_bytes line, uint32_t number)
{
    const char *at = line.data, *end = at + line.size;

    for (uint32_t i = 1;; i++) {
        while (!f->delimiter && at < end && is_blank(*at))
            at++;
        if (!f->delimiter && at == end)
            return (struct weir_bytes){NULL, 0};
        const char *start = at;
        while (at < end && (f->delimiter ? *at != f->delimiter : !is_blank(*at)))
            at++;
        if (i == number)
            return (struct weir_bytes){start, (size_t)(at - start)};
        if (at == end)
            return (struct weir_bytes){NULL, 0};
        at++;
    }
}

/* The key of the line that begins there: the line, or one field. If it is missing, the key is empty
 * and begins at the end of the line. */
static struct weir_bytes key_at(const void *context, uint64_t at)
{
    const struct keyfile *f = context;
    struct weir_bytes line = line_at(f, at);
    struct weir_bytes key = f->fields ? field_of(f, line, f->field[0]) : line;

    return key.data ? key : (struct weir_bytes){(const char *)line.data + line.size, 0};
}

/* The offset of the next line. */
static size_t key_after(const struct keyfile *f, struct weir_bytes key)
{
    size_t end = (size_t)((const char *)key.data - f->data) + key.size;
    const char *stop = end < f->size ? memchr(f->data + end, f->end, f->size - end) : NULL;

    return stop ? (size_t)(stop - f->data) + 1 : f->size;
}

/* ---- searching ---- */

/* Quotes would be part of the key, which no record has then. */
static void check_field(struct keyfile *f, struct weir_bytes field, size_t line)
{
    f->quoted = field.size > 0 && *(const char *)field.data == '"';
    if (!field.data || f->quoted)
        f->faulty = line;
}

static bool is_sorted(struct keyfile *f)
{
    struct weir_bytes before = {"", 0};
    bool sorted = true;

    f->keys = 0;
    for (size_t at = 0; at < f->size; f->keys++) {
        struct weir_bytes key = key_at(f, at);

        if (f->fields && !f->faulty)
            check_field(f, field_of(f, line_at(f, at), f->field[0]), f->keys + 1);
        sorted = sorted && index_compare(before, key) <= 0;
        before = key;
        at = key_after(f, key);
    }
    return sorted;
}

static bool search(const struct keyfile *f, struct weir_bytes key)
{
    size_t from = 0, to = f->size;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const char *before = memrchr(f->data + from, f->end, middle - from);
        size_t start = before ? (size_t)(before - f->data) + 1 : from;
        struct weir_bytes there = key_at(f, start);
        int order = index_compare(key, there);

        if (order == 0)
            return true;
        if (order < 0)
            to = start;
        else
            from = key_after(f, there);
    }
    return false;
}

static bool make_table(struct keyfile *f)
{
    if (!index_open(&f->index, f->keys, key_at, f))
        return false;
    for (size_t at = 0; at < f->size;) {
        index_add(&f->index, at);
        at = key_after(f, key_at(f, at));
    }
    return true;
}

static void sleep_for(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&t, NULL);
}

static bool is_member(const struct store *store, struct weir_bytes key)
{
    const struct keyfile *f = store->own;

    if (f->set)
        return store->options.set->contains(f->set, key);
    return f->sorted ? search(f, key) : index_find(&f->index, key, NULL);
}

/* What was read is valid only if the file is still the same. */
static enum outcome check_unchanged(struct store *store, const char *when)
{
    const struct keyfile *f = store->own;

    if (f->file.fd < 0 || mapped_is_unchanged(&f->file))
        return STORE_OK;
    return store_fail(store, STORE_REFUSED, "the file changed while it was %s", when);
}

#define READ "read; try again"
#define IN_USE "in use; rename a new file over it instead"

static enum outcome answer(struct store *store, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers)
{
    const struct keyfile *f = store->own;

    for (size_t i = 0; i < n; i++) {
        if (f->latency > 0 && i % f->batch == 0) {
            sleep_for(f->latency);
            if (store_late(store))
                return STORE_AGAIN;
            store_extend(store);
        }
        answers[i] = is_member(store, keys[i]) ? WEIR_MEMBER : WEIR_OTHER;
    }
    return check_unchanged(store, IN_USE);
}

/* ---- size and list ---- */

static enum outcome size(struct store *store, uint64_t *keys)
{
    *keys = ((struct keyfile *)store->own)->keys;
    return STORE_OK;
}

static enum outcome list(struct store *store, store_taker take, void *context)
{
    const struct keyfile *f = store->own;
    struct weir_bytes held[LISTED];
    size_t n = 0;

    for (size_t at = 0; at < f->size; at = key_after(f, held[n++])) {
        if (n == LISTED) {
            take(context, held, n);
            n = 0;
        }
        held[n] = key_at(f, at);
    }
    take(context, held, n);
    return check_unchanged(store, IN_USE);
}

/* ---- opening ---- */

static bool read_latency(const char *text, double *seconds)
{
    char *unit;

    if (!text)
        return true;
    *seconds = strtod(text, &unit);
    if (unit == text || !(*seconds >= 0 && *seconds <= 60000))
        return false;
    *seconds /= strcmp(unit, "ms") == 0 ? 1e3 : strcmp(unit, "us") == 0 ? 1e6 : 1;
    return strcmp(unit, "s") == 0 || strcmp(unit, "ms") == 0 || strcmp(unit, "us") == 0;
}

static bool read_batch(const char *text, unsigned long *keys)
{
    char *end = NULL;

    *keys = text ? strtoul(text, &end, 10) : ULONG_MAX;
    return !text || (*text >= '1' && *text <= '9' && !*end);
}

static bool read_fields(const char *text, struct keyfile *f)
{
    char *end;

    for (; text; text = *end ? end + 1 : NULL) {
        unsigned long number = strtoul(text, &end, 10);

        if (*text < '1' || *text > '9' || number > UINT32_MAX || (*end && *end != ',') ||
            f->fields == FIELDS_MAX)
            return false;
        f->field[f->fields++] = (uint32_t)number;
    }
    return true;
}

static bool read_delimiter(const char *text, char *delimiter)
{
    if (text)
        *delimiter = strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0 ? '\t' : *text;
    return !text || (*text && (!text[1] || *delimiter == '\t') && *text != '\n');
}

static bool read_format(struct store *store, struct keyfile *f)
{
    const char *delimiter = url_value(&store->url, "delimiter");

    if (!read_fields(url_value(&store->url, "field"), f))
        return store_refuse(store, "invalid field=; use for example field=1 or field=1,3");
    if (delimiter && !f->fields)
        return store_refuse(store, "delimiter= without field=; add for example field=1");
    return read_delimiter(delimiter, &f->delimiter) ||
           store_refuse(store, "invalid delimiter=; use one byte, for example delimiter=: or "
                               "delimiter=tab");
}

static bool open_file(struct store *store)
{
    struct keyfile *f = store->own = calloc(1, sizeof *f);

    if (!f)
        return store_refuse(store, "out of memory");
    f->file.fd = -1;
    f->end = store->options.nul ? '\0' : '\n';
    store->unlisted |= store->options.set != NULL;
    f->strip_cr = store->options.strip_cr;
    if (!read_latency(url_value(&store->url, "latency"), &f->latency) ||
        !read_batch(url_value(&store->url, "batch"), &f->batch))
        return store_refuse(store,
                            "invalid latency or batch; use for example latency=1ms&batch=50");
    return read_format(store, f);
}

static enum outcome refuse_line(struct store *store)
{
    const struct keyfile *f = store->own;

    if (f->quoted)
        return store_fail(
            store, STORE_REFUSED,
            "line %zu: the field is in quotes, which are not interpreted; remove them", f->faulty);
    return store_fail(store, STORE_REFUSED,
                      "line %zu has no field %s; --on-error skip leaves out such lines", f->faulty,
                      url_value(&store->url, "field"));
}

/* A single field is found in place, which needs no memory. */
static bool needs_copy(const struct store *store)
{
    const struct keyfile *f = store->own;

    return f->fields > 1 ||
           (f->fields && (store->options.fold || store->options.set || store->options.skipped));
}

/* Use a copy of the keys instead of the file, or of an earlier copy. */
static enum outcome use_copy(struct store *store, char *copy, size_t size)
{
    struct keyfile *f = store->own;
    enum outcome outcome = check_unchanged(store, READ);

    if (outcome == STORE_OK && !copy)
        outcome = store_fail(store, STORE_REFUSED, "out of memory");
    mapped_close(&f->file);
    free(f->copy);
    f->copy = copy;
    f->data = copy;
    f->size = size;
    return outcome;
}

/* A copy of the keys alone, one per line; lines without a field are left out, or end it. After
 * that, lines are keys. */
static enum outcome extract(struct store *store)
{
    struct keyfile *f = store->own;
    char *copy = malloc(f->size + 1), *to = copy;
    size_t line_number = 0;
    enum outcome outcome;

    for (size_t at = 0; copy && at < f->size && !f->faulty;) {
        struct weir_bytes line = line_at(f, at), key = {"", 0};
        char *start = to;

        line_number++;
        for (uint32_t i = 0; i < f->fields && key.data; i++) {
            key = field_of(f, line, f->field[i]);
            if (i > 0)
                *to++ = '\t';
            if (key.data)
                to = mempcpy(to, key.data, key.size);
        }
        if (key.data)
            *to++ = f->end;
        else if (store->options.skipped)
            ++*store->options.skipped;
        if (key.data || !store->options.skipped)
            check_field(f, key, line_number);
        to = key.data ? to : start;
        at = key_after(f, line);
    }
    outcome = use_copy(store, copy, (size_t)(to - copy));
    if (outcome == STORE_OK && f->faulty)
        return refuse_line(store);
    f->fields = 0;
    f->strip_cr = false;
    return outcome;
}

/* Normalize case and white space, as for the keys of records. */
static enum outcome fold(struct store *store)
{
    const struct keyfile *f = store->own;
    size_t size = f->size;
    char *folded = store->options.fold(store->options.how, f->data, &size);

    return use_copy(store, folded, size);
}

/* The file is not used after that. */
static enum outcome replace_by_set(struct store *store)
{
    struct keyfile *f = store->own;
    char text[sizeof store->failure];
    enum outcome outcome;

    f->set = store->options.set->open(store->options.set_how, f->data, f->size,
                                      (struct store_why){text, sizeof text});
    outcome = check_unchanged(store, READ);
    if (outcome == STORE_OK && !f->set)
        outcome = store_fail(store, STORE_REFUSED, "%s", text);
    f->ready = outcome == STORE_OK;
    mapped_close(&f->file);
    return outcome;
}

static enum outcome reject_foreign(struct store *store)
{
    const struct keyfile *f = store->own;
    const char *path = store->url.path;
    bool open;
    enum file_kind kind = magic_kind(f->data, f->size, &open);
    enum outcome outcome = check_unchanged(store, IN_USE);

    if (outcome != STORE_OK || kind == KIND_RECORDS)
        return outcome;
    if (kind == KIND_SQLITE)
        return store_fail(store, STORE_REFUSED,
                          "SQLite database, not keys; use --store 'sqlite:%s?table=T&column=C'",
                          path);
    if (kind == KIND_WEIR)
        return store_fail(store, STORE_REFUSED,
                          "filter or state file, not keys; use the file of keys from which it was "
                          "made");
    return store_fail(store, STORE_REFUSED, "%s, not keys; %s", magic_name(kind), magic_fix(kind));
}

/* Sorted keys are searched in place, others in a table. */
static enum outcome arrange(struct store *store)
{
    struct keyfile *f = store->own;
    enum outcome outcome;

    f->sorted = is_sorted(f);
    f->ready = !f->faulty && (f->sorted || make_table(f));
    outcome = check_unchanged(store, IN_USE);
    if (outcome != STORE_OK || f->ready)
        return outcome;
    if (f->faulty)
        return refuse_line(store);
    return store_fail(store, STORE_REFUSED,
                      "out of memory for its keys; sort the file with LC_ALL=C sort");
}

static enum outcome make_ready(struct store *store)
{
    struct keyfile *f = store->own;
    const char *why = f->ready ? NULL : mapped_open(&f->file, store->url.path);
    enum outcome outcome;

    if (f->ready)
        return STORE_OK;
    if (why)
        return store_fail(store, STORE_REFUSED, "cannot search: %s", why);
    f->data = f->file.data;
    f->size = f->file.size;
    outcome = reject_foreign(store);
    if (outcome == STORE_OK && needs_copy(store))
        outcome = extract(store);
    if (outcome == STORE_OK && store->options.set)
        return replace_by_set(store);
    if (outcome == STORE_OK && store->options.fold)
        outcome = fold(store);
    return outcome == STORE_OK ? arrange(store) : outcome;
}

char keyfile_delimiter(const struct store *store)
{
    return ((const struct keyfile *)store->own)->delimiter;
}

static void close_file(struct store *store)
{
    struct keyfile *f = store->own;

    mapped_close(&f->file);
    index_close(&f->index);
    if (f->set)
        store->options.set->close(f->set);
    free(f->copy);
    free(f);
}

static const char *const parameters[] = {"field", "delimiter", "latency", "batch", NULL};

const struct backend backend_keys = {.scheme = "keys",
                                     .form = "keys:FILE?field=N&delimiter=C",
                                     .parameters = parameters,
                                     .open = open_file,
                                     .connect = make_ready,
                                     .answer = answer,
                                     .size = size,
                                     .list = list,
                                     .close = close_file};
