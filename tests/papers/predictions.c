/* predictions.c - what theory says beside what comes out.
 *
 * The rows of 004's tables, at 1/1000 of their memory and records (1/100 in the
 * long run), and zipf streams of every steepness: each filter that has a model,
 * measured here with exact truth. */
#include "bera.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/plan.h>

#include "theory/bloom.h"
#include "theory/limits.h"

#define SEED 20120413

static const char *rows_file;

static bool agrees(double said, double came, double share, double distance)
{
    return fabs(said - came) <= share * came || fabs(said - came) <= distance;
}

static struct weir_stream stream_of(const char *format, ...)
{
    char sentence[256];
    struct weir_stream s;
    struct weir_error error;
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (weir_stream_read(&s, sentence, &error) != WEIR_OK)
        fail_msg("%s: %s", sentence, error.text);
    return s;
}

/* ---- uniform ---- */

/* False, after a line, if theory and the filter do not agree within 5 % or 0.2
 * percentage points. Whatever has no model is passed over. */
static bool row_agrees(const struct row *r, double scale, int *known)
{
    unsigned long long n = (unsigned long long)(r->n / scale);
    struct weir_stream s = stream_of("uniform:n=%llu,distinct=%.2f", n, r->distinct);
    struct weir_prediction p;
    char filter[48], sentence[128];

    filter_of(r, filter);
    snprintf(sentence, sizeof sentence, "%s memory=%.0fbit seed=%d", filter,
             floor(r->mib * 0x1p23 / scale), SEED);
    if (weir_predict(&p, sentence, &s, NULL) != WEIR_OK)
        return true;
    weir *w = open_filter("%s", sentence);
    struct rates came = show_uniform(w, n, r->distinct, SEED + r->k);
    bool ok = agrees(p.fpr, came.fpr, 0.05, 0.002) && agrees(p.fnr, came.fnr, 0.05, 0.002) &&
              agrees(p.fill, weir_stats(w).fill, 0.02, 0);

    if (!ok)
        fprintf(stderr, "table %u: %s, n=%llu, %.0f %%: said %.5f %.5f %.4f, came %.5f %.5f %.4f\n",
                r->table, sentence, n, 100 * r->distinct, p.fpr, p.fnr, p.fill, came.fpr, came.fnr,
                weir_stats(w).fill);
    weir_close(w);
    ++*known;
    return ok;
}

static void every_row_of_bera2012_comes_out_as_predicted(void **state)
{
    struct row rows[ROWS];
    int apart = is_quick() ? 13 : 1, known = 0, differ = 0;

    (void)state;
    assert_true(read_rows(rows_file, rows));
    for (int i = 0; i < ROWS; i += apart)
        differ += !row_agrees(&rows[i], is_long() ? 100 : 1000, &known);
    assert_int_equal(differ, 0);
    assert_true(known * apart > ROWS / 2);
}

/* The same for those that are not in the tables. */
static void other_filters_come_out_as_predicted_on_uniform_streams(void **state)
{
    static const char *const filters[] = {"bloom k=1",
                                          "bloom k=4",
                                          "counting k=3",
                                          "rsbf k=1",
                                          "rsbf k=2",
                                          "rsbf k=4",
                                          "weir width=8",
                                          "weir width=10",
                                          "weir width=12",
                                          "weir width=16",
                                          "weir width=12 slots=20",
                                          "weir width=14 window=200000",
                                          "two-buffer k=2",
                                          "two-buffer k=6",
                                          "two-buffer k=3 window=100000",
                                          "apbf k=4 slices=4",
                                          "apbf k=7 slices=12"};
    static const double mib[] = {8, 64, 256};
    int differ = 0, known = 0;

    (void)state;
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        for (int j = 0; j < 6; j += is_quick() ? 4 : 1) {
            double scale = 1000, n = 7e8, distinct = j % 2 ? 0.6 : 0.15;
            struct weir_stream s = stream_of("uniform:n=%.0f,distinct=%.2f", n / scale, distinct);
            struct weir_prediction p;
            weir *w;
            char sentence[128];

            snprintf(sentence, sizeof sentence, "%s memory=%.0f seed=%d", filters[i],
                     floor(mib[j / 2] * 0x1p20 / scale), SEED);
            if (weir_predict(&p, sentence, &s, NULL) != WEIR_OK)
                continue; /* the window does not fit */
            w = open_filter("%s", sentence);
            struct rates came = show_uniform(w, (uint64_t)(n / scale), distinct, SEED);
            if (!agrees(p.fpr, came.fpr, 0.05, 0.002) || !agrees(p.fnr, came.fnr, 0.05, 0.002)) {
                fprintf(stderr, "%s, %.0f %%: said %.5f %.5f, came %.5f %.5f\n", sentence,
                        100 * distinct, p.fpr, p.fnr, came.fpr, came.fnr);
                differ++;
            }
            weir_close(w);
            known++;
        }
    assert_int_equal(differ, 0);
    assert_true(is_quick() || known > 90);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_bera2012_comes_out_as_predicted),
        cmocka_unit_test(other_filters_come_out_as_predicted_on_uniform_streams),
    };

    if (argc != 2)
        return 2;
    rows_file = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
