/* records_model.h - a simple model of the command's record reader: finds records and fields one
 * byte at a time, with the whole input in memory. */
#ifndef WEIR_TESTS_RECORDS_MODEL_H
#define WEIR_TESTS_RECORDS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_MOST 16384

struct text {
    char data[TEXT_MOST];
    size_t size;
};

void text_append(struct text *t, const char *data, size_t size);
bool text_same(const struct text *a, const struct text *b);

enum model_fields { MODEL_BLANKS, MODEL_DELIMITED, MODEL_CSV };

struct model {
    enum model_fields fields;
    char delimiter;   /* between fields */
    char end;         /* between records */
    uint64_t longest; /* bytes of a record */
    bool strip_cr;    /* strip it from the end of a record's last field */
};

struct model_record {
    size_t begin, end; /* position of the delimiter */
    bool good;         /* valid CSV, if CSV is read, and not too long */
};

/* Append the delimiter that the last record of a file may lack. */
void model_finish(const struct model *m, struct text *in);

/* Returns the record that begins at that position. A record that does not end within the limit or
 * by the end of the file loses its first line; reading continues after that line. */
struct model_record model_record(const struct model *m, const struct text *in, size_t begin);

/* Append the field of that number (from 1) of a good record, without quotes, to *out. Returns false
 * if there are fewer fields. */
bool model_field(const struct model *m, const char *record, size_t size, uint32_t number,
                 struct text *out);

#endif
