/* recent_avx512.c - observe and ask of the filter recent, compiled for AVX-512 with VBMI and VBMI2.
 */
#define WEIR_PATHS recent_paths_avx512
#include "filter/recent/recent_paths.h"
