/* counts.c - the sketches compared with exact counts on real traces (traces_in.h). The tested
 * properties are guaranteed, except for how often Count-Min keeps its bound. */
#include "comparisons/traces_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/sketch.h>

/* ---- exact counts ---- */

struct exact {
    struct weir_bytes key;
    uint64_t count;
};

static int by_key(const void *a, const void *b)
{
    const struct weir_bytes *x = a, *y = b;
    size_t least = x->size < y->size ? x->size : y->size;
    int order = memcmp(x->data, y->data, least);

    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static struct exact *count_exactly(const struct trace *t, size_t *n)
{
    struct weir_bytes *keys = calloc(t->n, sizeof *keys);
    struct exact *list = calloc(t->distinct, sizeof *list);

    for (size_t i = 0; i < t->n; i++)
        keys[i] = (struct weir_bytes){t->record[i].key, t->record[i].size};
    qsort(keys, t->n, sizeof *keys, by_key);
    *n = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (i == 0 || by_key(&keys[i - 1], &keys[i]) != 0)
            list[(*n)++].key = keys[i];
        list[*n - 1].count++;
    }
    assert_int_equal(*n, t->distinct);
    free(keys);
    return list;
}

static weir_sketch *open_sketch(const char *spec)
{
    struct weir_error error = {0};
    weir_sketch *s;

    if (weir_sketch_open(&s, spec, &error) != WEIR_OK)
        fail_msg("'%s' is refused: %s", spec, error.text);
    return s;
}

static void show(weir_sketch *s, const struct trace *t, size_t from, size_t to)
{
    for (; from < to; from++)
        weir_sketch_add(s, (struct weir_bytes){t->record[from].key, t->record[from].size}, 1);
}

/* Four sketches, each of a quarter of the trace. */
static weir_sketch *merged(const char *spec, const struct trace *t)
{
    weir_sketch *all = open_sketch(spec);

    show(all, t, 0, t->n / 4);
    for (size_t i = 1; i < 4; i++) {
        weir_sketch *part = open_sketch(spec);

        show(part, t, i * t->n / 4, (i + 1) * t->n / 4);
        assert_int_equal(weir_sketch_merge(all, part, NULL), WEIR_OK);
        weir_sketch_close(part);
    }
    return all;
}

static weir_sketch *shown(const char *spec, const struct trace *t)
{
    weir_sketch *s = open_sketch(spec);

    show(s, t, 0, t->n);
    return s;
}

/* ---- count-min ---- */

static void keeps_its_bound(const weir_sketch *s, const struct exact *list, size_t n)
{
    struct weir_sketch_stats stats = weir_sketch_stats_of(s);
    size_t beyond = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t count = weir_sketch_ask(s, list[i].key).count;

        assert_true(count >= list[i].count);
        beyond += count - list[i].count > stats.error;
    }
    assert_true((double)beyond <= (1 - stats.confidence) * (double)n);
}

/* With half a counter and with eight counters per key and row. */
static void count_min_keeps_its_bound_as_often_as_guaranteed(void **state)
{
    static const char *const forms[] = {"", "update=conservative", "layout=line"};

    for (size_t i = 0; i < trace_count; i++) {
        size_t n;
        struct exact *list = count_exactly(&traces[i], &n);

        for (size_t j = 0; j < 6; j++) {
            char spec[100];

            snprintf(spec, sizeof spec, "count-min memory=%zu seed=1 %s",
                     n * (j % 2 ? 128 : 8) + 64, forms[j / 2]);
            weir_sketch *s = shown(spec, &traces[i]), *m = merged(spec, &traces[i]);
            keeps_its_bound(s, list, n);
            keeps_its_bound(m, list, n);
            weir_sketch_close(s);
            weir_sketch_close(m);
        }
        free(list);
    }
}

/* ---- top ---- */

static int by_name(const void *a, const void *b)
{
    return by_key(&((const struct weir_heavy *)a)->key, &((const struct weir_heavy *)b)->key);
}

/* Every count is within its bounds, every key above the floor is kept, and no listed key is less
 * frequent than the bound allows. */
static void keeps_all_bounds(const weir_sketch *s, const struct exact *exact, size_t n)
{
    struct weir_sketch_stats stats = weir_sketch_stats_of(s);
    struct weir_heavy *list = calloc(stats.keys + 1, sizeof *list);
    size_t kept = weir_sketch_top(s, list, stats.keys), at = 0;

    qsort(list, kept, sizeof *list, by_name);
    for (size_t i = 0; i < n; i++) {
        bool is_kept = at < kept && by_key(&list[at].key, &exact[i].key) == 0;

        if (is_kept) {
            assert_true(exact[i].count <= list[at].count);
            assert_true(exact[i].count >= list[at].count - list[at].error);
            at++;
        } else {
            assert_true(exact[i].count <= stats.error);
        }
    }
    assert_int_equal(at, kept); /* every listed key occurred */
    free(list);
}

static void bounds_of_top_always_hold_also_after_merges(void **state)
{
    for (size_t i = 0; i < trace_count; i++) {
        static const int keys[] = {20, 1000};
        size_t n;
        struct exact *list = count_exactly(&traces[i], &n);

        for (size_t j = 0; j < 2; j++) {
            char spec[100];

            snprintf(spec, sizeof spec, "top keys=%d memory=%d seed=1", keys[j],
                     keys[j] * 300 + 4000); /* memory for long keys */
            weir_sketch *s = shown(spec, &traces[i]), *m = merged(spec, &traces[i]);
            keeps_all_bounds(s, list, n);
            keeps_all_bounds(m, list, n);
            if (weir_sketch_stats_of(s).keys ==
                (uint64_t)keys[j]) /* HH(k): every key above N / k is listed */
                assert_true(weir_sketch_stats_of(s).error <= traces[i].n / (size_t)keys[j]);
            weir_sketch_close(s);
            weir_sketch_close(m);
        }
        free(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(count_min_keeps_its_bound_as_often_as_guaranteed),
        cmocka_unit_test(bounds_of_top_always_hold_also_after_merges),
    };

    return traces_read() ? cmocka_run_group_tests(tests, NULL, traces_free) : 0;
}
