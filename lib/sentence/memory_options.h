/* memory_options.h - what a caller says beside the sentence: where memory is to come from. */
#ifndef WEIR_SENTENCE_MEMORY_OPTIONS_H
#define WEIR_SENTENCE_MEMORY_OPTIONS_H

#include <weir.h>

#include "base/memory.h"

/* NULL are the defaults. WEIR_BAD_CONFIG for options that no version of this library
 * has, WEIR_UNSUPPORTED for those of a later one. */
enum weir_status options_read(const struct weir_options *options, struct memory *memory,
                              struct weir_error *error);

#endif
