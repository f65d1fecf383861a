/* stream.c - the keys of all benchmarks: uniform draws, 16 bytes each, importance 1 to 64. The
 * universe is so large that 60 % are distinct. */
#include "speed.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"

#define DISTINCT 0.6
#define STREAM_SEED 2012

/* The universe U for which n draws have U (1 - exp(-n/U)) = DISTINCT n distinct keys. */
static uint64_t universe(size_t n)
{
    double lo = 0.1, hi = 10; /* of U/n */

    while (hi - lo > 1e-9) {
        double mid = (lo + hi) / 2;

        if (mid * (1 - exp(-1 / mid)) < DISTINCT)
            lo = mid;
        else
            hi = mid;
    }
    return (uint64_t)(lo * (double)n) + 1;
}

static struct record record_of(uint64_t id)
{
    struct rng r = rng_at(~(uint64_t)STREAM_SEED, id);

    return (struct record){{id, rng_next(&r)}};
}

struct stream stream_open(size_t n)
{
    struct stream s = {.n = n};
    uint64_t keys = universe(n);
    weir_filter *hasher;

    if (weir_open(&hasher, "bloom memory=64 seed=1", NULL) != WEIR_OK)
        die("cannot open a filter to hash with");
    s.records = must_allocate(n * sizeof *s.records);
    s.bytes = must_allocate(n * sizeof *s.bytes);
    s.keys = must_allocate(n * sizeof *s.keys);
    s.verdicts = must_allocate(n);
    for (size_t i = 0; i < n; i++) {
        struct rng r = rng_at(STREAM_SEED, i);

        s.records[i] = record_of(rng_below(&r, keys));
        s.bytes[i] = (struct weir_bytes){&s.records[i], sizeof s.records[i]};
        s.keys[i] = weir_hash(hasher, s.bytes[i].data, s.bytes[i].size);
        s.keys[i].importance = importance_of(&s.records[i]);
    }
    weir_close(hasher);
    return s;
}

void stream_close(struct stream *s)
{
    free(s->records);
    free(s->bytes);
    free(s->keys);
    free(s->verdicts);
}
