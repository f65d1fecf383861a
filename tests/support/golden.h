/* golden.h - how the files in tests/golden/ are made.
 *
 * One per filter and kind of sketch: the filter after a fixed stream, and a note with what it then
 * says of itself and of a hundred keys. They pin the format, the hashing, the
 * generator and every algorithm: a change that alters one of them breaks saved
 * filters of users, and needs a new format version.
 *
 * A new filter gets its file by
 *
 *     build/tests/support/make-golden tests/golden NAME
 *
 * and without NAME all are made anew, which is for new format versions only. */
#ifndef WEIR_TESTS_SUPPORT_GOLDEN_H
#define WEIR_TESTS_SUPPORT_GOLDEN_H

#include "support/sketches.h"

#define GOLDEN_NOTE 1024

/* A filter of this name after the stream. */
weir_filter *golden_filter(const char *name);

/* What it says then. */
void golden_note(const weir_filter *w, char note[GOLDEN_NOTE]);

/* The same for sketches, by number. */
struct golden_sketch {
    const char *name, *spec;
};
const struct golden_sketch *golden_sketch(size_t i); /* NULL after the last */
weir_sketch *golden_counted(const struct golden_sketch *g);
void golden_sketch_note(const weir_sketch *s, char note[GOLDEN_NOTE]);

#endif
