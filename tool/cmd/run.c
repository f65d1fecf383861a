/* run.c - see run.h. */
#include "cmd/running.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/messages.h"
#include "cmd/commands.h"
#include "cli/print.h"
#include "cli/signals.h"
#include "cli/units.h"
#include "state/files.h"

#define WARN_AFTER 30.0 /* seconds that a filter may be full before the warning */

/* If opened by name, a file behind standard output would be truncated, even with >>. */
static bool is_standard_output(const char *path)
{
    return path && (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0);
}

struct run run_asked(const struct options *o, int from)
{
    struct run r = {.command = o->command,
                    .inputs = options_inputs(o, from),
                    .records = o->records,
                    .verbosity = o->verbosity,
                    .threads = o->threads,
                    .on_full = o->on_full,
                    .output = o->output};

    if (is_standard_output(r.output.path))
        r.output.path = NULL;
    return r;
}

struct run run_continued(const struct options *o, const char *keys, const struct state *before)
{
    struct run r = run_asked(o, 0);

    r.save = o->state.path;
    r.state = o->state;
    r.keys = keys;
    r.resume = o->state.resume ? before : NULL;
    r.remembers = before;
    r.clock = before ? before->clock : 0;
    return r;
}

/* The first regular file, or NULL. */
static const char *regular_file(const struct inputs *in)
{
    struct stat st;

    for (uint32_t i = 0; i < in->count; i++)
        if (stat(in->file[i], &st) == 0 && S_ISREG(st.st_mode))
            return in->file[i];
    return in->count == 0 && fstat(0, &st) == 0 && S_ISREG(st.st_mode) ? input_name("-") : NULL;
}

void run_tell_clock(const struct run *r, const char *what)
{
    const char *file =
        r->verbosity.quiet || r->records.time.field ? NULL : regular_file(&r->inputs);

    if (r->records.time.span && file)
        note("%s uses the clock of this machine, not the times in %s; to use those, add --time "
             "FIELD",
             what, file);
}

/* ---- the sink ---- */

static bool pass_header(struct running *r)
{
    const struct reader *reader = &r->source.reader;
    bool ok = true;

    for (uint32_t i = 0; i < r->writers && ok && reader->header && !r->source.refused_header; i++)
        ok = write_header(&r->writer[i], reader->header, reader->header_size);
    return ok;
}

/* Warn once: during the run, or at the end of a short run, with the figures of all of it. */
static void tell_past(struct running *r)
{
    char why[VERDICT_MESSAGE];

    if (r->told || r->run->verbosity.quiet)
        return;
    r->told = true;
    r->run->verdict.tell_past(r->run->verdict.context, why);
    progress_clear(&r->progress);
    note("%s", why);
}

static bool look_if_past(struct running *r, bool last)
{
    const struct verdict *v = &r->run->verdict;

    if (!v->is_past || !v->is_past(v->context, last))
        return false;
    if (r->past_since == 0)
        r->past_since = now();
    return true;
}

static bool is_to_stop(const struct running *r)
{
    return r->past_since > 0 && r->run->on_full == FULL_STOPS;
}

/* All records that were read are written and in the state; nothing more is read. */
static bool stop_full(struct running *r)
{
    char why[VERDICT_MESSAGE];

    r->run->verdict.tell_past(r->run->verdict.context, why);
    r->told = r->pipe.failed = true;
    snprintf(r->pipe.failure, sizeof r->pipe.failure, "stopped: %s", why);
    return false;
}

static bool take(void *context, struct batch *b)
{
    struct running *r = context;

    b->first = audit_next(&r->audit);
    if (!pass_header(r))
        return false;
    for (uint32_t i = 0; i < r->writers; i++)
        if (!write_batch(&r->writer[i], b) || !write_flush(&r->writer[i]))
            return false;
    audit_batch(&r->audit, b, r->writer[0].passes);
    if (r->run->is_list && !r->run->records.cidr)
        networks_count(&r->networks, b);
    r->unsaved += b->n;
    if (b->input.name)
        r->position = read_behind(b);
    if (!r->told && look_if_past(r, false) && !is_to_stop(r) && now() - r->past_since >= WARN_AFTER)
        tell_past(r);
    return true;
}

/* ---- between batches ---- */

static bool wants_rest(void *context)
{
    return is_to_stop(context) || run_wants_checkpoint(context) || run_wants_metrics(context) ||
           signals_reopen();
}

static bool rest(void *context)
{
    struct running *r = context;

    if (is_to_stop(r))
        return stop_full(r);
    if (signals_reopen() && !run_reopen(r))
        return false;
    if (run_wants_checkpoint(r) && !run_checkpoint(r))
        return false;
    if (run_wants_metrics(r))
        run_write_metrics(r, false);
    return true;
}

/* ---- the end ---- */

/* The output that failed, or NULL. */
static const struct writer *find_failed(const struct running *r)
{
    for (uint32_t i = 0; i < r->writers; i++)
        if (r->writer[i].error)
            return &r->writer[i];
    return NULL;
}

static int report_failed(const struct writer *w)
{
    if (w->error == EPIPE)
        signals_obey(SIGPIPE);
    return fail("cannot write %s: %s", w->name, strerror(w->error));
}

static void close_outputs(struct running *r)
{
    for (uint32_t i = 0; i < r->writers; i++)
        write_close(&r->writer[i]);
}

static bool print_count(struct running *r)
{
    struct writer *w = &r->writer[0];
    char text[24];

    if (!r->run->output.count_only)
        return true;
    return write_text(
               w, text,
               (size_t)snprintf(text, sizeof text, "%llu\n", (unsigned long long)w->passed)) &&
           write_flush(w);
}

static void tell_unfinished(const struct running *r)
{
    const struct reader *in = &r->source.reader;

    if (r->run->verbosity.quiet)
        return;
    if (in->again)
        note("the last line of the previous run was incomplete; it was read again from its start");
    if (in->left)
        note("%s: the last line has no line break yet; it is left for the next run",
             input_name(in->name));
}

/* Slightly late records are normal. Lateness above the span indicates files in the wrong order, as
 * access.log* lists them. The report counts every late record. */
static void tell_late(const struct running *r)
{
    const struct tally *t = &r->pipe.tally;

    if (!r->run->verbosity.quiet && t->most_late > r->run->records.time.span)
        note("%llu %s late, the latest by %s: judged at the newest time before them; list files "
             "from the oldest to the newest, or use --lateness to reject such records",
             (unsigned long long)t->late, t->late == 1 ? "record was" : "records were",
             show_duration((double)t->most_late / 1000).text);
}

/* Written records are in the state, even if something else failed. A filter file is replaced
 * completely or not at all. */
bool run_is_to_be_saved(const struct running *r)
{
    const struct tally *t = &r->pipe.tally;
    bool nothing = t->records == 0 && (r->pipe.failed || !r->source.reader.name);

    if (!r->run->save)
        return false;
    return r->run->state.path ? !nothing || r->run->save_anyway
                              : !r->pipe.failed && !signals_caught();
}

static int finish(struct running *r)
{
    struct tally *t = &r->pipe.tally;
    bool save_failed = false;

    progress_clear(&r->progress);
    if (!r->pipe.failed && look_if_past(r, true) && is_to_stop(r))
        stop_full(r);
    r->ended = true;
    if (!find_failed(r) && pass_header(r) && print_count(r) &&
        (run_is_to_be_saved(r) || r->audit.path))
        save_failed = !run_save(r);
    close_outputs(r);
    if (find_failed(r))
        return report_failed(find_failed(r));
    tell_unfinished(r);
    tell_late(r);
    if (!r->run->verbosity.quiet)
        networks_report(&r->networks,
                        strcmp(r->run->command, "add") == 0 ? "'weir build --cidr'" : "--cidr");
    if (r->past_since > 0 && !save_failed) /* the first message has the reason */
        tell_past(r);
    tell_skipped(t, &r->run->verbosity, r->source.reader.count > 1);
    t->passed = r->writer[0].passed;
    t->seconds = now() - r->progress.started;
    if (r->run->verbosity.metrics)
        run_write_metrics(r, true);
    if (r->pipe.failed && *r->pipe.failure)
        fail("%s", r->pipe.failure);
    if (!save_failed || signals_caught())
        verdict_report(&r->run->verdict, t, stats_style(&r->run->verbosity));
    return r->pipe.failed ? EXIT_ERROR : EXIT_FINE;
}

static bool are_records(const struct run *given)
{
    return given->records.plain || files_hold_records(given->command, &given->inputs);
}

/* Keys that were sent to servers cannot be removed: also a run that is killed at once leaves a
 * state that records it. */
static bool save_first(struct running *r)
{
    if (!r->run->save_anyway || run_save(r))
        return true;
    if (find_failed(r))
        report_failed(find_failed(r));
    return false;
}

int run(const struct run *given, struct tally *tally)
{
    struct running *r = calloc(1, sizeof *r);
    struct sink sink = {.context = r, .take = take, .wants_rest = wants_rest, .rest = rest};
    int status = EXIT_ERROR;

    if (!r)
        return fail("out of memory");
    r->run = given;
    if (signals_watch() && are_records(given) && run_open(r, sink) && save_first(r) &&
        pipe_run(&r->pipe))
        status = finish(r);
    if (tally)
        *tally = r->pipe.tally;
    close_outputs(r);
    audit_close(&r->audit);
    source_close(&r->source);
    free(r);
    return status;
}

int run_filter(struct run *r, struct filtering filtering, const struct filter_request *wanted,
               bool loaded)
{
    static struct watch watch;
    bool watched = !r->verbosity.quiet || r->on_full == FULL_STOPS || r->verbosity.metrics ||
                   r->output.audit || r->verbosity.stats == STATS_JSON;

    if (watched && !watch_open(&watch, filtering.shards, wanted, loaded))
        return fail("out of memory");
    filtering.watch = watched ? &watch : NULL;
    r->verdict = r->parts ? verdict_by_parts(r->parts, &filtering) : verdict_by_filter(&filtering);
    int status = run(r, NULL);
    if (watched)
        watch_close(&watch);
    return status;
}

int run_into(const struct run *given, struct sink sink)
{
    struct file_source source;
    struct pipe pipe = {
        .source = source_of_files(&source), .sink = sink, .threads = given->threads};
    bool ok;

    if (!signals_watch() || !are_records(given))
        return EXIT_ERROR;
    ok = source_open(&source, &given->records, given->inputs, given->command,
                     given->verbosity.quiet);
    if (sink.look)
        source_hurry(&source);
    pipe.clock = source_clock(&source);
    ok = ok && pipe_run(&pipe) && !pipe.failed;
    tell_skipped(&pipe.tally, &given->verbosity, given->inputs.count > 1);
    if (pipe.tally.late && !given->verbosity.quiet)
        note("%llu %s late, the latest by %s; they are counted at the newest time before them",
             (unsigned long long)pipe.tally.late,
             pipe.tally.late == 1 ? "record was" : "records were",
             show_duration((double)pipe.tally.most_late / 1000).text);
    if (pipe.failed && *pipe.failure)
        fail("%s", pipe.failure);
    source_close(&source);
    return ok ? EXIT_FINE : EXIT_ERROR;
}

int run_keep_counts(const char *path, const weir_sketch *sketch, int status)
{
    if (!path || status != EXIT_FINE)
        return status;
    return print_flush() && file_save_sketch(path, sketch) ? EXIT_FINE : EXIT_ERROR;
}
