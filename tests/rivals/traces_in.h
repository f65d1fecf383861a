/* traces_in.h - the real traces: those in the folder that WEIR_TRACES names, *.tsv
 * or *.tsv.xz, of lines
 *
 *   key TAB importance TAB timestamp */
#ifndef WEIR_TESTS_RIVALS_TRACES_IN_H
#define WEIR_TESTS_RIVALS_TRACES_IN_H

#include "rivals/side_by_side.h"

#define TRACES_MOST 32

/* How many there are; if none, it is said that all is skipped. */
size_t traces_read(struct trace traces[TRACES_MOST]);
void traces_free(struct trace *traces, size_t n);

#endif
