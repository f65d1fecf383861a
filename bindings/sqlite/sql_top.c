/* sql_top.c - weir_top(sketch [, 'all']): a table of the most frequent keys, highest count first.
 *
 *     SELECT key, count, error FROM weir_top((SELECT weir_agg(host, 'top') FROM log)) LIMIT 10
 *
 * The sketch is a blob of weir_agg() with a sketch that stores keys, or a state file of `weir top`.
 * The true count is at most count and at least count - error; error is NULL if there is no bound
 * (heavykeeper). Keys whose count may be lower than that of a key that is not stored are listed
 * only with 'all': in a stream without frequent keys, these are arbitrary. */
#include "sql.h"

#include <string.h>

SQLITE_EXTENSION_INIT3

enum { KEY, COUNT, ERROR, SKETCH, WHICH };

static const char columns[] =
    "CREATE TABLE x(key, count INTEGER, error INTEGER, sketch HIDDEN, which HIDDEN)";

/* A scan of one sketch. */
struct top_cursor {
    sqlite3_vtab_cursor base;
    weir_sketch *sketch;
    struct weir_heavy *keys; /* their bytes belong to the sketch */
    size_t n, at;
};

static int connect(sqlite3 *db, void *data, int n, const char *const *words, sqlite3_vtab **out,
                   char **why)
{
    int status = sqlite3_declare_vtab(db, columns);

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

/* Plan a scan: idxNum has a bit for each argument that is passed, in their order. Rows are sorted
 * by count. */
static int plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
    int argument[2] = {-1, -1}, passed = 0;

    for (int i = 0; i < info->nConstraint; i++) {
        struct sqlite3_index_constraint c = info->aConstraint[i];

        if (c.iColumn < SKETCH || c.op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (!c.usable)
            return SQLITE_CONSTRAINT; /* not yet known in this order of tables */
        argument[c.iColumn - SKETCH] = i;
    }
    info->idxNum = 0;
    for (int i = 0; i < 2; i++) {
        if (argument[i] < 0)
            continue;
        info->idxNum |= 1 << i;
        info->aConstraintUsage[argument[i]].argvIndex = ++passed;
        info->aConstraintUsage[argument[i]].omit = 1;
    }
    info->orderByConsumed =
        info->nOrderBy == 1 && info->aOrderBy[0].iColumn == COUNT && info->aOrderBy[0].desc;
    info->estimatedCost = 1000;
    info->estimatedRows = 1000;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    struct top_cursor *c = sqlite3_malloc64(sizeof *c);

    if (!c)
        return SQLITE_NOMEM;
    *c = (struct top_cursor){.sketch = NULL};
    *out = &c->base;
    return SQLITE_OK;
}

static void drop(struct top_cursor *c)
{
    weir_sketch_close(c->sketch);
    sqlite3_free(c->keys);
    c->sketch = NULL;
    c->keys = NULL;
    c->n = c->at = 0;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    drop((struct top_cursor *)cursor);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int fail(struct top_cursor *c, const char *why)
{
    sqlite3_vtab *table = c->base.pVtab;

    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("weir_top: %s", why);
    return SQLITE_ERROR;
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

/* Get the keys that are certainly as frequent as any key that is not stored, or all. */
static int take_keys(struct top_cursor *c, bool all)
{
    struct weir_sketch_stats stats = weir_sketch_stats_of(c->sketch);
    size_t n = (size_t)stats.keys, certain = 0;

    c->keys = sqlite3_malloc64((n + 1) * sizeof *c->keys);
    if (!c->keys)
        return SQLITE_NOMEM;
    n = weir_sketch_top(c->sketch, c->keys, n);
    for (size_t i = 0; i < n; i++) {
        struct weir_heavy k = c->keys[i];

        if (all || k.error == WEIR_NO_BOUND || k.count - k.error >= stats.error)
            c->keys[certain++] = k;
    }
    c->n = certain;
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *cursor, int passed, const char *text, int n,
                  sqlite3_value **values)
{
    struct top_cursor *c = (struct top_cursor *)cursor;
    const char *which = passed & 2 ? (const char *)sqlite3_value_text(values[n - 1]) : NULL;
    struct weir_error error;
    struct weir_bytes blob;

    drop(c);
    if (!(passed & 1))
        return fail(c, "the sketch is missing; use weir_top((SELECT weir_agg(key, 'top') FROM t))");
    if (passed & 2 && (!which || sqlite3_stricmp(which, "all") != 0))
        return fail(c, "the second argument is unknown; use 'all' or leave it out");
    if (sqlite3_value_type(values[0]) == SQLITE_NULL)
        return SQLITE_OK; /* no rows */
    if (sqlite3_value_type(values[0]) != SQLITE_BLOB)
        return fail(c, "the sketch is not a blob; make one with weir_agg(key, 'top')");
    blob =
        (struct weir_bytes){sqlite3_value_blob(values[0]), (size_t)sqlite3_value_bytes(values[0])};
    if (is_of_no_rows(blob))
        return SQLITE_OK;
    c->sketch = sql_load_sketch(blob, &error);
    if (!c->sketch)
        return fail(c, error.text);
    if (!sql_lists_keys(c->sketch))
        return fail(c, "this sketch cannot list keys; make one with weir_agg(key, 'top')");
    return take_keys(c, passed & 2);
}

static int next(sqlite3_vtab_cursor *cursor)
{
    ((struct top_cursor *)cursor)->at++;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *cursor)
{
    const struct top_cursor *c = (const struct top_cursor *)cursor;

    return c->at >= c->n;
}

/* The number of bytes of the UTF-8 character at s, or 0 if it is invalid. */
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

/* Whether a key is valid UTF-8 without NUL, which SQL text can represent. */
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
    const struct top_cursor *c = (const struct top_cursor *)cursor;
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
    *id = (sqlite3_int64)((const struct top_cursor *)cursor)->at + 1;
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
