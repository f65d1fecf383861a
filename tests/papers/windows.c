/* windows.c - the two filters with a window of the latest keys, on an unbounded stream of new keys.
 * At the worst moment, the end of a window (two-buffer) or of a generation (apbf), the error is at
 * most fpr= and equals theory/window.h. Every key in the window is seen. */
#include "papers/stream.h"

#include <math.h>

#include "filter/filter.h"
#include "theory/window.h"

#define TAKEN 1 /* register of both: keys stored in the active buffer or generation */
#define ENDS 3  /* number of windows or generations at whose end the error is measured */

/* New keys until the filter has stored so many in this turn; a few more, because false positives
 * are not stored. */
static void fill_turn(weir_filter *w, struct fresh *f, uint64_t turn)
{
    if (w->reg[TAKEN] == turn)
        show_fresh(w, f, 1);
    while (w->reg[TAKEN] < turn)
        show_fresh(w, f, turn - w->reg[TAKEN]);
}

/* How many keys to ask for at each end, and the resulting tolerance: 3 sigma of their number, plus
 * 1 % because the error is a high power of the fill. 1.7 % at an error of 0.1, 3.2 at 0.01, 4.2 at
 * 0.001. */
static uint64_t asked_for(double error)
{
    return (error < 0.005 ? 3000000 : 600000) / (is_quick() ? 4 : 1);
}

static double within_for(double error)
{
    return 0.01 + 3 / sqrt(ENDS * (double)asked_for(error) * error);
}

static double error_at_ends(weir_filter *w, struct fresh *f, uint64_t turn, double expected)
{
    uint64_t wrong = 0, asked = asked_for(expected);

    for (int i = 0; i < ENDS; i++) {
        fill_turn(w, f, turn);
        wrong += ask_fresh(w, f, asked);
    }
    return (double)wrong / (double)(ENDS * asked);
}

static unsigned long long bits(void)
{
    return is_quick() ? 1 << 18 : 1 << 21;
}

/* The last n keys before f->next must all be seen. */
static void last_keys_are_seen(weir_filter *w, struct fresh *f, uint64_t n)
{
    struct fresh again = {f->next - n, NULL};

    assert_int_equal(ask_fresh(w, &again, n), n);
}

static void two_buffer_at(double ceiling)
{
    weir_filter *w = open_filter("two-buffer fpr=%g memory=%llubit seed=1", ceiling, bits());
    uint64_t window = w->config.window;
    struct fresh f = {1, NULL};
    double theory = two_buffer_error((double)plane(w, 0).n, (double)window, w->config.k);

    for (int i = 0; i < 3; i++)
        fill_turn(w, &f, window);
    last_keys_are_seen(w, &f, window);
    show_fresh(w, &f, window / 2);
    last_keys_are_seen(w, &f, window);
    double error = error_at_ends(w, &f, window, theory);
    assert_within("two-buffer", error, theory, within_for(theory), 0);
    assert_within("two-buffer", error, ceiling, within_for(theory), 0); /* nor lower */
    weir_close(w);
}

TEST(two_buffer_has_its_error_rate_at_the_end_of_a_window)
{
    two_buffer_at(0.1);
    two_buffer_at(0.01);
    two_buffer_at(0.001);
}

static void apbf_at(double ceiling, const char *parameters)
{
    weir_filter *w =
        open_filter("apbf fpr=%g memory=%llubit seed=2%s", ceiling, bits(), parameters);
    uint64_t l = w->config.slices, k = w->config.k, generation = w->config.window / l;
    struct fresh f = {1, NULL};
    double theory = apbf_error((double)plane(w, 0).n, (double)generation, k, l);

    for (uint64_t i = 0; i < k + l; i++)
        fill_turn(w, &f, generation);
    last_keys_are_seen(w, &f, w->config.window);
    show_fresh(w, &f, generation / 2);
    last_keys_are_seen(w, &f, w->config.window);
    double error = error_at_ends(w, &f, generation, theory);
    assert_within("apbf", error, theory, within_for(theory), 0);
    assert_true(error <= ceiling * (1 + within_for(theory)));
    weir_close(w);
}

TEST(apbf_has_its_error_rate_at_the_end_of_a_generation)
{
    apbf_at(0.1, "");
    apbf_at(0.01, "");
    apbf_at(0.001, "");
    apbf_at(0.01, " k=7");
    apbf_at(0.01, " k=8 slices=5");
}

/* The average over many turns is lower, because each begins with less fill. */
static double error_on_average(const char *name)
{
    weir_filter *w = open_filter("%s fpr=0.01 memory=%llubit seed=3", name, bits());
    struct fresh f = {1, NULL};

    show_fresh(w, &f, 3 * w->config.window);
    uint64_t n = 5 * w->config.window, wrong = show_fresh(w, &f, n);
    weir_close(w);
    return (double)wrong / (double)n;
}

TEST(the_average_error_of_windows_is_below_the_worst)
{
    double two_buffer = error_on_average("two-buffer"), apbf = error_on_average("apbf");

    assert_true(two_buffer > 0.0045 && two_buffer < 0.0075);
    assert_true(apbf > 0.0085 && apbf < 0.01);
}

/* The pairs (k, l) of the authors hold at the start of a generation, when the youngest slice is
 * empty; weir's hold at its end. */
TEST(apbf_chooses_the_published_slices_less_one_generation)
{
    static const struct {
        double error;
        unsigned k, l;
    } published[] = {{0.1, 4, 3},    {0.1, 5, 7},    {0.1, 6, 14},    {0.1, 7, 28},
                     {0.01, 7, 5},   {0.01, 8, 8},   {0.01, 9, 14},   {0.01, 10, 25},
                     {0.001, 10, 7}, {0.001, 11, 9}, {0.001, 12, 14}, {0.001, 13, 23}};

    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        unsigned k = published[i].k, l = published[i].l;
        double fill[SLICES_MAX];

        for (unsigned age = 0; age <= k + l; age++)
            fill[age] = 1 - exp2(-(double)(age < k ? age : k) / k);
        assert_true(apbf_error_at(fill, k, l) <= published[i].error);
        assert_true(apbf_error_at(fill, k, l + 1) > published[i].error);
        assert_int_equal(apbf_max_slices(published[i].error, k, 90), l - 1);
    }
}

RUN_TESTS("tests")
