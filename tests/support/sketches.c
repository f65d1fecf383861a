/* sketches.c - see sketches.h. */
#include "support/sketches.h"

#include "support/zipf.h"

#include "base/rng.h"

struct counted counted_of(size_t n, size_t universe, double alpha, uint64_t seed)
{
    struct counted c = {n, universe, calloc(n, sizeof *c.draws), calloc(universe, sizeof *c.exact),
                        calloc(universe, sizeof *c.names)};
    double *sums = zipf_sums(universe, alpha);
    struct rng r = rng_at(seed, 0);

    for (size_t i = 0; i < universe; i++)
        bits_store64((uint8_t *)&c.names[i], bits_fold(i + 1, RNG_STEP) ^ seed);
    for (size_t i = 0; i < n; i++) {
        c.draws[i] = zipf_draw(sums, universe, (double)(rng_next(&r) >> 11) * 0x1p-53);
        c.exact[c.draws[i]]++;
    }
    free(sums);
    return c;
}

void counted_free(struct counted c)
{
    free(c.draws);
    free(c.exact);
    free(c.names);
}

weir_sketch *open_sketch(const char *spec)
{
    struct weir_error error = {0};
    weir_sketch *s;

    if (weir_sketch_open(&s, spec, &error) != WEIR_OK)
        fail_msg("'%s' is refused: %s", spec, error.text);
    return s;
}

void show_draws(weir_sketch *s, const struct counted *c, size_t from, size_t to)
{
    struct weir_bytes keys[777];

    for (size_t n; from < to; from += n) {
        n = to - from < 777 ? to - from : 777;
        for (size_t i = 0; i < n; i++)
            keys[i] = name_of(c, c->draws[from + i]);
        weir_sketch_add_many(s, keys, NULL, n);
    }
}

struct blob sketch_blob(const weir_sketch *s)
{
    struct blob b = {NULL, 0};

    assert_int_equal(weir_sketch_save_stream(s, blob_sink, &b, NULL), WEIR_OK);
    assert_int_equal(b.size, weir_sketch_saved_size(s));
    return b;
}

void assert_same_sketch(const weir_sketch *a, const weir_sketch *b)
{
    assert_same_saved(sketch_blob(a), sketch_blob(b));
}
