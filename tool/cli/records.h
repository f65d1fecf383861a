/* records.h - what the records are, and where in them the key is. */
#ifndef WEIR_CLI_RECORDS_H
#define WEIR_CLI_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_JOINT '\x1f' /* between the fields of a key of several; printed and read as a tab */
#define GRAM_MAX 16      /* words in a key of --ngrams, at most */

enum format { FORMAT_LINES, FORMAT_CSV, FORMAT_TSV, FORMAT_JSONL, FORMAT_DELIMITED };

/* Of a record that has not the fields of the key. */
enum on_missing { MISSING_IS_MALFORMED, MISSING_STOPS, MISSING_SKIPS, MISSING_PASSES };

/* Where records say when they were made. */
struct event_time {
    const char *field;  /* as for a key; NULL: time is that of the machine's clock */
    const char *format; /* NULL: to be found out */
    bool limited;       /* records may be late by: */
    double lateness;    /* seconds */
    uint64_t span;      /* milliseconds: of what goes by that time; the command knows */
};

struct records {
    enum format format;
    bool plain;     /* nothing is decompressed, nothing refused for what it looks like */
    bool nul;       /* records end with NUL, not with a line break */
    char delimiter; /* of fields; 0: blanks */
    bool header;
    const char *key, *importance;
    const char *weight; /* the same field for what is counted */
    struct event_time time;
    bool ignore_case, ignore_space;
    bool keep_cr; /* of a line that ends in CR LF, the CR is part of the key */
    uint64_t max_record;
    bool skip; /* malformed records, instead of stopping */
    enum on_missing missing;
};

/* The field that is a number: importance or weight; NULL if there is none. */
static inline const char *records_measure(const struct records *r)
{
    return r->weight ? r->weight : r->importance;
}

/* Is a CR at the end of a record no part of its key? */
static inline bool records_strip_cr(const struct records *r)
{
    return !r->nul && !r->keep_cr;
}

/* Are those without a key left out? */
bool records_skip_missing(const struct records *r);

/* Are keys made of several fields? */
bool records_have_fields(const struct records *r);

/* Keys of a file that has one per line, whatever else these records are; tabs are between
 * the fields of a key of several. */
struct records records_of_keys(const struct records *r);

/* For filter files: keys of equal texts can be compared, whichever fields of whichever records they
 * are. Empty for one field or a whole record, as it is. */
void records_describe_keys(const struct records *r, char *text, size_t size);

/* For the state file: equal texts, equal keys. */
void records_describe(const struct records *r, char *text, size_t size);

#endif
