/* stream.h - synthetic streams, from a specification such as
 * "zipf:n=1M,universe=100k,alpha=1.1,fresh=30%". */
#ifndef WEIR_STREAM_H
#define WEIR_STREAM_H

#include <stdbool.h>
#include <stdint.h>

enum bias { BIAS_NONE, BIAS_DIRECT, BIAS_INVERSE };

struct stream {
    bool zipf;
    uint64_t n;        /* arrivals */
    uint64_t universe; /* keys to draw from; 0: every arrival is fresh */
    double distinct;   /* what universe is solved from, if that is not given */
    double alpha;      /* of zipf */
    double fresh;      /* share of arrivals with a key of their own */
    uint64_t length;   /* bytes of a key */
    uint64_t seed;
    bool important; /* lo to hi, related to frequency by bias */
    uint32_t lo, hi;
    enum bias bias;

    uint64_t rng, next_fresh;
    double h_first, h_last, squeeze; /* of the zipf sampler */
};

struct arrival {
    uint64_t id; /* keys of the universe from 1 on, fresh ones above */
    uint32_t importance;
};

/* A number below n, by chance. */
uint64_t draw_below(uint64_t *rng, uint64_t n);

/* False after a sentence. */
bool stream_open(struct stream *s, const char *specification);
struct arrival stream_next(struct stream *s);

/* The text of a key: s->length bytes, the first 16 unique to it. */
void stream_key(const struct stream *s, uint64_t id, char *text);

#endif
