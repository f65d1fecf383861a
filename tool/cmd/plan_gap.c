/* plan_gap.c - weir plan --gap: the chance to miss a key that was shown so many records
 * before, by filter and class of importance. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/plan.h"
#include "cli/messages.h"
#include "cli/table.h"
#include "cli/units.h"

#define GAPS_MOST 16
#define MEMORY_DEFAULT "64M"

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

/* ---- what is asked ---- */

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
            return reject("--gap %s does not fit: it takes up to %d counts with commas between "
                          "them: 1k,1M",
                          text, GAPS_MOST);
        g->gaps++;
    }
    return true;
}

static bool check(const struct options *o)
{
    return !(o->plan.count || o->plan.window || o->plan.fnr > 0 || o->plan.cost[0] > 0 ||
             o->plan.cost[1] > 0) ||
           reject("--gap tells of filters as they are opened, and --count, --window, --fnr and "
                  "--cost choose settings; -S window= sets one");
}

static bool fit_stream(const struct gaps *g)
{
    for (uint32_t i = 0; i < g->gaps; i++)
        if (g->stream.n && g->gap[i] >= g->stream.n)
            return reject("--gap %llu does not fit: the stream has %llu arrivals",
                          (unsigned long long)g->gap[i], (unsigned long long)g->stream.n);
    return true;
}

/* The filter as other commands open it; -e and -S for those that have the parameter. */
static bool write_spec(const struct gaps *g, const char *name, char spec[SPEC_MAX])
{
    struct filter_request w = g->options->filter;

    w.algorithm = name;
    w.memory = w.memory ? w.memory : MEMORY_DEFAULT;
    return request_spec(&w, NULL, NULL, spec) || reject("the options of the filter are too long");
}

/* ---- asking theory ---- */

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

static enum weir_status ask(struct gaps *g, const char *spec, struct weir_error *error)
{
    static struct weir_gap_prediction found;

    for (uint32_t i = 0; i < g->gaps; i++) {
        enum weir_status status =
            weir_predict_gap(&found, sizeof found, spec, &g->stream, (double)g->gap[i], error);

        if (status != WEIR_OK)
            return status;
        if (isnan(found.missed)) {
            snprintf(error->text, sizeof error->text,
                     "the model of %.*s does not tell misses by gap", (int)strcspn(spec, " "),
                     spec);
            return WEIR_UNSUPPORTED;
        }
        if (!make_room(g, found.classes + 1)) {
            snprintf(error->text, sizeof error->text, "memory is short");
            return WEIR_NO_MEMORY;
        }
        for (uint32_t c = 0; c <= found.classes; c++)
            if (c == 0 || (g->stream.important && found.class_share[c] > 0))
                add_row(g, &found, g->gap[i], c);
    }
    return WEIR_OK;
}

static bool ask_one(struct gaps *g)
{
    char spec[SPEC_MAX];
    struct weir_error error;

    return write_spec(g, g->options->filter.algorithm, spec) &&
           (ask(g, spec, &error) == WEIR_OK ||
            request_reject(&g->options->filter, WEIR_KIND_FILTER, spec, error.text));
}

/* Those with such parameters and a model. */
static bool ask_all(struct gaps *g)
{
    char spec[SPEC_MAX];
    struct weir_error error = {0};
    const struct weir_algorithm *about;

    for (size_t i = 0; (about = weir_algorithm_at(WEIR_KIND_FILTER, i)); i++) {
        if (about->traits & WEIR_FOR_TABLES)
            continue;
        if (!write_spec(g, about->name, spec))
            return false;
        if (ask(g, spec, &error) == WEIR_NO_MEMORY)
            return reject("%s", error.text);
    }
    return g->rows > 0 || reject("%s", error.text);
}

/* ---- the table ---- */

#define COLUMN(name, kind, member)                                                                 \
    {                                                                                              \
        name, COLUMN_##kind, offsetof(struct gap_row, member), false                               \
    }
#define REST(name, kind, member)                                                                   \
    {                                                                                              \
        name, COLUMN_##kind, offsetof(struct gap_row, member), true                                \
    }

static bool print(const struct gaps *g)
{
    static const struct table_column columns[] = {
        COLUMN("algorithm", CHARS, name),      REST("settings", CHARS, settings),
        COLUMN("memory_bytes", BYTES, memory), COLUMN("gap", COUNT, gap),
        COLUMN("class", CHARS, class),         REST("share", RATE, share),
        COLUMN("missed", RATE, missed),        {NULL},
    };
    struct table table = {columns, g->row, sizeof *g->row, g->rows};

    return table_print(&table, g->options->format);
}

int plan_gap(const struct options *o)
{
    struct gaps g = {.options = o};
    bool ok = check(o) && read_gaps(&g) && plan_stream(o, &g.stream) && fit_stream(&g) &&
              (o->filter.algorithm ? ask_one(&g) : ask_all(&g)) && print(&g);

    free(g.row);
    return ok ? EXIT_FINE : EXIT_ERROR;
}
