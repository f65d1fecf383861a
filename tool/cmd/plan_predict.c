/* plan_predict.c - weir plan --gap and weir plan --screen (plan.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/table.h"
#include "cli/units.h"
#include "cmd/plan.h"

#define GAPS_MOST 16
#define MEMORY_DEFAULT "64M"

#define COLUMN TABLE_COLUMN
#define REST TABLE_REST

/* ---- --gap: the probability to miss a key after a gap, by filter and class of importance ---- */

struct gap_row {
    char name[64], settings[WEIR_SPEC_MAX], class[16];
    uint64_t memory, gap;
    double share, missed;
};

struct gaps {
    const struct options *options;
    struct weir_stream stream;
    uint64_t gap[GAPS_MOST];
    uint32_t gaps;
    struct gap_row *row;
    size_t rows, room;
};

/* ---- options ---- */

static bool read_gaps(struct gaps *g)
{
    const char *text = g->options->plan.gap;
    char word[32];

    for (const char *at = text, *next; at; at = next) {
        size_t size = strcspn(at, ",");

        next = at[size] ? at + size + 1 : NULL;
        snprintf(word, sizeof word, "%.*s", (int)size, at);
        if (g->gaps == GAPS_MOST || size >= sizeof word || !read_count(word, &g->gap[g->gaps]) ||
            g->gap[g->gaps] == 0)
            return reject("--gap %s: invalid counts; use up to %d, separated by commas, e.g. "
                          "1k,1M",
                          text, GAPS_MOST);
        g->gaps++;
    }
    return true;
}

static bool check_gap_options(const struct options *o)
{
    return !(o->plan.count || o->plan.window || o->plan.fnr > 0) ||
           reject("--gap predicts filters as they are opened; --count, --window and --fnr choose "
                  "settings. Use -S window= to set one");
}

static bool fit_stream(const struct gaps *g)
{
    for (uint32_t i = 0; i < g->gaps; i++)
        if (g->stream.n && g->gap[i] >= g->stream.n)
            return reject("--gap %llu: too large; the stream has %llu arrivals",
                          (unsigned long long)g->gap[i], (unsigned long long)g->stream.n);
    return true;
}

/* The filter as other commands open it. -e and -S apply to filters that have the parameter. */
static bool write_spec(const struct gaps *g, const char *name, char spec[SPEC_MAX])
{
    struct filter_request w = g->options->filter;

    w.algorithm = name;
    w.memory = w.memory ? w.memory : MEMORY_DEFAULT;
    return request_spec(&w, NULL, NULL, spec) || reject("the filter's options are too long");
}

/* ---- predictions ---- */

static bool make_room(struct gaps *g, size_t more)
{
    struct gap_row *larger;

    if (g->rows + more <= g->room)
        return true;
    larger = realloc(g->row, 2 * (g->rows + more) * sizeof *larger);
    if (!larger)
        return false;
    g->row = larger;
    g->room = 2 * (g->rows + more);
    return true;
}

static void add_row(struct gaps *g, const struct weir_gap_prediction *found, uint64_t gap,
                    uint32_t class)
{
    struct gap_row *row = &g->row[g->rows++];
    size_t name = strcspn(found->config, " ");
    const char *rest = strchr(found->config + name + 1, ' '); /* after memory= */

    *row = (struct gap_row){.memory = found->memory, .gap = gap, .share = 1};
    snprintf(row->name, sizeof row->name, "%.*s", (int)name, found->config);
    snprintf(row->settings, sizeof row->settings, "%s", rest ? rest + 1 : "");
    row->missed = found->missed;
    if (class == 0)
        return;
    snprintf(row->class, sizeof row->class, "%u", class);
    row->share = found->class_share[class];
    row->missed = found->class_missed[class];
}

static enum weir_status predict_gaps(struct gaps *g, const char *spec, struct weir_error *error)
{
    static struct weir_gap_prediction found;

    for (uint32_t i = 0; i < g->gaps; i++) {
        enum weir_status status =
            weir_predict_gap(&found, sizeof found, spec, &g->stream, (double)g->gap[i], error);

        if (status != WEIR_OK)
            return status;
        if (isnan(found.missed)) {
            snprintf(error->text, sizeof error->text,
                     "the model of %.*s does not predict misses by gap", (int)strcspn(spec, " "),
                     spec);
            return WEIR_UNSUPPORTED;
        }
        if (!make_room(g, found.classes + 1)) {
            snprintf(error->text, sizeof error->text, "out of memory");
            return WEIR_NO_MEMORY;
        }
        for (uint32_t c = 0; c <= found.classes; c++)
            if (c == 0 || (g->stream.important && found.class_share[c] > 0))
                add_row(g, &found, g->gap[i], c);
    }
    return WEIR_OK;
}

static bool predict_one(struct gaps *g)
{
    char spec[SPEC_MAX];
    struct weir_error error;

    return write_spec(g, g->options->filter.algorithm, spec) &&
           (predict_gaps(g, spec, &error) == WEIR_OK ||
            request_reject(&g->options->filter, WEIR_KIND_FILTER, spec, error.text));
}

/* All filters with these parameters and a model. */
static bool predict_all(struct gaps *g)
{
    char spec[SPEC_MAX];
    struct weir_error error = {0};
    const struct weir_algorithm *about;

    for (size_t i = 0; (about = weir_algorithm_at(WEIR_KIND_FILTER, i)); i++) {
        if (about->traits & WEIR_FOR_TABLES)
            continue;
        if (!write_spec(g, about->name, spec))
            return false;
        if (predict_gaps(g, spec, &error) == WEIR_NO_MEMORY)
            return reject("%s", error.text);
    }
    return g->rows > 0 || reject("%s", error.text);
}

/* ---- the table ---- */

static bool print_gaps(const struct gaps *g)
{
    static const struct table_column columns[] = {
        COLUMN(gap_row, "algorithm", CHARS, name),      REST(gap_row, "settings", CHARS, settings),
        COLUMN(gap_row, "memory_bytes", BYTES, memory), COLUMN(gap_row, "gap", COUNT, gap),
        COLUMN(gap_row, "class", CHARS, class),         REST(gap_row, "share", RATE, share),
        COLUMN(gap_row, "missed", RATE, missed),        {NULL},
    };
    struct table table = {columns, g->row, sizeof *g->row, g->rows};

    return table_print(&table, g->options->format);
}

int plan_gap(const struct options *o)
{
    struct gaps g = {.options = o};
    bool ok = check_gap_options(o) && read_gaps(&g) && plan_stream(o, &g.stream) &&
              fit_stream(&g) && (o->filter.algorithm ? predict_one(&g) : predict_all(&g)) &&
              print_gaps(&g);

    free(g.row);
    return ok ? EXIT_FINE : EXIT_ERROR;
}

/* ---- --screen: the store calls and errors of a screen ---- */

struct screen_plan {
    char name[64];
    const char *settings;
    uint64_t n;
    struct weir_screen_prediction p;
    double share; /* calls per record */
};

static bool check_screen_options(const struct options *o, double *members)
{
    if (!o->check.screen || !o->plan.members)
        return reject("--screen NAME and --members RATE, the share of the keys in the set, need "
                      "each other");
    if (!read_rate(o->plan.members, members))
        return reject("--members %s: invalid rate; use a number from 0 to 1, e.g. 0.3 or 30%%",
                      o->plan.members);
    if (!o->plan.stream)
        return reject("--screen needs --stream SPEC with n=, such as zipf:n=1M,universe=100k");
    return !(o->plan.count || o->plan.window || o->plan.gap || o->plan.rate || o->plan.fnr > 0 ||
             o->filter.algorithm || o->filter.fpr) ||
           reject("--screen predicts one screen as it is opened; -a, -e, --count, --window, --gap, "
                  "--rate and --fnr are for filters");
}

static bool predict_screen(const struct options *o, double members, struct screen_plan *plan)
{
    struct filter_request w = o->filter;
    struct weir_stream stream;
    struct weir_error error;
    char spec[SPEC_MAX];
    size_t name;

    w.algorithm = o->check.screen;
    if (!plan_stream(o, &stream))
        return false;
    if (!request_spec(&w, NULL, NULL, spec))
        return reject("the screen's options are too long");
    if (weir_predict_screen(&plan->p, sizeof plan->p, spec, &stream, members, &error) != WEIR_OK)
        return request_reject(&w, WEIR_KIND_SCREEN, spec, error.text);
    char *hashing = strstr(plan->p.config, " hash="); /* and seed=: without effect here */
    if (hashing)
        *hashing = '\0';
    name = strcspn(plan->p.config, " ");
    snprintf(plan->name, sizeof plan->name, "%.*s", (int)name, plan->p.config);
    plan->settings = strchr(plan->p.config + name + 1, ' '); /* after memory= */
    plan->settings = plan->settings ? plan->settings + 1 : NULL;
    plan->n = stream.n;
    plan->share = plan->p.calls / (double)stream.n;
    return true;
}

static const struct table_column columns[] = {
    COLUMN(screen_plan, "screen", CHARS, name),
    REST(screen_plan, "settings", TEXT, settings),
    COLUMN(screen_plan, "memory_bytes", BYTES, p.memory),
    REST(screen_plan, "n", COUNT, n),
    REST(screen_plan, "distinct", NUMBER, p.distinct),
    COLUMN(screen_plan, "precision", RATE, p.precision),
    COLUMN(screen_plan, "recall", RATE, p.recall),
    REST(screen_plan, "fpr", RATE, p.fpr),
    REST(screen_plan, "fnr", RATE, p.fnr),
    COLUMN(screen_plan, "calls", NUMBER, p.calls),
    REST(screen_plan, "calls_share", RATE, share),
    REST(screen_plan, "calls_least", NUMBER, p.calls_least),
    REST(screen_plan, "first_missed", RATE, p.first_missed),
    REST(screen_plan, "first_false", RATE, p.first_false),
    REST(screen_plan, "again_false", RATE, p.again_false),
    REST(screen_plan, "again_false_most", RATE, p.again_false_most),
    REST(screen_plan, "known_least", NUMBER, p.known_least),
    {NULL},
};

static void print_words(const struct screen_plan *plan)
{
    const struct weir_screen_prediction *p = &plan->p;

    printf("\nthe store is asked for %s of %s distinct keys, %.3g of the records; at least for %s "
           "(Proposition 4)\n",
           show_count(p->calls).text, show_count(p->distinct).text, plan->share,
           show_count(p->calls_least).text);
    printf("at the end, a new key is missed with probability %.3g if it is a member, and otherwise "
           "reported as a member with probability %.3g (Theorem 1)\n",
           p->first_missed, p->first_false);
    printf(
        "a repeated non-member is reported as a member with probability %.3g (Theorem 2), at most "
        "%.3g (Proposition 3)\n",
        p->again_false, p->again_false_most);
    printf(
        "of %s members, at least %s are false positives at their first arrival (Proposition 2)\n",
        show_count(p->members).text, show_count(p->known_least).text);
}

int plan_screen(const struct options *o)
{
    struct screen_plan plan;
    struct table table = {columns, &plan, sizeof plan, 1};
    double members;

    if (!check_screen_options(o, &members) || !predict_screen(o, members, &plan) ||
        !table_print(&table, o->format))
        return EXIT_ERROR;
    if (print_is_text(o->format) && !o->verbosity.quiet)
        print_words(&plan);
    return EXIT_FINE;
}
