/* weir_plain.c - the weir filter's paths for any machine. */
#define WEIR_PATHS weir_paths_plain
#include "filter/recent/weir_paths.h"
