/* plan_print.c - the output of weir plan (plan.h): a table and its explanation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/table.h"
#include "cli/units.h"
#include "cmd/plan.h"

/* ---- explanation ---- */

#define BASELINE_DEFAULT "bloom"
#define FITS 0.001 /* false negatives below this are negligible */

static double distinct(const struct plan *p)
{
    return weir_stream_distinct(&p->stream);
}

static double share_new(const struct plan *p)
{
    return p->stream.n ? distinct(p) / (double)p->stream.n : p->stream.fresh;
}

/* NaN if none is kept. */
static double bits_per_key(const struct plan *p, const struct weir_prediction *one)
{
    double keys = isinf(distinct(p)) ? one->remembered : distinct(p);

    return keys > 0 ? 8 * (double)one->memory / keys : NAN;
}

/* Length of the filter's name in its spec. */
static size_t name_size(const struct weir_prediction *p)
{
    return strcspn(p->config, " ");
}

static bool is_named(const struct weir_prediction *p, const char *name)
{
    return name_size(p) == strlen(name) && strncmp(p->config, name, name_size(p)) == 0;
}

/* Of a stream, with the memory given or found. */
static void say_why_it_meets(const struct plan *p, const char *name, char *text, size_t size)
{
    const struct weir_prediction *best = p->p;
    struct shown memory = show_bytes((double)best->memory);
    double bits = bits_per_key(p, best);

    if (p->stream.n == 0 && p->stream.fresh == 1)
        snprintf(text, size,
                 "an unbounded stream needs a filter that forgets; with %s %s remembers most: %s "
                 "keys, %.1f bits each",
                 memory.text, name, show_count(best->remembered).text, bits);
    else if (p->sizing)
        snprintf(text, size,
                 "%s meets both limits with the least memory: %s%s; filters that need more than %d "
                 "times as much are not listed",
                 name, memory.text, best->memory <= 65536 ? " (less is not advised)" : "",
                 FAR_MORE);
    else if (best->fnr < FITS && !isinf(distinct(p)))
        snprintf(text, size,
                 "%s is enough: your stream fits, with %.1f bits for each of its %s "
                 "distinct keys",
                 name, bits, show_count(distinct(p)).text);
    else
        snprintf(text, size, "%s meets both limits and passes the fewest repeats", name);
}

/* The reason for the first row. */
static void say_why(const struct plan *p, char *text, size_t size)
{
    const struct weir_prediction *best = p->p;
    double bits = bits_per_key(p, best);
    char name[32];

    snprintf(name, sizeof name, is_named(best, BASELINE_DEFAULT) ? "a plain Bloom filter" : "%.*s",
             (int)name_size(best), best->config);
    if (p->windowed)
        snprintf(text, size,
                 "%s keeps the latest %s keys in the least memory: %s, with an error of %s at most",
                 name, p->options->plan.window, show_bytes((double)best->memory).text,
                 show_chance(fmax(best->stable, best->error)).text);
    else if (p->set)
        snprintf(text, size, "%s holds %s keys %s: %s, %.1f bits each, with a final error of %s",
                 name, p->options->plan.count,
                 p->options->filter.memory ? "with the least error" : "in the least memory",
                 show_bytes((double)best->memory).text, bits, show_chance(best->error).text);
    else if (!plan_meets(p, best))
        snprintf(text, size,
                 "no filter meets both limits in this memory; %s comes nearest. Without -m, plan "
                 "finds the least memory",
                 name);
    else if (share_new(p) > 0.999999 && p->stream.n)
        snprintf(text, size, "nothing repeats: no filter is needed");
    else
        say_why_it_meets(p, name, text, size);
}

/* How the default filter compares, if it is not the first. */
static void say_of_default(const struct plan *p)
{
    const char *name = weir_algorithm_at(WEIR_KIND_FILTER, 0)->name;

    for (size_t i = 1; i < p->n && !p->set; i++) {
        if (!is_named(&p->p[i], name))
            continue;
        if (p->sizing || p->windowed)
            printf("%s, the default, needs %.2f times the memory\n", name,
                   (double)p->p[i].memory / (double)p->p[0].memory);
        else if (!plan_meets(p, p->p))
            return;
        else if (!plan_meets(p, &p->p[i]))
            printf("%s, the default, does not meet them\n", name);
        else if (!isnan(p->p[i].fnr))
            printf("%s, the default, meets them too: it passes %s of the repeats\n", name,
                   show_chance(p->p[i].fnr).text);
    }
}

static bool can_learn(const struct weir_prediction *p)
{
    const struct weir_algorithm *about = weir_find_algorithm(WEIR_KIND_FILTER, p->config);

    return about && about->traits & WEIR_CAN_OBSERVE;
}

/* An alternative, if the first filter cannot be changed later. */
static void say_of_growing(const struct plan *p)
{
    size_t i = 0;

    while (i < p->n && !can_learn(&p->p[i]))
        i++;
    if (i == 0 || i == p->n)
        return;
    printf("%.*s is built once and never changes; to add keys later, use %.*s: %s, "
           "with a final error of %s\n",
           (int)name_size(p->p), p->p->config, (int)name_size(&p->p[i]), p->p[i].config,
           show_bytes((double)p->p[i].memory).text, show_chance(p->p[i].error).text);
}

static void say_of_one(const struct plan *p, const struct weir_prediction *one)
{
    if (!isnan(one->stable))
        printf("if only new keys arrive, its error settles at %.4g\n", one->stable);
    if (!isnan(one->paper))
        printf("the paper's formula gives an error of %.4g at the end; this model %.4g\n",
               one->paper, one->error);
    if (!isnan(one->lru_fnr))
        printf("an exact list of the latest keys, log2(1/fpr) bits each, would miss %.4g\n",
               one->lru_fnr);
    for (uint32_t i = 1; i <= one->classes && p->stream.important; i++)
        if (one->class_share[i] > 0 && !isnan(one->class_fnr[i]))
            printf("importance class %u: %.4g of the arrivals, %.4g of its repeats are missed\n", i,
                   one->class_share[i], one->class_fnr[i]);
}

void plan_print_words(const struct plan *p)
{
    char why[512];

    printf("\n");
    if (p->options->filter.algorithm) {
        say_of_one(p, p->p);
        return;
    }
    say_why(p, why, sizeof why);
    printf("%s\n", why);
    say_of_default(p);
    say_of_growing(p);
    if (!p->windowed && !p->set)
        printf("limits: %.3g %% of the new records lost (-e), %.3g %% of the repeats passed "
               "(--fnr); predictions are within 6 %% or 0.2 points of simulations\n",
               100 * p->wish.fpr, 100 * p->wish.fnr);
}

/* ---- the table ---- */

struct plan_row {
    char name[64];
    const char *settings, *choice, *meets;
    struct weir_prediction p;
    double bits;
    char why[512];
};

#define COLUMN(name, kind, member) TABLE_COLUMN(plan_row, name, kind, member)
#define REST(name, kind, member) TABLE_REST(plan_row, name, kind, member)

static const struct table_column columns[] = {
    COLUMN("algorithm", CHARS, name),     COLUMN("settings", TEXT, settings),
    COLUMN("choice", TEXT, choice),       COLUMN("memory_bytes", BYTES, p.memory),
    COLUMN("meets", TEXT, meets),         COLUMN("fpr", RATE, p.fpr),
    COLUMN("fnr", RATE, p.fnr),           REST("fill", RATE, p.fill),
    REST("error_at_end", RATE, p.error),  REST("stable_error", RATE, p.stable),
    REST("bits_per_key", NUMBER, bits),   COLUMN("remembered", NUMBER, p.remembered),
    REST("limit_fnr", RATE, p.least_fnr), REST("lru_fnr", RATE, p.lru_fnr),
    COLUMN("reason", CHARS, why),         {NULL},
};

/* For a set, the error at the end and the bits per key are the main columns. */
static void show_for_sets(struct table_column *column)
{
    for (; column->name; column++)
        if (column->offset == offsetof(struct plan_row, p.error) ||
            column->offset == offsetof(struct plan_row, bits))
            column->rest = false;
        else if (column->offset == offsetof(struct plan_row, p.fpr))
            column->rest = true;
}

static void fill_row(struct plan_row *row, const struct plan *p, size_t i)
{
    const struct options *o = p->options;

    row->p = p->p[i];
    snprintf(row->name, sizeof row->name, "%.*s", (int)name_size(&row->p), row->p.config);
    row->settings = strchr(row->p.config + name_size(&row->p) + 1, ' '); /* after memory= */
    row->settings = row->settings ? row->settings + 1 : NULL;
    if (!p->windowed && !p->set)
        row->meets = plan_meets(p, &row->p) ? "yes" : "no";
    row->bits = bits_per_key(p, &row->p);
    if (o->filter.algorithm)
        row->choice = i == p->chosen ? "its best settings" : "as opened";
    else if (i == 0 && !print_is_text(o->format))
        say_why(p, row->why, sizeof row->why);
}

bool plan_print_table(const struct plan *p)
{
    struct plan_row *row = calloc(p->n, sizeof *row);
    struct table_column shown[sizeof columns / sizeof *columns];
    struct table table = {shown, row, sizeof *row, p->n};
    bool ok;

    if (!row)
        return reject("out of memory");
    memcpy(shown, columns, sizeof columns);
    if (p->set)
        show_for_sets(shown);
    for (size_t i = 0; i < p->n; i++)
        fill_row(&row[i], p, i);
    ok = table_print(&table, p->options->format);
    free(row);
    return ok;
}
