/* verdict_plain.c - what a key does to its line of verdicts, for any machine. */
#define VERDICT_PATHS verdict_paths_plain
#include "screen/verdict_paths.h"
