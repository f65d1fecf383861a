/* plan.c - weir plan: predict filters on a described stream, for two limits: new records lost and
 * repeats passed. Given the memory, it ranks the filters. Otherwise it finds the least memory. */
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
#define MEMORY_LEAST ((uint64_t)64 << 10) /* less is never advised: it saves nothing */
#define FPR_DEFAULT 0.001
#define FNR_DEFAULT 0.05
#define ROUNDED 1.001
#define FILTERS_MOST 64

/* ---- options ---- */

static bool read_limit(const char *text, double *out)
{
    return !text || (read_rate(text, out) && *out > 0) ||
           reject("--fpr %s: invalid rate; use a number above 0, e.g. 0.01 or 1%%", text);
}

bool plan_stream(const struct options *o, struct weir_stream *s)
{
    const char *stream = o->plan.stream;
    struct weir_error error;

    if (weir_stream_read(s, sizeof *s, stream ? stream : "endless", &error) != WEIR_OK)
        return reject("%s", error.text);
    return s->drift == 0 ||
           reject("--stream: there is no model of drift=; measure filters with 'weir eval "
                  "--synthetic %s'",
                  stream);
}

/* Unique keys until the set is complete. */
static bool read_set(struct plan *p)
{
    const struct options *o = p->options;
    uint64_t keys;
    char stream[64];

    if (o->plan.stream || o->plan.window)
        return reject(
            "--count cannot be combined with --stream or --window: a set is not a stream");
    if (!read_count(o->plan.count, &keys) || keys == 0)
        return reject("--count %s: invalid count; use a number with k, M or G, e.g. 500k",
                      o->plan.count);
    if (!o->filter.fpr && !o->filter.memory)
        return reject("--count needs the maximum error (-e) or the memory (-m)");
    snprintf(stream, sizeof stream, "endless:n=%llu", (unsigned long long)keys);
    p->set = true;
    return weir_stream_read(&p->stream, sizeof p->stream, stream, NULL) == WEIR_OK;
}

static bool read_plan(struct plan *p, const struct options *o)
{
    p->options = o;
    p->wish = (struct weir_plan_request){.size = sizeof p->wish,
                                         .fpr = FPR_DEFAULT,
                                         .fnr = o->plan.fnr > 0 ? o->plan.fnr : FNR_DEFAULT};
    if (o->plan.count ? !read_set(p) : !plan_stream(o, &p->stream))
        return false;
    if (!read_limit(o->filter.fpr, &p->wish.fpr))
        return false;
    if (o->filter.memory && !(read_size(o->filter.memory, &p->wish.memory) && p->wish.memory >= 64))
        return reject("--memory %s: invalid size; use at least 64 bytes, e.g. 64M, 1G",
                      o->filter.memory);
    p->windowed = o->plan.window != NULL;
    bool no_repeats = p->stream.n == 0 && p->stream.fresh == 1;
    if (no_repeats && o->plan.fnr > 0 && !o->filter.memory)
        return reject("--fnr: an endless stream of new keys has no repeats; describe the stream "
                      "with --stream");
    p->sizing = !o->filter.memory && !p->windowed && !p->set && !no_repeats;
    if (!o->filter.memory && !p->sizing && !p->windowed && !p->set)
        p->wish.memory = MEMORY_DEFAULT;
    return true;
}

/* ---- predictions ---- */

/* The name and the parameters of -S; false if they are too long. */
static bool name_filter(const struct plan *p, const char *name, char spec[SPEC_MAX])
{
    int used = snprintf(spec, SPEC_MAX, "%s", name);

    for (int i = 0; i < p->options->filter.sets && used < SPEC_MAX; i++)
        used += snprintf(spec + used, (size_t)(SPEC_MAX - used), " %s", p->options->filter.set[i]);
    return used < SPEC_MAX || reject("the filter's options are too long");
}

/* Some filters accept a memory that is too small for their window. */
static bool keeps_window(const struct weir_prediction *p, struct weir_error *error)
{
    uint64_t window;

    if (isnan(p->remembered) || !weir_spec_number(p->config, "window", &window) ||
        p->remembered >= (double)window)
        return true;
    if (error)
        snprintf(error->text, sizeof error->text,
                 "%.*s remembers %s keys in %s, less than the window; use more memory",
                 (int)strcspn(p->config, " "), p->config, show_count(p->remembered).text,
                 show_bytes((double)p->memory).text);
    return false;
}

/* The limit is for the error of the complete set. */
static bool keeps_error(const struct plan *p, const struct weir_prediction *one,
                        struct weir_error *error)
{
    if (!p->options->filter.fpr || one->error <= p->wish.fpr * ROUNDED)
        return true;
    if (error)
        snprintf(error->text, sizeof error->text,
                 "%.*s would have an error of %.3g; use more memory",
                 (int)strcspn(one->config, " "), one->config, one->error);
    return false;
}

/* Filters compute the memory for their window or set when they are opened. */
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
    return (p->set ? keeps_error(p, out, error) : keeps_window(out, error)) ? WEIR_OK
                                                                            : WEIR_UNSUPPORTED;
}

static enum weir_status ask(const struct plan *p, const char *spec, struct weir_prediction *out,
                            struct weir_error *error)
{
    if (p->windowed || p->set)
        return ask_sized(p, spec, out, error);
    if (!p->sizing)
        return weir_choose(out, sizeof *out, spec, &p->stream, &p->wish, error);

    struct weir_plan_request least = p->wish;
    enum weir_status status = weir_min_memory(out, sizeof *out, spec, &p->stream, &p->wish, error);
    least.memory = MEMORY_LEAST;
    return status == WEIR_OK && out->memory < MEMORY_LEAST
               ? weir_choose(out, sizeof *out, spec, &p->stream, &least, error)
               : status;
}

bool plan_meets(const struct plan *p, const struct weir_prediction *one)
{
    return !(one->fpr > p->wish.fpr * ROUNDED) && !(one->fnr > p->wish.fnr * ROUNDED);
}

/* Is a listed before b? */
static bool is_before(const struct plan *p, const struct weir_prediction *a,
                      const struct weir_prediction *b)
{
    if (p->set && p->options->filter.memory)
        return a->error < b->error;
    if (p->sizing && a->memory == b->memory)
        return a->rank < b->rank;
    return p->sizing || p->windowed || p->set ? a->memory < b->memory : a->rank < b->rank;
}

static void add(struct plan *p, const struct weir_prediction *one)
{
    size_t at = p->n++;

    for (; at > 0 && is_before(p, one, &p->p[at - 1]); at--)
        p->p[at] = p->p[at - 1];
    p->p[at] = *one;
}

/* No filter keeps this window or set: report the error of the first that has the parameter. */
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
            continue; /* listed only with -a */
        if (!name_filter(p, weir_algorithm_at(WEIR_KIND_FILTER, i)->name, spec))
            return false;
        if (ask(p, spec, &one, NULL) == WEIR_OK)
            add(p, &one);
        if (p->sizing && p->n > 0) /* filters that need far more are not listed */
            p->wish.memory = p->p[0].memory * FAR_MORE;
    }
    if (p->n == 0 && (p->windowed || p->set))
        return refuse_size(p);
    return p->n > 0 || reject("no filter meets these limits, or has these parameters, on such a "
                              "stream");
}

/* The filter as other commands open it. */
static bool ask_opened(struct plan *p, const char *spec)
{
    char opened[SPEC_MAX + 64];

    snprintf(opened, sizeof opened, "%s memory=%llu%s%s", spec, (unsigned long long)p->wish.memory,
             p->options->filter.fpr ? " fpr=" : "",
             p->options->filter.fpr ? p->options->filter.fpr : "");
    if (weir_predict(&p->p[p->n], sizeof *p->p, opened, &p->stream, NULL) != WEIR_OK)
        return false;
    return true;
}

/* A fixed filter needs a set. Unknown names are rejected elsewhere. */
static bool fits_stream(const struct plan *p, const char *spec)
{
    const struct weir_algorithm *about = weir_find_algorithm(WEIR_KIND_FILTER, spec);

    return p->set || !about || about->traits & WEIR_CAN_OBSERVE ||
           reject("%s is built from a complete set and cannot observe a stream; use --count N "
                  "to predict a set",
                  about->name);
}

/* As other commands open it, and with its best settings if they differ. */
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

int cmd_plan(struct options *o)
{
    struct plan p = {0};
    bool ok;

    if (o->operands)
        return fail("'weir plan' reads no files: '%s'; 'weir eval' measures on them",
                    o->operand[0]);
    if (o->check.screen || o->plan.members)
        return plan_screen(o);
    if (request_sets(&o->filter, "ttl") || o->plan.rate)
        return plan_ttl(o);
    if (o->plan.gap)
        return plan_gap(o);
    p.p = malloc((FILTERS_MOST + 2) * sizeof *p.p);
    if (!p.p)
        return fail("out of memory");
    ok = read_plan(&p, o) && (o->filter.algorithm ? ask_one(&p) : ask_all(&p)) && print(&p);
    free(p.p);
    return ok ? EXIT_FINE : EXIT_ERROR;
}
