/* records_model.h - where records and their fields end, slowly: one byte after the
 * other, with all of them at hand. What the reader of the command is held against. */
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
    char delimiter;   /* of fields */
    char end;         /* of records */
    uint64_t longest; /* bytes of a record */
    bool strip_cr;    /* at the end of a record: no part of its last field */
};

struct model_record {
    size_t begin, end; /* the delimiter is at end */
    bool good;         /* it is CSV, if that is what is read, and not too long */
};

/* The last record of a file may lack its delimiter. */
void model_finish(const struct model *m, struct text *in);

/* The record that begins at that place. One that does not end within the limit, or by
 * the end of the file, costs its first line; all that follows is read. */
struct model_record model_record(const struct model *m, const struct text *in, size_t begin);

/* The field of that number (from 1) of a good record, free of quotes, is put behind what
 * *out has. False if there are not so many. */
bool model_field(const struct model *m, const char *record, size_t size, uint32_t number,
                 struct text *out);

#endif
