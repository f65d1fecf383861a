/* parameters.h - one "parameter=value": how a value is read, validated, written and described.
 * Each kind of spec has a table of such rows (grammar.h). */
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
    A_WORD,  /* uint64_t, the index of the word in words */
    ITS_OWN  /* anything: has its own read and write */
};

struct parameter_row {
    struct weir_parameter about;
    enum parameter_kind kind;
    size_t offset; /* of the value in the record */
    uint64_t min, max;
    const char *const *words;
    bool (*read)(struct span text, void *value);
    void (*write)(struct text *t, const void *value);
};

extern const char *const parameter_hashes[]; /* the words of hash= */

/* The value of a numeric parameter in a record. */
uint64_t *parameter_number(const struct parameter_row *row, void *record);

/* Returns false if the text is not a valid value. */
bool parameter_read(const struct parameter_row *row, struct span text, void *record);

/* Write "parameter=value". */
void parameter_write(struct text *t, const struct parameter_row *row, const void *record);

#endif
