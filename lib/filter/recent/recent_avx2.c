/* recent_avx2.c - observe and ask of the filter recent, compiled for AVX2. */
#define WEIR_PATHS recent_paths_avx2
#include "filter/recent/recent_paths.h"
