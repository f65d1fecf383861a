/* recent_avx2.c - the filter recent's paths, compiled for AVX2. */
#define WEIR_PATHS recent_paths_avx2
#include "filter/recent/recent_paths.h"
