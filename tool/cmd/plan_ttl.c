/* plan_ttl.c - weir plan -S ttl=: the share of keys that are remembered, by TTL and importance
 * (plan.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/table.h"
#include "cli/units.h"
#include "cmd/plan.h"

#define MEMORY_DEFAULT "64M"
#define TTLS 3 /* the shortest, the geometric mean, the longest */

struct ttl_row {
    char name[64];
    const char *settings, *importance;
    struct shown ttl;
    double ttl_seconds, share, seen_half, seen;
    struct weir_ttl_prediction p;
};

struct ttl_plan {
    const struct options *options;
    struct weir_stream stream;
    double rate;
    struct ttl_row row[TTLS * (1 + WEIR_TTL_GROUPS)];
    size_t rows;
};

/* ---- options ---- */

/* "10k" or "10k/s" */
static bool read_per_second(const char *text, double *out)
{
    const size_t size = strlen(text), unit = size > 2 && strcmp(text + size - 2, "/s") == 0 ? 2 : 0;
    char count[32];
    uint64_t n;

    if (size - unit >= sizeof count)
        return false;
    snprintf(count, sizeof count, "%.*s", (int)(size - unit), text);
    if (!read_count(count, &n) || n == 0)
        return false;
    *out = (double)n;
    return true;
}

static bool read_ttl_options(struct ttl_plan *t, const struct options *o)
{
    t->options = o;
    if (!request_sets(&o->filter, "ttl"))
        return reject("--rate needs TTLs: add -S ttl=MIN-MAX, for example -S ttl=1m-2h");
    if (o->plan.count || o->plan.window || o->plan.gap || o->plan.fnr > 0)
        return reject("-S ttl= predicts the filter as it is opened; it cannot be combined with "
                      "--count, --window, --gap and --fnr");
    if (o->plan.rate && !read_per_second(o->plan.rate, &t->rate))
        return reject("--rate %s: invalid rate; use a number of new keys per second, e.g. 500, 10k",
                      o->plan.rate);
    return plan_stream(o, &t->stream);
}

/* The filter with TTLs, as other commands open it. */
static bool write_spec(const struct options *o, char spec[SPEC_MAX])
{
    struct filter_request w = o->filter;
    const struct weir_algorithm *about;

    for (size_t i = 0; (about = weir_algorithm_at(WEIR_KIND_FILTER, i)) && !w.algorithm; i++)
        if (about->traits & WEIR_CAN_TTL)
            w.algorithm = about->name;
    w.memory = w.memory ? w.memory : MEMORY_DEFAULT;
    return request_spec(&w, NULL, NULL, spec) || reject("the filter's options are too long");
}

/* ---- predictions ---- */

static void add_rows(struct ttl_plan *t, const struct weir_ttl_prediction *p, double milliseconds)
{
    static const char *const names[1 + WEIR_TTL_GROUPS] = {NULL, "lowest quarter", "second quarter",
                                                           "third quarter", "highest quarter"};
    const size_t name = strcspn(p->config, " ");

    for (uint32_t i = 0; i <= p->groups; i++) {
        if (p->share[i] == 0)
            continue;
        struct ttl_row *row = &t->row[t->rows++];
        *row =
            (struct ttl_row){.p = *p, .importance = names[i], .ttl_seconds = milliseconds / 1000};
        snprintf(row->name, sizeof row->name, "%.*s", (int)name, p->config);
        row->settings = strchr(row->p.config + name + 1, ' '); /* after memory= */
        row->settings = row->settings ? row->settings + 1 : NULL;
        row->ttl = show_duration(row->ttl_seconds);
        row->share = p->share[i];
        row->seen_half = p->seen_half[i];
        row->seen = p->seen[i];
    }
}

static bool predict_ttls(struct ttl_plan *t)
{
    struct weir_ttl_prediction longest, p;
    struct weir_error error;
    char spec[SPEC_MAX];

    if (!write_spec(t->options, spec))
        return false;
    if (weir_predict_ttl(&longest, sizeof longest, spec, &t->stream, t->rate, 0, &error) != WEIR_OK)
        return request_reject(&t->options->filter, WEIR_KIND_FILTER, spec, error.text);
    const double min = (double)longest.ttl_min, max = (double)longest.ttl_max;
    const double shorter[] = {min, sqrt(min * max)};
    for (int i = 0; i < 2 && min < max; i++) {
        if (weir_predict_ttl(&p, sizeof p, spec, &t->stream, t->rate, shorter[i], &error) !=
            WEIR_OK)
            return reject("%s", error.text);
        add_rows(t, &p, shorter[i]);
    }
    add_rows(t, &longest, max);
    return true;
}

/* ---- output ---- */

static const struct table_column columns[] = {
    TABLE_COLUMN(ttl_row, "algorithm", CHARS, name),
    TABLE_REST(ttl_row, "settings", TEXT, settings),
    TABLE_COLUMN(ttl_row, "memory_bytes", BYTES, p.memory),
    TABLE_REST(ttl_row, "rate", NUMBER, p.rate),
    TABLE_REST(ttl_row, "live", NUMBER, p.live),
    TABLE_REST(ttl_row, "fpr", RATE, p.fpr),
    TABLE_REST(ttl_row, "ttl_seconds", NUMBER, ttl_seconds),
    TABLE_COLUMN(ttl_row, "ttl", CHARS, ttl.text),
    TABLE_COLUMN(ttl_row, "importance", TEXT, importance),
    TABLE_REST(ttl_row, "share", RATE, share),
    TABLE_COLUMN(ttl_row, "seen_half", RATE, seen_half),
    TABLE_COLUMN(ttl_row, "seen", RATE, seen),
    {NULL},
};

static void print_ttl_words(const struct ttl_plan *t)
{
    const struct weir_ttl_prediction *p = &t->row[0].p;
    const bool late = strstr(p->config, "expire=late") != NULL;

    printf("\n%s new keys per second%s; %s live keys in the filter; an error of at most %s\n",
           show_count(p->rate).text,
           t->rate > 0
               ? ""
               : ", at which at most about one key in a thousand is evicted before it expires",
           show_count(p->live).text, show_chance(p->fpr).text);
    printf("reported as seen at half of the TTL (seen_half), and at %s (seen), until which only "
           "eviction ends it\n",
           late ? "its end" : "3/4 of it");
    printf(
        "assumed: keys do not repeat, and TTLs have a log-uniform distribution over the range\n");
}

int plan_ttl(const struct options *o)
{
    struct ttl_plan t = {.rows = 0};
    struct table table = {columns, t.row, sizeof *t.row, 0};

    if (!read_ttl_options(&t, o) || !predict_ttls(&t))
        return EXIT_ERROR;
    table.rows = t.rows;
    if (!table_print(&table, o->format))
        return EXIT_ERROR;
    if (print_is_text(o->format) && !o->verbosity.quiet)
        print_ttl_words(&t);
    return EXIT_FINE;
}
