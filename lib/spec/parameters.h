/* parameters.h - one "parameter=value": how a value is read, what it may be, how it is
 * written, and how that is told to a person. Each kind of spec has a table of
 * such rows (grammar.h). */
#ifndef WEIR_SPEC_PARAMETERS_H
#define WEIR_SPEC_PARAMETERS_H

#include <weir.h>

#include "base/text.h"

enum parameter_kind {
    A_SIZE,  /* uint64_t, bits */
    A_COUNT, /* uint64_t */
    A_TIME,  /* uint64_t, milliseconds */
    A_SHARE, /* uint64_t, billionths */
    A_RATE,  /* double, above 0 and below 1 */
    A_WORD,  /* uint64_t, the number of the word among words */
    ITS_OWN  /* read and write know */
};

struct parameter_row {
    struct weir_parameter about;
    enum parameter_kind kind;
    size_t offset; /* of its value in the record that is filled in */
    uint64_t min, max;
    const char *const *words;
    bool (*read)(struct span text, void *value);
    void (*write)(struct text *t, const void *value);
};

extern const char *const parameter_hashes[]; /* the words of hash= */

/* The value of a parameter in a record, where it is a number. */
uint64_t *parameter_number(const struct parameter_row *row, void *record);

/* False if the text is no value of this parameter. */
bool parameter_read(const struct parameter_row *row, struct span text, void *record);

/* Write "parameter=value". */
void parameter_write(struct text *t, const struct parameter_row *row, const void *record);

#endif
