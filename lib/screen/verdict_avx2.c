/* verdict_avx2.c - what a key does to its line of verdicts, compiled for AVX2. */
#define VERDICT_PATHS verdict_paths_avx2
#include "screen/verdict_paths.h"
