/* sketches.c - see sketches.h. */
#include "support/sketches.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"

static size_t draw(const double *sums, size_t n, double at)
{
    size_t low = 0, high = n - 1;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct counted counted_of(size_t n, size_t universe, double alpha, uint64_t seed)
{
    struct counted c = {n, universe, calloc(n, sizeof *c.draws), calloc(universe, sizeof *c.exact),
                        calloc(universe, sizeof *c.names)};
    double *sums = calloc(universe, sizeof *sums), sum = 0;
    struct rng r = rng_at(seed, 0);

    for (size_t i = 0; i < universe; i++) {
        sums[i] = sum += pow((double)(i + 1), -alpha);
        bits_store64((uint8_t *)&c.names[i], bits_fold(i + 1, RNG_STEP) ^ seed);
    }
    for (size_t i = 0; i < n; i++) {
        c.draws[i] = draw(sums, universe, (double)(rng_next(&r) >> 11) * 0x1p-53 * sum);
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
    struct blob of_a = sketch_blob(a), of_b = sketch_blob(b);

    assert_same_blob(of_a, of_b);
    blob_free(of_a);
    blob_free(of_b);
}
