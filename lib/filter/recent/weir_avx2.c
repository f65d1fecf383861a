/* weir_avx2.c - the weir filter's paths, compiled for AVX2. */
#define WEIR_PATHS weir_paths_avx2
#include "filter/recent/weir_paths.h"
