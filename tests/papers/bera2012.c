/* bera2012.c - the tables of Bera et al. 2012: 165 rows, each with 1/100 of its memory and records,
 * which changes only the sampling noise.
 *
 * Two rows run with 1/10. They differ from the paper's figure by 3.8 and 3.9 %, too close to the
 * tolerance for the noise at 1/100 (one sigma is 0.2 % of the figure).
 *
 * The paper's `sbf` (bera.h) has an error at 512 MiB, which is 2^32 cells: a random start of 31
 * bits never decrements the upper half. A model with this error gives those six rows; weir equals a
 * model without it.
 *
 * Every 13th row runs; all rows with WEIR_LONG=1. */
#include "papers/bera.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARE 0.04      /* a row agrees if both columns are within 4 % of the figure */
#define DISTANCE 0.0015 /* or within 0.15 percentage points */
/* ROWS_APART has no common factor with a table of 20 rows, so all kinds of rows are tested. */
#define ROWS_APART 13
#define FIRST_ROW 4 /* without the two slow ones */
#define SEED 20120412

static const char *rows_file;
static struct row rows[ROWS];

static bool is_borderline(const struct row *r)
{
    return r->table == 3 && r->mib == 512 && (r->k == 3 || r->k == 4);
}

static double scale_of(const struct row *r)
{
    return is_quick() ? 500 : is_borderline(r) ? 10 : 100;
}

static int open_rows(void **state)
{
    return read_rows(rows_file, rows) ? 0 : -1;
}

static uint64_t records_of(const struct row *r)
{
    return (uint64_t)(r->n / scale_of(r));
}

static uint64_t bits_of(const struct row *r)
{
    return (uint64_t)(r->mib * 0x1p23 / scale_of(r));
}

static struct rates measure_as(const struct row *r, const char *filter)
{
    weir_filter *w =
        open_filter("%s memory=%llubit seed=%d", filter, (unsigned long long)bits_of(r), SEED);
    struct rates got = show_uniform(w, records_of(r), r->distinct, SEED + (uint64_t)(r - rows));

    weir_close(w);
    return got;
}

static struct rates measure(const struct row *r)
{
    char filter[48];

    filter_of(r, filter);
    return measure_as(r, filter);
}

static bool agrees(double got, double printed)
{
    return fabs(got - printed) <= SHARE * printed || fabs(got - printed) <= DISTANCE;
}

static bool compare(const struct row *r, const char *against, struct rates got, struct rates wanted)
{
    bool ok = agrees(got.fpr, wanted.fpr) && agrees(got.fnr, wanted.fnr);

    printf("%s\t%u\t%.0f\t%.0f\t%.0f\t%u\t%s\t%.4f\t%.4f\t%s\t%.4f\t%.4f\n",
           ok ? "agrees" : "DIFFERS", r->table, r->n, 100 * r->distinct, r->mib, r->k, r->filter,
           100 * got.fpr, 100 * got.fnr, against, 100 * wanted.fpr, 100 * wanted.fnr);
    return ok;
}

static bool is_slipped(const struct row *r)
{
    return strcmp(r->filter, "sbf") == 0 && r->mib == 512;
}

static void every_row_is_reproduced(void **state)
{
    int first = is_long() ? 0 : FIRST_ROW, apart = is_long() ? 1 : ROWS_APART, differ = 0;

    for (int i = first; i < ROWS; i += apart)
        if (!is_slipped(&rows[i]))
            differ += !compare(&rows[i], "printed", measure(&rows[i]), rows[i].printed);
    assert_int_equal(differ, 0);
}

/* SBF, written as simply as possible; runs of decremented cells start below `starts`. */
static struct rates model_sbf(const struct row *r, uint64_t cells, uint64_t starts)
{
    uint64_t keys = (uint64_t)uniform_keys((double)records_of(r), r->distinct);
    uint32_t(*place)[2] = malloc(keys * sizeof *place);
    uint8_t *cell = calloc(cells, 1), *shown = calloc(keys, 1);
    uint64_t all[2] = {0, 0}, wrong[2] = {0, 0};
    struct source s = source_of(SEED);

    assert_true(place && cell && shown);
    for (uint64_t i = 0; i < 2 * keys; i++)
        place[i / 2][i % 2] = (uint32_t)source_below(&s, cells);
    for (uint64_t i = 0; i < records_of(r); i++) {
        uint64_t key = source_below(&s, keys), start = source_below(&s, starts);
        bool seen = cell[place[key][0]] && cell[place[key][1]];

        all[shown[key]]++;
        wrong[shown[key]] += seen != shown[key];
        for (uint64_t j = 0; j < 4; j++)
            cell[(start + j) % cells] = 0;
        cell[place[key][0]] = cell[place[key][1]] = shown[key] = 1;
    }
    free(place);
    free(cell);
    free(shown);
    return (struct rates){(double)wrong[0] / (double)all[0], (double)wrong[1] / (double)all[1]};
}

/* The correct figure for the row of 1e9 records, 60 % distinct, is known from another source: 1.35
 * / 33.8. */
static void sbf_at_512_mib_is_reproduced_only_with_the_papers_error(void **state)
{
    int differ = 0;

    for (const struct row *r = rows; r < rows + ROWS; r++) {
        bool known = is_slipped(r) && r->n == 1e9 && r->distinct == 0.6;

        if (!is_slipped(r) || !(known || is_long()))
            continue;
        struct rates got = measure(r);
        differ += !compare(r, "honest model", got, model_sbf(r, bits_of(r), bits_of(r)));
        differ += !compare(r, "printed (a slipped model)", model_sbf(r, bits_of(r), bits_of(r) / 2),
                           r->printed);
        if (known) {
            differ += !compare(r, "honest", got, (struct rates){0.0135, 0.338});
            assert_false(agrees(got.fnr, r->printed.fnr));
        }
    }
    assert_int_equal(differ, 0);
}

static const struct row *find(unsigned table, double mib, const char *filter)
{
    for (const struct row *r = rows; r < rows + ROWS; r++)
        if (r->table == table && r->mib == mib && strcmp(r->filter, filter) == 0)
            return r;
    fail_msg("no such row");
    return NULL;
}

/* The filter in the paper's text always keeps keys that the tables' filter forgets from the first
 * record on. Measured: 3.79/1.86 % instead of 2.64/35.6 % (64 MiB, 695M records, 15 % distinct),
 * and 2.12/0 instead of 1.67/19.7 (512 MiB, 1e9, 60 %). */
static void rsbf_of_the_text_misses_far_fewer_keys_than_its_tables(void **state)
{
    const struct row *small = find(4, 64, "rsbf"), *large = find(8, 512, "rsbf");

    struct rates tables = measure(small), text = measure_as(small, "rsbf k=2");
    assert_true(text.fnr * 15 < tables.fnr);
    assert_true((text.fpr + text.fnr) * 6 < tables.fpr + tables.fnr);
    tables = measure(large), text = measure_as(large, "rsbf k=2");
    assert_true(text.fnr == 0); /* more bits than records: no bit is ever cleared */
    assert_true((text.fpr + text.fnr) * 9 < tables.fpr + tables.fnr);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_reproduced),
        cmocka_unit_test(sbf_at_512_mib_is_reproduced_only_with_the_papers_error),
        cmocka_unit_test(rsbf_of_the_text_misses_far_fewer_keys_than_its_tables),
    };

    if (argc != 2)
        return 2;
    rows_file = argv[1];
    return cmocka_run_group_tests(tests, open_rows, NULL);
}
