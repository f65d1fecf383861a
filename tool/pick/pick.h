/* pick.h - the second stage: find the key, importance and time of each record. */
#ifndef WEIR_PICK_PICK_H
#define WEIR_PICK_PICK_H

#include "cli/inputs.h"
#include "pipe/batch.h"
#include "pick/key_as.h"
#include "pick/json.h"
#include "pick/time_text.h"

#define COLUMNS_MAX 16

enum pick_way { PICK_WHOLE, PICK_BLANKS, PICK_CHAR, PICK_CSV, PICK_JSON };

/* A field by number (from 1), by name until the header is known, or by JSON
 * pointer. */
struct column {
    char *name; /* NULL if it was given by number */
    uint32_t number;
};

struct picker {
    enum pick_way way;
    struct column column[COLUMNS_MAX + 1]; /* those of the key, importance, TTL, time */
    uint32_t keys;                         /* columns of the key; 0: whole record */
    bool has_ttl;                          /* the column before those of the time is the TTL */
    uint32_t times;                        /* columns of the time; 0: there is none */
    uint32_t columns;
    struct json_paths json;          /* the columns, if they are JSON pointers */
    uint32_t order[COLUMNS_MAX + 1]; /* the columns from left to right */
    uint32_t widest;                 /* highest field number */
    bool important;                  /* the column after the key is the importance, or weight: */
    const char *measure;
    bool exact;                      /* it must be a whole number that fits */
    bool learnt;                     /* the header was read */
    bool quiet;                      /* no notes */
    bool skip_missing, pass_missing; /* records without the key */
    bool fold, squeeze_spaces, skip;
    struct key_as as;
    bool networks;                  /* keys are IP networks: `as` is the transform of --cidr */
    bool unparsed_malformed;        /* values that `as` cannot parse */
    bool strip_record, strip_field; /* of a CR at the end: a key that is all of the record, or the
                                     * last field of one with delimiters */
    char delimiter;
};

/* Is this column that of the TTL? A JSON record may lack it. */
static inline bool pick_is_optional(const struct picker *p, uint32_t column)
{
    return p->has_ttl && column == p->keys + p->important;
}

/* False after a message. */
bool pick_open(struct picker *p, const struct records *r);
void pick_close(struct picker *p);

/* Find the columns given by name, when there is a header (NULL: not yet). If one is missing, fails
 * the batch and returns false. */
bool pick_learn(struct picker *p, const char *header, size_t size, struct batch *b);

/* Fill the columns key, importance, time and bad. Any thread. */
void pick_batch(const struct picker *p, struct batch *b);

/* Several fields as one text, with this byte between them. False if out of memory. */
bool pick_join(struct arena *a, const struct weir_bytes *field, uint32_t n, char joint,
               struct weir_bytes *out);

/* ---- the time and TTL of a record (--time, --ttl): pick_time.c ---- */

/* Set the time of record i, whose fields were picked; or mark it as bad. */
void pick_time(const struct picker *p, struct batch *b, uint32_t i, const struct weir_bytes *field);

/* Set the TTL of record i (--ttl); or mark it as bad, and return false. */
bool pick_ttl(const struct picker *p, struct batch *b, uint32_t i, struct weir_bytes text);

/* The time of a record that is not picked yet; NO_TIME if it has none. Prints nothing. */
uint64_t pick_time_early(const struct picker *p, struct batch *b, uint32_t i,
                         const struct time_format *f);

/* Detect the time format from the first record that has a time. Records that the run skips
 * or passes (--on-error, --on-missing) are ignored; at one that stops it: false. */
bool pick_time_format(const struct picker *p, struct batch *b, struct time_format *f);

/* ---- the fields of a record: fields.c ---- */

/* Store the fields that the picker requests, in its order and without quotes. Returns the number of
 * fields up to the last requested one; 0 if out of memory. Reads up to 63 bytes past the record. */
uint32_t fields_of(const struct picker *p, struct arena *a, const char *record, size_t size,
                   struct weir_bytes *wanted);

/* The same for records from i on, if the picker requests one field, the key: fills that column, and
 * returns the first record that has too few fields. */
uint32_t fields_batch(const struct picker *p, struct batch *b, uint32_t i);

/* The number of the first field after this one with that text, or 0. */
uint32_t fields_find(const struct picker *p, struct arena *a, const char *record, size_t size,
                     const char *text, uint32_t after);

#endif
