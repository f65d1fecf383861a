/* verdict_avx512.c - what a key does to its line of verdicts, compiled for AVX-512 with VBMI and
 * VBMI2. */
#define VERDICT_PATHS verdict_paths_avx512
#include "screen/verdict_paths.h"
