/* recent_plain.c - the filter recent's paths for any machine. */
#define WEIR_PATHS recent_paths_plain
#include "filter/recent/recent_paths.h"
