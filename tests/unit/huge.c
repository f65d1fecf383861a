/* huge.c - filters of more than 2^32 cells per array write and clear every part of their memory.
 *
 * A random position of 31 or 32 bits never reaches the upper part; a published table is wrong for
 * this reason (papers/bera2012.c). Every array starts partly full; then set and cleared bits are
 * counted per sixteenth of the array. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "filter/filter.h"

#define PARTS 16
#define PATTERN 0x11 /* cells of one or two bits: some used, most not */
#define ARRIVALS 1000000
#define LATE (UINT64_C(3) << 32) /* the number of the first key */

struct change {
    uint64_t came[PARTS], went[PARTS];
};

static weir_filter *open_huge(const char *name)
{
    static const char *const small[] = {"k=2", "slices=1", "cell=2", "decay=2", "importance=1-50"};
    char spec[SPEC] = "";
    struct weir_error error;
    weir_filter *w;

    strcat(strcat(spec, name), " memory=1700M seed=1");
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (weir_find_parameter(WEIR_KIND_FILTER, name, small[i]))
            strcat(strcat(spec, " "), small[i]);
    if (weir_open(&w, spec, &error) == WEIR_BAD_CONFIG)
        fail_msg("%s", error.text);
    return w;
}

/* Partly full, or empty if the filter does not allow this. */
static void lay_out(weir_filter *w)
{
    w->observed = LATE;
    for (uint32_t i = 0; i < w->shape.planes; i++) {
        struct cells cells = plane(w, i);

        assert_true(cells.n * cells.width > UINT64_C(1) << 32);
        memset(cells.bytes, PATTERN, cells_size(cells.n, cells.width));
        if (w->shape.registers == w->config.k && w->shape.planes == w->config.k) /* loads */
            w->reg[i] = cells_used(&cells);
    }
    if ((w->ops->check && !w->ops->check(w)) || (w->ops->check_cells && !w->ops->check_cells(w))) {
        weir_clear(w);
        w->observed = LATE;
    }
}

static struct change change_of(const struct cells *cells)
{
    uint64_t words = cells_size(cells->n, cells->width) / 8 / PARTS;
    struct change c = {{0}, {0}};

    for (uint64_t part = 0; part < PARTS; part++)
        for (uint64_t i = part * words; i < (part + 1) * words; i++) {
            uint64_t word = bits_load64(cells->bytes + 8 * i);

            c.came[part] +=
                (uint64_t)__builtin_popcountll(word & ~(UINT64_C(0x0101010101010101) * PATTERN));
            c.went[part] +=
                (uint64_t)__builtin_popcountll(~word & (UINT64_C(0x0101010101010101) * PATTERN));
        }
    return c;
}

/* A key may set a dozen adjacent bits, so the limit is twenty times higher; a part that is left out
 * deviates by thousands of times that. */
static uint64_t assert_even(const char *name, const char *what, const uint64_t *counts)
{
    uint64_t all = 0;

    for (size_t i = 0; i < PARTS; i++)
        all += counts[i];
    if (all && chi_square(counts, PARTS) > 20 * chi_square_limit(PARTS))
        fail_msg("%s: bits that %s are uneven, chi-square %g, %d in the last part", name, what,
                 chi_square(counts, PARTS), (int)counts[PARTS - 1]);
    return all;
}

static void run_huge(const char *name)
{
    weir_filter *w = open_huge(name);

    assert_non_null(w);
    lay_out(w);
    for (uint64_t i = 0; i < ARRIVALS; i++) {
        struct weir_key key = numbered(w, i);

        key.importance = 50;
        weir_observe(w, key);
    }
    uint64_t came = 0;
    for (uint32_t i = 0; i < w->shape.planes; i++) {
        struct cells cells = plane(w, i);
        struct change c = change_of(&cells);

        came += assert_even(name, "came", c.came);
        assert_even(name, "went", c.went);
    }
    assert_true(came > ARRIVALS / 10);
    assert_true(!w->ops->check || w->ops->check(w));
    weir_close(w);
}

static void filters_beyond_two_to_the_32_cells_use_all_of_them(void **state)
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i); i++)
        if (can_learn(weir_algorithm_at(WEIR_KIND_FILTER, i)->name))
            run_huge(weir_algorithm_at(WEIR_KIND_FILTER, i)->name);
}

/* Memory that is never written costs no time. */
static bool has_memory_for_one(void)
{
    weir_filter *w = open_huge(weir_algorithm_at(WEIR_KIND_FILTER, 0)->name);

    weir_close(w);
    return w != NULL;
}

int main(void)
{
    if (!has_memory_for_one()) { /* skip() of cmocka prints "not ok" in TAP */
        puts("1..0 # SKIP there is no memory for a filter of 1700M");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_beyond_two_to_the_32_cells_use_all_of_them),
    };

    return cmocka_run_group_tests_name("huge", tests, NULL, NULL);
}
