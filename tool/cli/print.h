/* print.h - results on standard output: lists, counts, help. Records are written by pipe/write.c.
 */
#ifndef WEIR_CLI_PRINT_H
#define WEIR_CLI_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

/* --format */
enum print_format {
    PRINT_TEXT, /* for people: the main columns of a table, with units */
    PRINT_TSV,  /* a header line, then rows; numbers without units, texts by print_tsv_text() */
    PRINT_JSON, /* one document */
    PRINT_WIDE  /* PRINT_TEXT with all columns */
};

static inline bool print_is_text(enum print_format format)
{
    return format == PRINT_TEXT || format == PRINT_WIDE;
}

/* Make stdout wait if standard output is full and non-blocking. */
void print_open(void);

/* A cell of TSV: tab, line feed, carriage return and backslash become \t, \n, \r and \\. */
void print_tsv_text(const char *text, size_t size);

/* Rows of a key and its numbers. TSV: columns "key" and `names`. JSON: an array of objects
 * with the same names. Several fields of a key are separated by a tab (escaped in TSV), or are an
 * array of strings in JSON. */
struct key_rows {
    enum print_format format;
    const char *const *names; /* of the numbers; NULL-terminated */
    bool fields;              /* keys may have several fields */
    char end;                 /* of a line of text */
    uint64_t printed;
};

void key_rows_open(const struct key_rows *r);
void key_rows_add(struct key_rows *r, const char *key, size_t size, const char *const *numbers);
void key_rows_close(const struct key_rows *r);

/* Columns of the terminal; 0 if standard output is not a terminal. */
int print_columns(void);

/* Print text that starts at this column, wrapped to 79 columns or the width of the terminal. */
void print_wrapped(const char *text, int column);

/* Flush. False if anything printed could not be written, with a message the first time. */
bool print_flush(void);

/* ---- JSON ---- */

/* The value as text, which the caller frees; NULL if memory is exhausted or the value is NULL.
 * Flags as in jansson. json_dumps() of jansson 2.14 omits names if its buffer cannot grow; this
 * function measures first, so no buffer grows. */
char *json_text(const json_t *value, size_t flags);

/* A JSON string; bytes that are not UTF-8 become U+FFFD. NULL if memory is exhausted. */
json_t *utf8_string(const char *name);

/* Add a member. Returns NULL and frees both if memory is exhausted or one is NULL. */
json_t *json_with(json_t *object, const char *name, json_t *value);

/* Append to an array; as json_with(). */
json_t *json_appended(json_t *array, json_t *value);

/* Print a document, real numbers with 6 digits, and free it. NULL is reported as out of memory.
 * False after a message. */
bool json_print(json_t *value, size_t flags);

/* Print an object or an array of objects as TSV, a header line and a row each, and free it. */
bool json_print_tsv(json_t *value);

/* Escape bytes for a JSON string: from *from up to `end`, or while there is space (at least
 * JSON_ESCAPE_ROOM). Advances *from. Returns the length of the output.
 *
 * A byte XX that is not part of a UTF-8 character becomes \udcXX, a lone surrogate, as with
 * Python's "surrogateescape". Valid text contains none, so the bytes round-trip. */
#define JSON_ESCAPE_ROOM 8
size_t json_escape(const char **from, const char *end, char *to, size_t room);

#endif
