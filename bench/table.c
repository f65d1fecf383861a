/* table.c - the table of results: collects runs and prints one time per row. */
#include "speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_row(const struct row *a, const struct row *b)
{
    return !strcmp(a->algorithm, b->algorithm) && !strcmp(a->settings, b->settings) &&
           a->memory_mib == b->memory_mib && a->batch == b->batch && a->asking == b->asking &&
           a->chained == b->chained && a->hashing == b->hashing && a->lines == b->lines;
}

void table_note(struct table *t, const struct row *columns, double ns)
{
    size_t i = 0;

    while (i < t->n && !same_row(&t->rows[i], columns))
        i++;
    if (i == sizeof t->rows / sizeof *t->rows)
        die("the table is full at %zu rows", t->n);
    if (i == t->n) {
        t->rows[t->n] = *columns;
        t->rows[t->n++].runs = 0;
    }
    if (t->rows[i].runs == RUNS_MAX)
        die("%s ran more than %d times", columns->algorithm, RUNS_MAX);
    t->rows[i].ns[t->rows[i].runs++] = ns;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The lower quartile: interference only adds time, and unlike the minimum it does not favour rows
 * with more runs. */
double row_time(const struct row *r)
{
    static double ns[RUNS_MAX];
    size_t n = (size_t)r->runs;

    memcpy(ns, r->ns, n * sizeof *ns);
    qsort(ns, n, sizeof *ns, ascending);
    double at = (double)(n - 1) / 4;
    size_t below = (size_t)at, above = below + (below + 1 < n);
    return ns[below] + (at - (double)below) * (ns[above] - ns[below]);
}

/* The best distance for this many lines, or NULL if they were not measured. */
static const struct row *best_limit(const struct table *t, uint32_t lines, bool chained)
{
    const struct row *best = NULL;

    for (size_t i = 0; i < t->n; i++) {
        const struct row *r = &t->rows[i];

        if (!strcmp(r->algorithm, "limit") && r->lines == lines && r->chained == chained &&
            (!best || row_time(r) < row_time(best)))
            best = r;
    }
    return best;
}

double limit_for(const struct table *t, uint32_t lines, bool chained)
{
    const struct row *below = NULL, *above = NULL;

    for (uint32_t i = lines; i > 0 && !below; i--)
        below = best_limit(t, i, chained);
    for (uint32_t i = lines; i <= 2 * lines && !above; i++)
        above = best_limit(t, i, chained);
    if (!below)
        return 0;
    double ns = row_time(below);
    if (!above)
        return ns * lines / below->lines; /* beyond the maximum: in proportion */
    if (above == below)
        return ns;
    return ns + (row_time(above) - ns) * (lines - below->lines) / (above->lines - below->lines);
}

double libbloom_time(const struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(t->rows[i].algorithm, "libbloom"))
            return row_time(&t->rows[i]);
    return 0;
}

void table_print_header(void)
{
    printf("memory_mib\talgorithm\tsettings\tmode\thashing\tns_per_key\tlines\tlimit_ns\tratio\t"
           "times_libbloom\n");
}

static void print_ratio(double a, double b, const char *end)
{
    if (a > 0 && b > 0)
        printf("%.2f%s", a / b, end);
    else
        printf("-%s", end);
}

static void print_row(const struct table *t, const struct row *r)
{
    double ns = row_time(r), limit = limit_for(t, r->lines, r->chained);
    bool comparable =
        r->hashing && (!strcmp(r->algorithm, "bloom") || !strcmp(r->algorithm, "libbloom"));

    printf("%g\t%s\t%s\t%s\t%s\t%.2f\t%u\t", r->memory_mib, r->algorithm,
           r->settings[0] ? r->settings : "-",
           r->chained  ? (r->asking ? "chained ask" : "chained")
           : r->asking ? "ask"
           : r->batch  ? "batch"
                       : "single",
           r->hashing ? "with" : "without", ns, r->lines);
    print_ratio(limit, 1, "\t");
    print_ratio(ns, limit, "\t");
    print_ratio(comparable ? libbloom_time(t) : 0, ns, "\n");
}

void table_print(const struct table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct row *r = &t->rows[i];

        if (strcmp(r->algorithm, "limit") || r == best_limit(t, r->lines, r->chained))
            print_row(t, r);
    }
    fflush(stdout);
}
