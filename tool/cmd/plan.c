/* plan.c - weir plan: what theory expects of filters on a stream, which of
 * them to take, how much memory they need. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/plan.h"
#include "cli/print.h"
#include "cli/messages.h"
#include "cli/units.h"

#define MEMORY_DEFAULT ((uint64_t)64 << 20)
#define FILTERS_MOST 64

/* ---- what is asked ---- */

static bool read_ceiling(const char *text, double *out)
{
    return !text || (read_rate(text, out) && *out > 0) ||
           reject("--fpr %s does not fit: it takes a rate above 0: 0.01 or 1%%", text);
}

bool plan_stream(const struct options *o, struct weir_stream *s)
{
    const char *stream = o->plan.stream;
    struct weir_error error;

    if (weir_stream_read(s, sizeof *s, stream ? stream : "endless", &error) != WEIR_OK)
        return reject("%s", error.text);
    return s->drift == 0 ||
           reject("there is no model of streams that drift; 'weir eval --synthetic %s' measures "
                  "filters on one",
                  stream);
}

/* Keys that come once each, until the set is whole. */
static bool read_set(struct plan *p)
{
    const struct options *o = p->options;
    uint64_t keys;
    char stream[64];

    if (o->plan.stream || o->plan.window)
        return reject("--count does not go with --stream or --window: a set is no stream");
    if (!read_count(o->plan.count, &keys) || keys == 0)
        return reject("--count %s does not fit: it takes a count: 500k, 1G", o->plan.count);
    if (!o->filter.fpr && !o->filter.memory)
        return reject("--count needs the error that will do (-e) or the memory there is (-m)");
    snprintf(stream, sizeof stream, "endless:n=%llu", (unsigned long long)keys);
    p->set = true;
    return weir_stream_read(&p->stream, sizeof p->stream, stream, NULL) == WEIR_OK;
}

static bool read_plan(struct plan *p, const struct options *o)
{
    p->options = o;
    p->wish = (struct weir_plan_request){
        .size = sizeof p->wish, .fp = o->plan.cost[0], .fn = o->plan.cost[1], .fnr = o->plan.fnr};
    if (o->plan.count ? !read_set(p) : !plan_stream(o, &p->stream))
        return false;
    if (!read_ceiling(o->filter.fpr, &p->wish.fpr))
        return false;
    if (o->filter.memory && !(read_size(o->filter.memory, &p->wish.memory) && p->wish.memory >= 64))
        return reject("--memory %s does not fit: it takes a size from 64 bytes: 64M, 1G",
                      o->filter.memory);
    p->windowed = o->plan.window != NULL;
    p->sizing =
        !o->filter.memory && !p->windowed && !p->set && (p->wish.fpr > 0 || p->wish.fnr > 0);
    if (p->sizing && p->stream.n == 0 && p->stream.fresh == 1)
        return reject("an endless stream of new keys has no repeats to miss: say how much memory "
                      "there is (-m), or what comes again (--stream)");
    if (!o->filter.memory && !p->sizing && !p->windowed && !p->set)
        p->wish.memory = MEMORY_DEFAULT;
    return true;
}

/* ---- asking theory ---- */

/* The name and the parameters that were set; false if they are too long. */
static bool name_filter(const struct plan *p, const char *name, char spec[SPEC_MAX])
{
    int used = snprintf(spec, SPEC_MAX, "%s", name);

    for (int i = 0; i < p->options->filter.sets && used < SPEC_MAX; i++)
        used += snprintf(spec + used, (size_t)(SPEC_MAX - used), " %s", p->options->filter.set[i]);
    return used < SPEC_MAX || reject("the options of the filter are too long");
}

/* Not all refuse a memory that is too small for their window. */
static bool keeps_window(const struct weir_prediction *p, struct weir_error *error)
{
    uint64_t window;

    if (isnan(p->remembered) || !weir_spec_number(p->config, "window", &window) ||
        p->remembered >= (double)window)
        return true;
    if (error)
        snprintf(error->text, sizeof error->text,
                 "%.*s remembers %s keys in %s, less than the window; give it more memory",
                 (int)strcspn(p->config, " "), p->config, show_count(p->remembered).text,
                 show_bytes((double)p->memory).text);
    return false;
}

/* What is asked for is the error of the set that is whole. */
static bool keeps_error(const struct plan *p, const struct weir_prediction *one,
                        struct weir_error *error)
{
    if (p->wish.fpr == 0 || one->error <= p->wish.fpr * 1.001)
        return true;
    if (error)
        snprintf(error->text, sizeof error->text,
                 "%.*s would take %.3g of all others for members; give it more memory",
                 (int)strcspn(one->config, " "), one->config, one->error);
    return false;
}

/* As filters open it themselves: they know the memory that their window needs, or
 * their set. */
static enum weir_status ask_sized(const struct plan *p, const char *spec,
                                  struct weir_prediction *out, struct weir_error *error)
{
    char opened[SPEC_MAX + 128];
    const struct options *o = p->options;

    snprintf(opened, sizeof opened, "%s %s=%s%s%s%s%s", spec, p->set ? "capacity" : "window",
             p->set ? o->plan.count : o->plan.window, o->filter.fpr ? " fpr=" : "",
             o->filter.fpr ? o->filter.fpr : "", o->filter.memory ? " memory=" : "",
             o->filter.memory ? o->filter.memory : "");
    enum weir_status status = weir_predict(out, sizeof *out, opened, &p->stream, error);
    if (status != WEIR_OK)
        return status;
    out->cost = weir_cost(out, sizeof *out, &p->stream, &p->wish);
    return (p->set ? keeps_error(p, out, error) : keeps_window(out, error)) ? WEIR_OK
                                                                            : WEIR_UNSUPPORTED;
}

static enum weir_status ask(const struct plan *p, const char *spec, struct weir_prediction *out,
                            struct weir_error *error)
{
    if (p->windowed || p->set)
        return ask_sized(p, spec, out, error);
    return p->sizing ? weir_min_memory(out, sizeof *out, spec, &p->stream, &p->wish, error)
                     : weir_choose(out, sizeof *out, spec, &p->stream, &p->wish, error);
}

/* Does a stand above b? */
static bool is_before(const struct plan *p, const struct weir_prediction *a,
                      const struct weir_prediction *b)
{
    if (p->set && p->options->filter.memory)
        return a->error < b->error;
    return p->sizing || p->windowed || p->set ? a->memory < b->memory : a->cost < b->cost;
}

static void add(struct plan *p, const struct weir_prediction *one)
{
    size_t at = p->n++;

    for (; at > 0 && is_before(p, one, &p->p[at - 1]); at--)
        p->p[at] = p->p[at - 1];
    p->p[at] = *one;
}

/* Why no filter keeps this window, or this set: the first of those that could says it. */
static bool refuse_size(const struct plan *p)
{
    struct weir_prediction one;
    struct weir_error error = {0};
    size_t i = 0;

    while (!(weir_algorithm_at(WEIR_KIND_FILTER, i)->traits &
             (p->set ? WEIR_CAN_KEEP_ALL : WEIR_CAN_WINDOW)))
        i++;
    ask_sized(p, weir_algorithm_at(WEIR_KIND_FILTER, i)->name, &one, &error);
    return reject("%s", error.text);
}

static bool ask_all(struct plan *p)
{
    char spec[SPEC_MAX];
    struct weir_prediction one;

    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i) && p->n < FILTERS_MOST; i++) {
        uint64_t traits = weir_algorithm_at(WEIR_KIND_FILTER, i)->traits;

        if (traits & WEIR_FOR_TABLES || !(traits & (p->set ? WEIR_CAN_KEEP_ALL : WEIR_CAN_OBSERVE)))
            continue; /* listed if it is asked for */
        if (!name_filter(p, weir_algorithm_at(WEIR_KIND_FILTER, i)->name, spec))
            return false;
        if (ask(p, spec, &one, NULL) == WEIR_OK)
            add(p, &one);
        if (p->sizing && p->n > 0) /* what needs far more is not looked for */
            p->wish.memory = p->p[0].memory * FAR_MORE;
    }
    if (p->n == 0 && (p->windowed || p->set))
        return refuse_size(p);
    return p->n > 0 || reject("no filter keeps these ceilings, or has these parameters, on such a "
                              "stream");
}

/* As other commands would open it, where no ceiling asks for others. */
static bool ask_opened(struct plan *p, const char *spec)
{
    char opened[SPEC_MAX + 64];

    snprintf(opened, sizeof opened, "%s memory=%llu%s%s", spec, (unsigned long long)p->wish.memory,
             p->options->filter.fpr ? " fpr=" : "",
             p->options->filter.fpr ? p->options->filter.fpr : "");
    if (weir_predict(&p->p[p->n], sizeof *p->p, opened, &p->stream, NULL) != WEIR_OK)
        return false;
    p->p[p->n].cost = weir_cost(&p->p[p->n], sizeof *p->p, &p->stream, &p->wish);
    return true;
}

/* A fixed filter is for a set. An unknown name is refused elsewhere. */
static bool fits_stream(const struct plan *p, const char *spec)
{
    const struct weir_algorithm *about = weir_find_algorithm(WEIR_KIND_FILTER, spec);

    return p->set || !about || about->traits & WEIR_CAN_OBSERVE ||
           reject("%s is built from a set that is known whole, and learns nothing from a stream; "
                  "--count N asks for such a set",
                  about->name);
}

/* As it would be opened, and its best settings beside it if those are others. */
static bool ask_one(struct plan *p)
{
    char spec[SPEC_MAX];
    struct weir_error error;

    if (!name_filter(p, p->options->filter.algorithm, spec) || !fits_stream(p, spec))
        return false;
    p->n += !p->sizing && !p->windowed && !p->set && ask_opened(p, spec);
    if (ask(p, spec, &p->p[p->n], &error) != WEIR_OK)
        return request_reject(&p->options->filter, WEIR_KIND_FILTER, spec, error.text);
    p->chosen = p->n;
    if (p->n > 0 && strcmp(p->p[0].config, p->p[1].config) == 0)
        p->p[p->chosen = 0] = p->p[1];
    p->n = p->chosen + 1;
    return true;
}

static bool print(const struct plan *p)
{
    if (!plan_print_table(p))
        return false;
    if (print_is_text(p->options->format) && !p->options->verbosity.quiet)
        plan_print_words(p);
    return true;
}

int cmd_plan(const struct options *o)
{
    struct plan p = {0};
    bool ok;

    if (o->operands)
        return fail("'weir plan' reads no files: '%s'; 'weir eval' measures on them",
                    o->operand[0]);
    if (o->check.screen || o->plan.members)
        return plan_screen(o);
    if (o->plan.gap)
        return plan_gap(o);
    p.p = malloc((FILTERS_MOST + 2) * sizeof *p.p);
    if (!p.p)
        return fail("memory is short");
    ok = read_plan(&p, o) && (o->filter.algorithm ? ask_one(&p) : ask_all(&p)) && print(&p);
    free(p.p);
    return ok ? EXIT_FINE : EXIT_ERROR;
}
