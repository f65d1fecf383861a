/* golden.h - creation of the files in tests/golden/.
 *
 * There is one file per filter and kind of sketch. It contains the filter after a fixed stream, and
 * a note with its stats and its answers for a hundred keys. The files fix the format, the hashing,
 * the random generator and every algorithm: a change that alters one of them breaks the saved
 * filters of users and requires a new format version.
 *
 * For a new filter, run
 *
 *    build/tests/support/make-golden tests/golden NAME
 *
 * Without NAME all files are written; only a new format version needs that. */
#ifndef WEIR_TESTS_SUPPORT_GOLDEN_H
#define WEIR_TESTS_SUPPORT_GOLDEN_H

#include "support/sketches.h"

#define GOLDEN_NOTE 1024

/* The names of the filters, and of variants that have files of their own; NULL after the last. */
const char *golden_name(size_t i);

/* The filter of this name after the stream. */
weir_filter *golden_filter(const char *name);

/* Its stats and answers then. */
void golden_note(const weir_filter *w, char note[GOLDEN_NOTE]);

/* The same for sketches, by number. */
struct golden_sketch {
    const char *name, *spec;
};
const struct golden_sketch *golden_sketch(size_t i); /* NULL after the last */
weir_sketch *golden_counted(const struct golden_sketch *g);
void golden_sketch_note(const weir_sketch *s, char note[GOLDEN_NOTE]);

#endif
