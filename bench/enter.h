/* enter.h - generated streams of bench/enter. */
#ifndef WEIR_BENCH_ENTER_H
#define WEIR_BENCH_ENTER_H

#include "speed.h"

struct keys {
    char name[48];
    uint64_t *key;
    size_t n;
};

/* The kinds take turns; parameters are random. */
struct keys keys_made(uint64_t seed, uint64_t number);

#endif
