/* knobs.h - reading and writing "knob=value" by a table: for each knob how it is
 * read, what it may be and how that is told to a person. Filters have one table
 * (config.c), sketches another; nothing else in the library parses text. */
#ifndef WEIR_SENTENCE_KNOBS_H
#define WEIR_SENTENCE_KNOBS_H

#include <weir.h>

#include "base/text.h"

#define CONFIG_SIZE 512 /* no completed configuration is longer */

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
    size_t offset; /* of its value in the structure that is filled in */
    uint64_t min, max;
    const char *const *words;
    bool (*read)(struct span text, void *value);
    void (*write)(struct text *t, const void *value);
};

/* Whose knobs, and which of the table (bit i for row i). */
struct knobs {
    const char *owner;
    const struct knob_row *rows;
    int n;
    uint32_t has;
};

extern const char *const knob_hashes[]; /* the words of hash= */

/* The next word of a sentence, or one of no length at the end. */
struct span sentence_word(const char **at);

/* The first word, if it is a name; the sentence goes on after it. */
struct span sentence_name(const char **at);

/* A word of the caller's, cut to what fits a sentence and made printable. */
struct quote {
    char text[48];
};
struct quote quote(struct span a);

/* Read the rest of a sentence into a structure; *given gets a bit for each
 * knob named. False leaves a sentence of our own in error. */
bool knobs_read(const struct knobs *k, const char *at, void *into, uint32_t *given,
                struct weir_error *error);

/* Write "knob=value". */
void knobs_write(struct text *t, const struct knob_row *row, const void *from);

#endif
