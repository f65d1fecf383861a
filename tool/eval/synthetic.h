/* synthetic.h - synthetic streams from a description such as
 * "zipf:n=1M,universe=100k,alpha=1.1,fresh=30%" (weir/plan.h). */
#ifndef WEIR_EVAL_SYNTHETIC_H
#define WEIR_EVAL_SYNTHETIC_H

#define WEIR_UNSTABLE
#include <weir/plan.h>

struct stream {
    struct weir_stream spec;
    uint64_t rng, next_fresh;
    uint64_t shown;                  /* arrivals so far */
    double h_first, h_last, squeeze; /* of the zipf sampler */
};

struct synthetic_arrival {
    uint64_t id; /* from 1 in the universe; fresh keys and replacements above it */
    uint32_t importance;
};

/* A random number below n. */
uint64_t draw_below(uint64_t *rng, uint64_t n);

/* False after a message. */
bool stream_open(struct stream *s, const char *specification);
struct synthetic_arrival stream_next(struct stream *s);

/* The text of a key: spec.length bytes, the first 16 unique to it. */
void stream_key(const struct stream *s, uint64_t id, char *text);

#endif
