/* sql_top.c - weir_top(sketch): a table of the most frequent keys, highest count first.
 *
 *     SELECT key, count, error FROM weir_top((SELECT weir_agg(host, 'top') FROM log)) LIMIT 10
 *
 * The sketch is a blob of weir_agg() with the spec of a sketch that keeps keys, or a state file
 * of `weir top`. The true count of a key is at most count and at least count - error; error is NULL
 * if there is no bound (heavykeeper). */
#include "sql.h"

#include <string.h>
#include <weir/saved.h>
#include <weir/sketch.h>

SQLITE_EXTENSION_INIT3

enum { KEY, COUNT, ERROR, SKETCH };

static const char columns[] = "CREATE TABLE x(key, count INTEGER, error INTEGER, sketch HIDDEN)";

/* A scan of one sketch. */
struct cursor {
    sqlite3_vtab_cursor base;
    weir_sketch *sketch;
    struct weir_heavy *keys; /* of which the bytes lie in the sketch */
    size_t n, at;
};

static int connect(sqlite3 *db, void *data, int n, const char *const *words, sqlite3_vtab **out,
                   char **why)
{
    int status = sqlite3_declare_vtab(db, columns);

    (void)data, (void)n, (void)words, (void)why;
    if (status != SQLITE_OK)
        return status;
    *out = sqlite3_malloc64(sizeof **out);
    if (!*out)
        return SQLITE_NOMEM;
    **out = (sqlite3_vtab){.pModule = NULL};
    return sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
}

static int disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* The sketch must be given; rows come in the order of their counts. */
static int plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
    int given = -1;

    (void)table;
    for (int i = 0; i < info->nConstraint; i++) {
        struct sqlite3_index_constraint c = info->aConstraint[i];

        if (c.iColumn == SKETCH && c.op == SQLITE_INDEX_CONSTRAINT_EQ && !c.usable)
            return SQLITE_CONSTRAINT; /* in this order of tables it is not known yet */
        if (c.iColumn == SKETCH && c.op == SQLITE_INDEX_CONSTRAINT_EQ)
            given = i;
    }
    info->idxNum = given >= 0;
    if (given >= 0) {
        info->aConstraintUsage[given].argvIndex = 1;
        info->aConstraintUsage[given].omit = 1;
    }
    info->orderByConsumed =
        info->nOrderBy == 1 && info->aOrderBy[0].iColumn == COUNT && info->aOrderBy[0].desc;
    info->estimatedCost = 1000;
    info->estimatedRows = 1000;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    struct cursor *c = sqlite3_malloc64(sizeof *c);

    (void)table;
    if (!c)
        return SQLITE_NOMEM;
    *c = (struct cursor){.sketch = NULL};
    *out = &c->base;
    return SQLITE_OK;
}

static void drop(struct cursor *c)
{
    weir_sketch_close(c->sketch);
    sqlite3_free(c->keys);
    c->sketch = NULL;
    c->keys = NULL;
    c->n = c->at = 0;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    drop((struct cursor *)cursor);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int fail(struct cursor *c, const char *why)
{
    sqlite3_vtab *table = c->base.pVtab;

    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("weir_top: %s", why);
    return SQLITE_ERROR;
}

/* The sketch in a file, after any notes of the command; NULL with a message. */
static weir_sketch *load(struct weir_bytes file, struct weir_error *error)
{
    const uint8_t *at = file.data;
    struct weir_part part = {.kind = WEIR_PART_NOTE};
    weir_sketch *s = NULL;

    for (size_t left = file.size; left > 0; at += part.size, left -= part.size) {
        if (weir_part_read(at, left, &part, sizeof part, error) != WEIR_OK)
            return NULL;
        if (part.kind == WEIR_PART_COUNTS || part.kind == WEIR_PART_TOP) {
            weir_sketch_load_buffer(&s, at, left, NULL, NULL, error);
            return s;
        }
        if (part.kind == WEIR_PART_FILTER || part.kind == WEIR_PART_SCREEN)
            break;
    }
    strcpy(error->text, "the blob contains no sketch; make one with weir_agg(key, 'top')");
    return NULL;
}

/* Whether this is the result of weir_agg(key, 'top') without rows: an empty filter, because
 * the spec was not passed. */
static bool is_of_no_rows(struct weir_bytes blob)
{
    struct weir_stats stats;
    weir_filter *w;

    if (weir_view_buffer(&w, blob.data, blob.size, NULL, NULL, NULL) != WEIR_OK)
        return false;
    weir_measure(w, &stats, sizeof stats);
    weir_close(w);
    return stats.observed == 0;
}

static bool keeps_keys(const weir_sketch *s)
{
    char spec[WEIR_SPEC_MAX];
    const struct weir_algorithm *algorithm;

    weir_sketch_config(s, spec, sizeof spec);
    algorithm = weir_find_algorithm(WEIR_KIND_SKETCH, spec);
    return algorithm && (algorithm->traits & WEIR_CAN_LIST);
}

static int take_keys(struct cursor *c)
{
    size_t n = (size_t)weir_sketch_stats_of(c->sketch).keys;

    c->keys = sqlite3_malloc64((n + 1) * sizeof *c->keys);
    if (!c->keys)
        return SQLITE_NOMEM;
    c->n = weir_sketch_top(c->sketch, c->keys, n);
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *cursor, int given, const char *text, int n,
                  sqlite3_value **values)
{
    struct cursor *c = (struct cursor *)cursor;
    struct weir_error error;
    struct weir_bytes blob;

    (void)text, (void)n;
    drop(c);
    if (!given)
        return fail(c, "the sketch is missing; use weir_top((SELECT weir_agg(key, 'top') FROM t))");
    if (sqlite3_value_type(values[0]) == SQLITE_NULL)
        return SQLITE_OK; /* no counts, no rows */
    if (sqlite3_value_type(values[0]) != SQLITE_BLOB)
        return fail(c, "the sketch is not a blob; make one with weir_agg(key, 'top')");
    blob =
        (struct weir_bytes){sqlite3_value_blob(values[0]), (size_t)sqlite3_value_bytes(values[0])};
    if (is_of_no_rows(blob))
        return SQLITE_OK;
    c->sketch = load(blob, &error);
    if (!c->sketch)
        return fail(c, error.text);
    if (!keeps_keys(c->sketch))
        return fail(c, "this sketch cannot list keys; make one with weir_agg(key, 'top')");
    return take_keys(c);
}

static int next(sqlite3_vtab_cursor *cursor)
{
    ((struct cursor *)cursor)->at++;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *cursor)
{
    const struct cursor *c = (const struct cursor *)cursor;

    return c->at >= c->n;
}

/* How many bytes the character that begins here has, 0 if it is none of UTF-8. */
static size_t character(const uint8_t *s, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = s[0] < 0x80       ? 1
                  : s[0] >> 5 == 6  ? 2
                  : s[0] >> 4 == 14 ? 3
                  : s[0] >> 3 == 30 ? 4
                                    : 0;
    uint32_t code = size > 1 ? s[0] & (0x7fU >> size) : s[0];

    if (size == 0 || size > n)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    return code >= least[size] && code <= 0x10ffff && code >> 11 != 0x1b ? size : 0;
}

/* A text that SQL can hold without loss: no NUL in it. */
static bool is_text(struct weir_bytes key)
{
    const uint8_t *s = key.data;
    size_t at = 0, size = 1;

    while (at < key.size && size > 0 && s[at] != '\0')
        at += size = character(s + at, key.size - at);
    return at == key.size && size > 0;
}

static void return_key(sqlite3_context *context, struct weir_bytes key)
{
    if (is_text(key))
        sqlite3_result_text64(context, key.data, key.size, SQLITE_TRANSIENT, SQLITE_UTF8);
    else
        sqlite3_result_blob64(context, key.data, key.size, SQLITE_TRANSIENT);
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int i)
{
    const struct cursor *c = (const struct cursor *)cursor;
    const struct weir_heavy *heavy = &c->keys[c->at];

    if (i == KEY)
        return_key(context, heavy->key);
    else if (i == COUNT)
        sqlite3_result_int64(context, (sqlite3_int64)heavy->count);
    else if (i == ERROR && heavy->error != WEIR_NO_BOUND)
        sqlite3_result_int64(context, (sqlite3_int64)heavy->error);
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
    *id = (sqlite3_int64)((const struct cursor *)cursor)->at + 1;
    return SQLITE_OK;
}

int sql_add_top(sqlite3 *db)
{
    static const sqlite3_module module = {
        .xConnect = connect,
        .xBestIndex = plan,
        .xDisconnect = disconnect,
        .xOpen = open_cursor,
        .xClose = close_cursor,
        .xFilter = filter,
        .xNext = next,
        .xEof = at_end,
        .xColumn = column,
        .xRowid = rowid,
    };

    return sqlite3_create_module_v2(db, "weir_top", &module, NULL, NULL);
}
