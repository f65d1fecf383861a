/* plan_screen.c - weir plan --screen: what theory expects of a screen before a store. */
#include <stdio.h>
#include <string.h>

#include "cmd/plan.h"
#include "cli/messages.h"
#include "cli/table.h"
#include "cli/units.h"

struct screen_plan {
    char name[64];
    const char *settings;
    uint64_t n;
    struct weir_screen_prediction p;
    double share; /* calls per record */
};

static bool check(const struct options *o, double *members)
{
    if (!o->check.screen || !o->plan.members)
        return reject("--screen NAME needs --members RATE, the share of the keys that are in the "
                      "set, and the other way round");
    if (!read_rate(o->plan.members, members))
        return reject("--members %s does not fit: it takes a rate: 0.3 or 30%%", o->plan.members);
    if (!o->plan.stream)
        return reject("--screen needs --stream SPEC with n=, such as zipf:n=1M,universe=100k");
    return !(o->plan.count || o->plan.window || o->plan.gap || o->plan.fnr > 0 ||
             o->plan.cost[0] > 0 || o->plan.cost[1] > 0 || o->filter.algorithm || o->filter.fpr) ||
           reject("--screen predicts one screen as it is opened; -a, -e, --count, --window, --gap, "
                  "--fnr and --cost are for filters");
}

static bool ask(const struct options *o, double members, struct screen_plan *plan)
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
        return reject("the options of the screen are too long");
    if (weir_predict_screen(&plan->p, sizeof plan->p, spec, &stream, members, &error) != WEIR_OK)
        return request_reject(&w, WEIR_KIND_SCREEN, spec, error.text);
    char *hashing = strstr(plan->p.config, " hash="); /* and seed=: no matter here */
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

#define COLUMN(name, kind, member)                                                                 \
    {                                                                                              \
        name, COLUMN_##kind, offsetof(struct screen_plan, member), false                           \
    }
#define REST(name, kind, member)                                                                   \
    {                                                                                              \
        name, COLUMN_##kind, offsetof(struct screen_plan, member), true                            \
    }

static const struct table_column columns[] = {
    COLUMN("screen", CHARS, name),
    REST("settings", TEXT, settings),
    COLUMN("memory_bytes", BYTES, p.memory),
    REST("n", COUNT, n),
    REST("distinct", NUMBER, p.distinct),
    COLUMN("precision", RATE, p.precision),
    COLUMN("recall", RATE, p.recall),
    REST("fpr", RATE, p.fpr),
    REST("fnr", RATE, p.fnr),
    COLUMN("calls", NUMBER, p.calls),
    REST("calls_share", RATE, share),
    REST("calls_least", NUMBER, p.calls_least),
    REST("first_missed", RATE, p.first_missed),
    REST("first_false", RATE, p.first_false),
    REST("again_false", RATE, p.again_false),
    REST("again_false_most", RATE, p.again_false_most),
    REST("known_least", NUMBER, p.known_least),
    {NULL},
};

static void print_words(const struct screen_plan *plan)
{
    const struct weir_screen_prediction *p = &plan->p;

    printf("\nthe store is asked for %s of %s different keys, %.3g of the records; at least for %s "
           "(Proposition 4)\n",
           show_count(p->calls).text, show_count(p->distinct).text, plan->share,
           show_count(p->calls_least).text);
    printf("at the end a key that comes for the first time is missed with chance %.3g if it is a "
           "member, else said to be one with chance %.3g (Theorem 1)\n",
           p->first_missed, p->first_false);
    printf("one that comes again and is no member is said to be one with chance %.3g (Theorem 2), "
           "%.3g at most (Proposition 3)\n",
           p->again_false, p->again_false_most);
    printf("of %s members at least %s are taken for known the first time (Proposition 2)\n",
           show_count(p->members).text, show_count(p->known_least).text);
}

int plan_screen(const struct options *o)
{
    struct screen_plan plan;
    struct table table = {columns, &plan, sizeof plan, 1};
    double members;

    if (!check(o, &members) || !ask(o, members, &plan) || !table_print(&table, o->format))
        return EXIT_ERROR;
    if (print_is_text(o->format) && !o->verbosity.quiet)
        print_words(&plan);
    return EXIT_FINE;
}
