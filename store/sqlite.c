/* sqlite.c - sqlite:FILE?table=T&column=C, a column of a table or view of SQLite.
 *
 * The file is opened read-only. A batch is one read transaction, so it is consistent. Each key is
 * one search with a prepared statement.
 *
 * SQLite finds "007" in a column of numbers that contains 7, and "A" in a column that ignores case
 * and contains "a". Keys are bytes, so each result is compared again. A key may be stored as
 * number, text or blob, which are never equal if the column has no type. SQLite orders numbers
 * first and blobs last, so the minimum and the maximum of the column show which of them to search
 * for.
 *
 * The text of a real number is rounded to 15 digits. A real whose text is the key is close to the
 * number that the key parses as. */
#include <ctype.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

#define NEAR 1e-14 /* relative; rounding to 15 digits changes a number by at most half of it */
#define LOOK 20000 /* SQLite instructions between two checks of the deadline */

struct sqlite {
    const char *table, *column;
    sqlite3 *db;
    sqlite3_stmt *find, *near, *kinds, *count, *all;
    bool has_numbers, has_others, has_blobs; /* by kinds; others: numbers or text */
};

/* ---- outcomes ---- */

static enum outcome outcome_of(struct store *store, int code)
{
    struct sqlite *s = store->own;

    switch (code & 0xff) {
    case SQLITE_INTERRUPT: /* by tick(), which recorded the reason */
        return STORE_AGAIN;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return store_fail(store, STORE_AGAIN, "locked by a writer (no answer within %g s)",
                          store->options.timeout);
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
    case SQLITE_SCHEMA:
        return store_fail(store, STORE_AGAIN, "%s", sqlite3_errmsg(s->db));
    default:
        return store_fail(store, STORE_REFUSED, "%s",
                          s->db ? sqlite3_errmsg(s->db) : "out of memory");
    }
}

static int tick(void *context)
{
    return store_late(context);
}

/* ---- connecting ---- */

static bool open_url(struct store *store)
{
    struct sqlite *s = store->own = calloc(1, sizeof *s);

    if (!s)
        return store_refuse(store, "out of memory");
    s->table = url_value(&store->url, "table");
    s->column = url_value(&store->url, "column");
    if (!*store->url.path || !s->table || !s->column || !*s->table || !*s->column)
        return store_refuse(store, "no file, table or column; expected %s", store->backend->form);
    return true;
}

/* The format gets column, table, column, table. */
static enum outcome prepare(struct store *store, const char *format, sqlite3_stmt **out)
{
    struct sqlite *s = store->own;
    char *sql = sqlite3_mprintf(format, s->column, s->table, s->column, s->table);
    int code = sql ? sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL)
                   : SQLITE_NOMEM;

    sqlite3_free(sql);
    return code == SQLITE_OK ? STORE_OK : outcome_of(store, code);
}

/* SQLite treats an unknown name in double quotes as a string, so check the names first. */
static enum outcome check_names(struct store *store)
{
    struct sqlite *s = store->own;
    const char *sql = "SELECT 1 FROM pragma_table_xinfo(?1) WHERE name = ?2 COLLATE NOCASE";
    sqlite3_stmt *look;
    int code = sqlite3_prepare_v2(s->db, sql, -1, &look, NULL);

    if (code != SQLITE_OK)
        return outcome_of(store, code);
    sqlite3_bind_text(look, 1, s->table, -1, SQLITE_STATIC);
    sqlite3_bind_text(look, 2, s->column, -1, SQLITE_STATIC);
    code = sqlite3_step(look);
    enum outcome outcome = code == SQLITE_ROW ? STORE_OK
                           : code == SQLITE_DONE
                               ? store_fail(store, STORE_REFUSED,
                                            "no table '%s' with a column '%s'", s->table, s->column)
                               : outcome_of(store, code);
    sqlite3_finalize(look);
    return outcome;
}

static enum outcome connect(struct store *store)
{
    struct sqlite *s = store->own;
    enum outcome outcome;
    int code;

    if (s->db)
        return STORE_OK;
    code =
        sqlite3_open_v2(store->url.path, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return store_fail(store, STORE_REFUSED, "cannot open: %s",
                          s->db ? sqlite3_errmsg(s->db) : "out of memory");
    sqlite3_busy_timeout(s->db, (int)(store->options.timeout * 1000));
    sqlite3_progress_handler(s->db, LOOK, tick, store);
    outcome = check_names(store);
    if (outcome == STORE_OK)
        outcome = prepare(store, "SELECT \"%w\" FROM \"%w\" WHERE \"%w\" = ?1", &s->find);
    if (outcome == STORE_OK)
        outcome =
            prepare(store, "SELECT \"%w\" FROM \"%w\" WHERE \"%w\" BETWEEN ?1 AND ?2", &s->near);
    if (outcome == STORE_OK)
        outcome = prepare(store,
                          "SELECT typeof((SELECT min(\"%w\") FROM \"%w\")), "
                          "typeof((SELECT max(\"%w\") FROM \"%w\"))",
                          &s->kinds);
    return outcome;
}

static void disconnect(struct store *store)
{
    struct sqlite *s = store->own;

    sqlite3_finalize(s->find);
    sqlite3_finalize(s->near);
    sqlite3_finalize(s->kinds);
    sqlite3_finalize(s->count);
    sqlite3_finalize(s->all);
    sqlite3_close(s->db);
    s->find = s->near = s->kinds = s->count = s->all = NULL;
    s->db = NULL;
}

static void close_url(struct store *store)
{
    free(store->own);
}

/* ---- answering ---- */

/* The bytes of a value: of a blob, or of its text. */
static struct weir_bytes column_bytes(sqlite3_stmt *row)
{
    const void *data = sqlite3_column_type(row, 0) == SQLITE_BLOB
                           ? sqlite3_column_blob(row, 0)
                           : (const void *)sqlite3_column_text(row, 0);

    return (struct weir_bytes){data ? data : "", (size_t)sqlite3_column_bytes(row, 0)};
}

static bool is_kind(const struct sqlite *s, int column, const char *kind)
{
    return strcmp((const char *)sqlite3_column_text(s->kinds, column), kind) == 0;
}

static int learn_kinds(struct sqlite *s)
{
    int code = sqlite3_step(s->kinds);

    if (code == SQLITE_ROW) {
        s->has_numbers = is_kind(s, 0, "integer") || is_kind(s, 0, "real");
        s->has_others = !is_kind(s, 0, "blob");
        s->has_blobs = is_kind(s, 1, "blob");
    }
    sqlite3_reset(s->kinds);
    return code == SQLITE_ROW ? SQLITE_OK : code;
}

/* SQLITE_ROW if the bound key exists, SQLITE_DONE if not. */
static int search(sqlite3_stmt *find, struct weir_bytes key)
{
    int code;

    while ((code = sqlite3_step(find)) == SQLITE_ROW)
        if (index_compare(column_bytes(find), key) == 0)
            break;
    sqlite3_reset(find);
    return code;
}

/* Search for numbers whose text may be the key. */
static int find_number(struct sqlite *s, struct weir_bytes key)
{
    char text[32], *end;
    double number, around;

    if (key.size == 0 || key.size >= sizeof text)
        return SQLITE_DONE;
    memcpy(text, key.data, key.size);
    text[key.size] = '\0';
    number = strtod(text, &end);
    if (*end || isspace((unsigned char)*text) || isnan(number))
        return SQLITE_DONE;
    if (strspn(text, "-0123456789") == key.size) {
        /* out of range: the nearest number, which has another text */
        sqlite3_bind_int64(s->find, 1, strtoll(text, NULL, 10));
        return search(s->find, key);
    }
    around = isfinite(number) ? fabs(number) * NEAR : 0;
    sqlite3_bind_double(s->near, 1, number - around);
    sqlite3_bind_double(s->near, 2, number + around);
    return search(s->near, key);
}

static int find_key(struct sqlite *s, struct weir_bytes key, uint8_t *answer)
{
    const void *data = key.size ? key.data : "";
    int code = SQLITE_DONE;

    if (s->has_others) {
        sqlite3_bind_text64(s->find, 1, data, key.size, SQLITE_STATIC, SQLITE_UTF8);
        code = search(s->find, key);
    }
    if (code == SQLITE_DONE && s->has_numbers)
        code = find_number(s, key);
    if (code == SQLITE_DONE && s->has_blobs) {
        sqlite3_bind_blob64(s->find, 1, data, key.size, SQLITE_STATIC);
        code = search(s->find, key);
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return code;
    *answer = code == SQLITE_ROW ? WEIR_MEMBER : WEIR_OTHER;
    return SQLITE_OK;
}

static enum outcome answer(struct store *store, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers)
{
    struct sqlite *s = store->own;
    enum outcome outcome = STORE_OK;
    int code = sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL);

    if (code == SQLITE_OK)
        code = learn_kinds(s);
    for (size_t i = 0; i < n && code == SQLITE_OK; i++) {
        code = find_key(s, keys[i], &answers[i]);
        store_extend(store);
    }
    if (code != SQLITE_OK)
        outcome = outcome_of(store, code); /* before another call changes the message */
    sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
    return outcome;
}

/* ---- size and list ---- */

static enum outcome size(struct store *store, uint64_t *keys)
{
    struct sqlite *s = store->own;
    enum outcome outcome =
        s->count ? STORE_OK : prepare(store, "SELECT count(\"%w\") FROM \"%w\"", &s->count);
    int code = outcome == STORE_OK ? sqlite3_step(s->count) : SQLITE_ERROR;

    if (code == SQLITE_ROW)
        *keys = (uint64_t)sqlite3_column_int64(s->count, 0);
    else if (outcome == STORE_OK)
        outcome = outcome_of(store, code);
    sqlite3_reset(s->count);
    return outcome;
}

static enum outcome list(struct store *store, store_taker take, void *context)
{
    struct sqlite *s = store->own;
    enum outcome outcome = s->all ? STORE_OK : prepare(store, "SELECT \"%w\" FROM \"%w\"", &s->all);
    int code = SQLITE_DONE;

    while (outcome == STORE_OK && (code = sqlite3_step(s->all)) == SQLITE_ROW) {
        if (sqlite3_column_type(s->all, 0) != SQLITE_NULL) {
            struct weir_bytes key = column_bytes(s->all); /* until the next step */

            take(context, &key, 1);
        }
        store_extend(store);
    }
    if (outcome == STORE_OK && code != SQLITE_DONE)
        outcome = outcome_of(store, code);
    sqlite3_reset(s->all);
    return outcome;
}

static const char *const parameters[] = {"table", "column", NULL};

const struct backend backend_sqlite = {.scheme = "sqlite",
                                       .form = "sqlite:FILE?table=T&column=C",
                                       .parameters = parameters,
                                       .open = open_url,
                                       .connect = connect,
                                       .disconnect = disconnect,
                                       .answer = answer,
                                       .size = size,
                                       .list = list,
                                       .close = close_url};
