/* rsbf_tables.c - RSBF as the tables of Bera et al. 2012 were computed.
 *
 * Neither the paper's text nor its pseudo-code reproduces its RSBF columns. This variant does:
 * every record, new or not and from the first on, is inserted with probability min(1, s/i), and
 * every insertion clears one random bit of each array. It exists to reproduce the tables; rsbf is
 * far better.
 *
 * Cost: 2k cache lines per inserted key. Below p* more, because half of the bits that it draws are
 * clear already. It takes 1.6 to 1.8 times as long as memory needs for 2k lines if a line takes 8
 * ns, and 3 times if it takes 4 ns (bench/speed --memory 64). Two thirds of this time are
 * computation. */
#include "filter/sampled/reservoir.h"

static double error_of(const struct config *c, uint64_t k)
{
    return sampled_error_rsbf_tables(k, (double)c->p_star * P_STAR_UNIT);
}

static bool plan(struct config *c, struct shape *s, struct weir_error *error)
{
    return plan_reservoir(c, s, error_of, error);
}

static inline void insert(weir_filter *w, const struct arrival *a, bool seen)
{
    struct rng r = arrival_rng(w, a);
    uint64_t s = w->shape.cells, i = w->observed + 1;
    bool chosen = rng_chance(&r, s, i);

    if (is_late(w, i)) {
        if (!seen)
            replace(w, a, &r);
    } else if (chosen) {
        clear_one_each(w, &r);
        set_bits(w, a);
    }
}

static bool predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    return predict_sampled(SAMPLED_RSBF_TABLES, c, s, m, p);
}

#include "filter/loops.h"

const struct filter_ops filter_rsbf_tables = {
    .is.about = {"rsbf-tables", "rsbf as its paper's tables were computed, to reproduce them",
                 WEIR_CAN_OBSERVE | WEIR_FOR_TABLES},
    .is.parameters = RESERVOIR_PARAMETERS,
    FILTER_FUNCTIONS,
};
