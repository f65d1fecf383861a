/* weir_avx512.c - the weir filter's paths, compiled for AVX-512 with VBMI and VBMI2. */
#define WEIR_PATHS weir_paths_avx512
#include "filter/recent/weir_paths.h"
