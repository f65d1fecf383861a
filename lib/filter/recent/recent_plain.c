/* recent_plain.c - observe and ask of the filter recent, compiled for any processor. */
#define WEIR_PATHS recent_paths_plain
#include "filter/recent/recent_paths.h"
