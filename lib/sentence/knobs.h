/* knobs.h - one "knob=value": how a value is read, what it may be, how it is
 * written, and how that is told to a person. Each kind of sentence has a table of
 * such rows (grammar.h). */
#ifndef WEIR_SENTENCE_KNOBS_H
#define WEIR_SENTENCE_KNOBS_H

#include <weir.h>

#include "base/text.h"

enum knob_kind {
    A_SIZE,  /* uint64_t, bits */
    A_COUNT, /* uint64_t */
    A_TIME,  /* uint64_t, milliseconds */
    A_SHARE, /* uint64_t, billionths */
    A_RATE,  /* double, above 0 and below 1 */
    A_WORD,  /* uint64_t, the number of the word among words */
    ITS_OWN  /* read and write know */
};

struct knob_row {
    struct weir_knob about;
    enum knob_kind kind;
    size_t offset; /* of its value in the record that is filled in */
    uint64_t min, max;
    const char *const *words;
    bool (*read)(struct span text, void *value);
    void (*write)(struct text *t, const void *value);

    /* for a knob that came after the first release: what was so before there was a choice, and
     * so in files that do not name it. NULL: it was always there. */
    const char *before;
};

extern const char *const knob_hashes[]; /* the words of hash= */

/* The value of a knob in a record, where it is a number. */
uint64_t *knob_number(const struct knob_row *row, void *record);

/* False if the text is no value of this knob. */
bool knob_read(const struct knob_row *row, struct span text, void *record);

/* Write "knob=value". */
void knob_write(struct text *t, const struct knob_row *row, const void *record);

#endif
