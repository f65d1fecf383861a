/* traces_in.h - real traces: the files *.tsv and *.tsv.xz in the directory WEIR_TRACES. Each line
 * is
 *
 *   key TAB importance TAB timestamp */
#ifndef WEIR_TESTS_COMPARISONS_TRACES_IN_H
#define WEIR_TESTS_COMPARISONS_TRACES_IN_H

#include "comparisons/side_by_side.h"

#define TRACES_MAX 32

extern struct trace traces[TRACES_MAX];
extern size_t trace_count;

/* Read all traces. If there are none, prints that the program is skipped, and returns false. */
bool traces_read(void);
/* A group teardown of cmocka. */
int traces_free(void **state);

#endif
