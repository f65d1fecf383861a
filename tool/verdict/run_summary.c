/* run_summary.c - the summary of a run: --stats text, --stats json and --metrics. Every kind of
 * verdict adds its own figures (struct verdict_summary in verdict.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "cli/units.h"
#include "verdict/verdict.h"

/* ---- figures of a filter or screen ---- */

void figures_report(const struct summary_figures *f)
{
    char shards[24] = "";

    if (f->shards > 1)
        snprintf(shards, sizeof shards, " in %u shards", f->shards);
    fprintf(stderr, "weir: %s %s%s, %.1f %% full; false-positive rate %s\n", f->what, f->spec,
            shards, f->fill * 100, show_chance(f->error).text);
}

json_t *figures_describe(const struct summary_figures *f)
{
    json_t *all = json_pack("{s:s}", "config", f->spec);

    if (f->shards)
        json_object_set_new(all, "shards", json_integer(f->shards));
    json_object_set_new(all, "memory", json_integer((json_int_t)f->memory));
    json_object_set_new(all, "fill", json_real(f->fill));
    json_object_set_new(all, "error", json_real(f->error));
    return all;
}

/* ---- text ---- */

static void report_late(const struct tally *t)
{
    if (t->late)
        fprintf(stderr, "weir: %llu %s late, the latest by %s\n", (unsigned long long)t->late,
                t->late == 1 ? "record was" : "records were",
                show_duration((double)t->most_late / 1000).text);
}

static void report_new_and_seen(const struct tally *t)
{
    double share = t->records ? 100.0 * (double)t->seen / (double)t->records : 0;

    fprintf(stderr, ": %llu new, %llu seen (%.2f %%)", (unsigned long long)(t->records - t->seen),
            (unsigned long long)t->seen, share);
}

static void report_counts(const struct verdict *v, const struct tally *t)
{
    const struct verdict_summary *own = v->summary;

    fprintf(stderr, "weir: %llu records", (unsigned long long)t->records);
    if (own->report_counts)
        own->report_counts(v->context, t);
    else
        report_new_and_seen(t);
    if (t->skipped)
        fprintf(stderr, ", %llu malformed and skipped", (unsigned long long)t->skipped);
    if (t->unparsed)
        fprintf(stderr, ", %llu values not parsed by --key-as", (unsigned long long)t->unparsed);
}

/* One line. */
static void report_briefly(const struct verdict *v, const struct tally *t)
{
    report_counts(v, t);
    fprintf(stderr, " in %.2f s", t->seconds);
    if (v->summary->brief)
        v->summary->brief(v->context);
    if (v->fill)
        fprintf(stderr, "; %s %.1f %% full", v->filled, v->fill(v->context) * 100);
    if (v->error)
        fprintf(stderr, "%s false-positive rate %s", v->fill ? "," : ";",
                show_chance(v->error(v->context).error).text);
    fputc('\n', stderr);
}

static void report(const struct verdict *v, const struct tally *t)
{
    const struct verdict_summary *own = v->summary;
    double seconds = t->seconds + 1e-9;

    report_counts(v, t);
    fprintf(stderr, "; %s in %.2f s: %s records/s", show_bytes((double)t->bytes).text, t->seconds,
            show_count((double)t->records / seconds).text);
    if (own->rates_both)
        fprintf(stderr, ", %s/s", show_bytes((double)t->bytes / seconds).text);
    fputc('\n', stderr);
    if (own->passes)
        report_late(t);
    own->report(v->context, t);
}

/* ---- JSON ---- */

/* `own` is freed. */
static bool add_members(json_t *all, json_t *own)
{
    bool added = own && json_object_update(all, own) == 0;

    json_decref(own);
    return added;
}

static json_t *describe_new_and_seen(const struct tally *t)
{
    return json_pack("{s:I,s:I}", "new", (json_int_t)(t->records - t->seen), "seen",
                     (json_int_t)t->seen);
}

static json_t *describe_passed(const struct tally *t)
{
    return json_pack("{s:I}", "passed", (json_int_t)t->passed);
}

static json_t *describe_input(const struct tally *t)
{
    return json_pack("{s:I,s:I,s:I,s:f}", "skipped", (json_int_t)t->skipped, "unparsed",
                     (json_int_t)t->unparsed, "bytes", (json_int_t)t->bytes, "seconds", t->seconds);
}

static json_t *describe_late(const struct tally *t)
{
    return json_pack("{s:I,s:f}", "late", (json_int_t)t->late, "latest",
                     (double)t->most_late / 1000);
}

/* NULL: out of memory. */
static json_t *describe(const struct verdict *v, const struct tally *t)
{
    const struct verdict_summary *own = v->summary;
    json_t *all = json_pack("{s:I}", "records", (json_int_t)t->records);

    if (all &&
        add_members(all, own->describe_counts ? own->describe_counts(v->context, t)
                                              : describe_new_and_seen(t)) &&
        (!own->passes || add_members(all, describe_passed(t))) &&
        add_members(all, describe_input(t)) &&
        (!own->passes || add_members(all, describe_late(t))) &&
        add_members(all, own->describe(v->context, t)))
        return all;
    json_decref(all);
    return NULL;
}

void verdict_report(const struct verdict *v, const struct tally *t, enum stats_style style)
{
    json_t *all = style == STATS_JSON ? describe(v, t) : NULL;
    char *text = json_text(all, JSON_REAL_PRECISION(6));

    if (style == STATS_TEXT)
        report(v, t);
    if (style == STATS_LINE)
        report_briefly(v, t);
    if (text)
        fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(all);
}

/* ---- metrics: the figures of --stats json. One that is missing from the table is exported too,
 * under its own name and with a generic help text. ---- */

static const struct figure {
    const char *path; /* name within the description; dots between names */
    const char *metric, *type, *help;
} figures[] = {
    {"records", "records_total", "counter", "Records judged"},
    {"new", "new_total", "counter", "Records whose key was not seen before"},
    {"seen", "seen_total", "counter", "Records whose key was seen before, or is in the set"},
    {"members", "members_total", "counter", "Records whose key is in the store"},
    {"others", "others_total", "counter", "Records whose key is not in the store"},
    {"unanswered", "unanswered_total", "counter", "Records for which the store had no answer"},
    {"passed", "passed_total", "counter", "Records written to the output"},
    {"skipped", "skipped_total", "counter", "Malformed records that were left out"},
    {"unparsed", "unparsed_total", "counter", "Values that --key-as could not parse"},
    {"late", "late_total", "counter", "Records older than one before them"},
    {"latest", "latest_seconds", "gauge", "Maximum lateness"},
    {"bytes", "read_bytes_total", "counter", "Bytes read"},
    {"seconds", "run_seconds", "gauge", "Time since the run began"},
    {"asked", "asked_total", "counter", "Records for which the store was needed"},
    {"saved", "saved_total", "counter", "Records for which the store was not needed"},
    {"filter.shards", "filter_shards", "gauge", "Shards of the filter"},
    {"filter.memory", "filter_memory_bytes", "gauge", "Memory of the filter"},
    {"filter.fill", "filter_fill_ratio", "gauge", "How full the filter is"},
    {"filter.error", "filter_error_ratio", "gauge", "False-positive rate"},
    {"filter.lost", "filter_lost", "gauge",
     "Keys evicted before the end of window= or span=, for lack of memory"},
    {"filter.overflow", "filter_overflow_total", "counter",
     "Keys that a full filter had no space for"},
    {"filter.keys", "filter_keys", "gauge", "Distinct keys observed, estimated"},
    {"filter.capacity", "filter_capacity_keys", "gauge", "Distinct keys that the filter can hold"},
    {"filter.evicted", "filter_evicted_keys", "gauge",
     "Distinct keys observed that the filter no longer holds, estimated"},
    {"filter.needed_memory", "filter_needed_memory_bytes", "gauge",
     "Memory that would have been enough for the records so far; 0 if the filter is large enough"},
    {"filter.records_after_eviction", "records_after_eviction_total", "counter",
     "Records since more than 1 % of the distinct keys were evicted"},
    {"filter.config", "filter_config_info", "gauge", "Specification of the filter"},
    {"screen.config", "screen_config_info", "gauge", "Specification of the screen"},
    {"set", "set_info", "gauge", "What holds the keys of a strict screen"},
    {"store.name", "store_name_info", "gauge", "Address of the store"},
    {"servers.name", "servers_name_info", "gauge", "Address of the servers"},
    {"servers.commands", "servers_commands", "gauge", "Commands sent to the servers"},
    {"servers.retries", "servers_retries", "gauge", "Commands that were sent again"},
    {"servers.redirections", "servers_redirections", "gauge",
     "Commands that a cluster redirected to another server"},
    {"servers.reconnects", "servers_reconnects", "gauge", "Connections opened again"},
    {"servers.lost", "servers_lost", "gauge",
     "Shards that were gone from the servers and were created again"},
    {"answers", "answers", "gauge", "Answers that a filter has a record"},
    {"expected_false", "expected_false", "gauge", "False ones among these answers, expected"},
    {"screen.memory", "screen_memory_bytes", "gauge", "Memory of the screen"},
    {"screen.fill", "screen_fill_ratio", "gauge", "How full the screen is"},
    {"screen.error", "screen_error_ratio", "gauge", "False-positive rate of the screen"},
    {"loading.keys", "loaded_keys", "gauge", "Keys of the store loaded before the run"},
    {"loading.seconds", "loading_seconds", "gauge", "Time of loading them"},
    {"store.calls", "store_calls_total", "counter", "Calls of the store"},
    {"store.keys", "store_keys_total", "counter", "Keys that the store was asked for"},
    {"store.retries", "store_retries_total", "counter", "Calls of the store that were repeated"},
    {"store.seconds", "store_seconds_total", "counter", "Time spent waiting for the store"},
    {"store.share", "store_time_ratio", "gauge", "Share of the time spent waiting for the store"},
};

#define PATH_MOST 96
#define METRIC_MOST (PATH_MOST + 8)

static void put_label(FILE *out, const char *name, const char *value)
{
    fprintf(out, "%s=\"", name);
    for (; *value; value++) {
        if (*value == '\\' || *value == '"')
            fputc('\\', out);
        if (*value == '\n')
            fputs("\\n", out);
        else
            fputc(*value, out);
    }
    fputc('"', out);
}

static struct figure find_figure(const char *path, const char *suffix, char metric[METRIC_MOST])
{
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strcmp(figures[i].path, path) == 0)
            return figures[i];
    snprintf(metric, METRIC_MOST, "%s%s", path, suffix);
    for (char *c = metric; *c; c++)
        *c = *c == '.' ? '_' : *c;
    return (struct figure){path, metric, "gauge", "Figure of the same name in --stats json"};
}

/* The head of a metric, and its sample up to the labels. */
static void put_sample(FILE *out, const struct figure *f, const char *run)
{
    fprintf(out, "# HELP weir_%s %s.\n# TYPE weir_%s %s\nweir_%s{", f->metric, f->help, f->metric,
            f->type, f->metric);
    put_label(out, "run", run);
}

static void put_number(FILE *out, const char *path, const json_t *value, const char *run)
{
    char metric[METRIC_MOST];
    struct figure f = find_figure(path, "", metric);

    put_sample(out, &f, run);
    fprintf(out, json_is_integer(value) ? "} %.0f\n" : "} %.9g\n", json_number_value(value));
}

/* A text is a label of a sample that is always 1. */
static void put_text(FILE *out, const char *path, const json_t *value, const char *run)
{
    char metric[METRIC_MOST];
    struct figure f = find_figure(path, "_info", metric);
    const char *name = strrchr(path, '.');

    put_sample(out, &f, run);
    fputc(',', out);
    put_label(out, name ? name + 1 : path, json_string_value(value));
    fputs("} 1\n", out);
}

/* Lists, as of several filters, are left to --stats json. */
static void put_object(FILE *out, const char *above, json_t *object, const char *run)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        char path[PATH_MOST];

        snprintf(path, sizeof path, "%s%s%s", above, *above ? "." : "", name);
        if (json_is_object(value) && !*above)
            put_object(out, name, value, run);
        else if (json_is_number(value))
            put_number(out, path, value, run);
        else if (json_is_string(value))
            put_text(out, path, value, run);
    }
}

static void put_own(FILE *out, bool ended, const char *run)
{
    const struct figure updated = {NULL, "updated_timestamp_seconds", "gauge",
                                   "When these figures were written"};
    const struct figure end = {NULL, "run_ended", "gauge", "Whether the run has ended"};

    put_sample(out, &updated, run);
    fprintf(out, "} %.3f\n", (double)time_of_day() / 1000);
    put_sample(out, &end, run);
    fprintf(out, "} %d\n", ended);
}

char *metrics_text(const struct verdict *v, const struct tally *t, const char *run, bool ended,
                   size_t *size)
{
    json_t *all = describe(v, t);
    char *text = NULL;
    FILE *out = all ? open_memstream(&text, size) : NULL;

    if (out) {
        put_object(out, "", all, run);
        put_own(out, ended, run);
        if (fclose(out) != 0) {
            free(text);
            text = NULL;
        }
    }
    json_decref(all);
    return text;
}
