/* run.c - see run.h. */
#include "cmd/run.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/messages.h"
#include "cmd/refuse_files.h"
#include "cli/print.h"
#include "cli/signals.h"
#include "cli/units.h"
#include "pipe/write.h"
#include "state/files.h"
#include "state/place.h"
#include "state/replace.h"
#include "state/resume.h"
#include "verdict/metrics.h"

#define TOLD_AFTER                                                                                 \
    30.0 /* seconds that a filter may be full before it is told, unless the run ends */
#define SAVING_SHARE 0.1 /* of the time may go into checkpoints, at most; a guess */
#define METRICS_EVERY 15 /* seconds: as often as Prometheus looks, by default */

struct running {
    const struct run *run;
    struct pipe pipe;
    struct file_source source;
    struct writer writer;
    struct progress progress;
    bool headed; /* the output has its header, or is to have none */

    struct position position; /* behind the last record written; where a failed run ends */
    uint64_t unsaved;         /* records since the last checkpoint */
    double next_save;
    double next_metrics;
    bool metrics_failed; /* that was told */

    double past_since; /* the filter is full; 0: it is not */
    bool told;         /* and that was said */
};

/* Opened by its name, a file behind standard output would be emptied, even with >>. */
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

/* The first file that is one, or NULL. */
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
        note("%s goes by the clock of this machine, not by the times in %s; --time FIELD goes by "
             "those",
             what, file);
}

/* ---- the sink ---- */

static bool pass_header(struct running *r)
{
    const struct reader *reader = &r->source.reader;

    if (!reader->header || r->headed || r->source.refused_header)
        return true;
    r->headed = true;
    return write_header(&r->writer, reader->header, reader->header_size);
}

/* Said once: with the figures of the whole run where it ends soon, else while it goes on. */
static void tell_past(struct running *r)
{
    char why[VERDICT_SENTENCE];

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

/* What was read is written and in the state; nothing more is read. */
static bool stop_full(struct running *r)
{
    char why[VERDICT_SENTENCE];

    r->run->verdict.tell_past(r->run->verdict.context, why);
    r->told = r->pipe.failed = true;
    snprintf(r->pipe.failure, sizeof r->pipe.failure, "stopped: %s", why);
    return false;
}

static bool take(void *context, struct batch *b)
{
    struct running *r = context;

    if (!pass_header(r) || !write_batch(&r->writer, b) || !write_flush(&r->writer))
        return false;
    r->unsaved += b->n;
    if (b->name)
        r->position = read_behind(b);
    if (!r->told && look_if_past(r, false) && !is_to_stop(r) && now() - r->past_since >= TOLD_AFTER)
        tell_past(r);
    return true;
}

static bool wants_checkpoint(void *context)
{
    const struct running *r = context;
    const struct state_options *s = &r->run->state;

    return s->path && r->unsaved > 0 &&
           ((s->records && r->unsaved >= s->records) || (s->seconds > 0 && now() >= r->next_save));
}

/* Can the output be cut to its length now? Only a file can. */
static bool find_cut(struct running *r, struct state *s)
{
    struct stat st;

    s->output = r->writer.bytes;
    if (!r->run->output.path)
        return true;
    if (fstat(r->writer.fd, &st) != 0)
        return reject("cannot save %s: %s cannot be looked at: %s", r->run->save, r->writer.name,
                      strerror(errno));
    s->cut = S_ISREG(st.st_mode);
    return true;
}

/* What a state file says of this moment, when no batch is under way. */
static bool describe(struct running *r, struct state *s)
{
    const struct verdict *v = &r->run->verdict;
    struct position position = r->pipe.failed ? r->position : read_position(&r->source.reader);
    const char *file = r->source.reader.files[position.file];

    memset(s, 0, sizeof *s);
    snprintf(s->config, sizeof s->config, "%s", v->config);
    snprintf(s->records, sizeof s->records, "%s", r->run->keys);
    state_set_input(s, v->hash, file, &position);
    if (source_clock(&r->source) && r->source.clock.now != NO_TIME)
        s->clock = r->source.clock.now;
    return find_cut(r, s);
}

static bool save(struct running *r)
{
    static struct state state; /* large, and only one is saved at a time */
    static char note[NOTE_MAX];
    const struct verdict *v = &r->run->verdict;
    bool saved = true;

    if (!write_sync(&r->writer))
        return false;
    if (!r->run->state.path)
        snprintf(note, sizeof note, "%s", r->run->note ? r->run->note : "");
    else if ((saved = describe(r, &state)))
        state_write(&state, note);
    saved = saved && v->save(v->context, r->run->save, note);
    r->pipe.failed |= !saved;
    return saved;
}

static bool make_checkpoint(struct running *r)
{
    double began = now(), took;

    if (!save(r))
        return false;
    took = now() - began;
    r->unsaved = 0;
    r->next_save = now() + fmax(took / SAVING_SHARE, r->run->state.seconds);
    return true;
}

/* ---- metrics ---- */

/* The run is called as the file is, without what stands behind a point. */
static void name_run(const char *path, char name[64])
{
    const char *slash = strrchr(path, '/');

    snprintf(name, 64, "%s", slash ? slash + 1 : path);
    char *point = strrchr(name, '.');
    if (point && point > name)
        *point = '\0';
}

/* While no batch is under way: the filter is looked at. False if the file cannot be
 * written; that ends a run only where it begins. */
static bool write_metrics(struct running *r, bool ended)
{
    const char *path = r->run->verbosity.metrics;
    struct tally t = r->pipe.tally;
    double began = now();
    char name[64];
    size_t size = 0;

    name_run(path, name);
    t.passed = r->writer.passed;
    t.seconds = began - r->progress.started;
    char *text = metrics_text(&r->run->verdict, &t, name, ended, &size);
    bool ok = text && replace_text(path, text, size);
    if (!ok && !r->metrics_failed)
        note("cannot write %s: %s", path, text ? strerror(errno) : "memory is short");
    r->metrics_failed |= !ok;
    free(text);
    r->next_metrics = now() + fmax((now() - began) / SAVING_SHARE, METRICS_EVERY);
    return ok;
}

/* ---- between batches ---- */

static bool wants_metrics(const struct running *r)
{
    return r->run->verbosity.metrics && now() >= r->next_metrics;
}

static bool wants_rest(void *context)
{
    return is_to_stop(context) || wants_checkpoint(context) || wants_metrics(context);
}

static bool rest(void *context)
{
    struct running *r = context;

    if (is_to_stop(r))
        return stop_full(r);
    if (wants_checkpoint(r) && !make_checkpoint(r))
        return false;
    if (wants_metrics(r))
        write_metrics(r, false);
    return true;
}

/* ---- opening ---- */

/* The file of metrics is replaced: it can be no other. */
static bool spares_files(const struct run *run, const struct reader *in)
{
    const char *path = run->verbosity.metrics;
    struct stat st;

    if ((run->output.path && place_same(path, run->output.path)) ||
        (run->save && place_same(path, run->save)))
        return reject("%s cannot be output or state and --metrics at once; name two files", path);
    return stat(path, &st) != 0 || !S_ISREG(st.st_mode) || !inputs_hold(in->files, in->count, &st);
}

/* An output that is an input too would be emptied, or never end; a filter saved
 * there would replace it. */
static bool spares_inputs(const struct running *r)
{
    const struct run *run = r->run;
    const char *path = run->output.path;
    const struct reader *in = &r->source.reader;
    struct stat out;

    if (!run->output.mute && (path ? stat(path, &out) : fstat(1, &out)) == 0 &&
        S_ISREG(out.st_mode) && inputs_hold(in->files, in->count, &out))
        return false;
    if (run->verbosity.metrics && !spares_files(run, in))
        return false;
    if (run->state.path && path && place_same(path, run->save))
        return reject("%s cannot be output and state at once; name two files", path);
    return !run->save || stat(run->save, &out) != 0 || !S_ISREG(out.st_mode) ||
           !inputs_hold(in->files, in->count, &out);
}

static bool resume(struct running *r)
{
    const struct state *s = r->run->resume;
    static struct resumed found;
    struct batch *scratch;
    bool ok;

    r->source.reader.follows = r->run->state.path && r->run->state.resume;
    if (!s)
        return true;
    if (!resume_find(&found, r->run->save, s, r->run->verdict.hash, &r->run->inputs,
                     (struct resume_rules){r->run->records.plain, r->run->verbosity.quiet}))
        return false;
    scratch = batch_open(1);
    if (!scratch)
        return reject("memory is short");
    batch_reset(scratch);
    ok = read_seek(&r->source.reader, &found.position, *found.older ? found.older : NULL, scratch);
    if (!ok)
        fail("%s", scratch->failure);
    batch_close(scratch);
    r->position = s->position;
    r->progress.start = s->position.offset;
    r->headed = s->position.file > 0 || s->position.offset > 0;
    if (!ok || !r->run->output.path)
        return ok;
    if (!s->cut) /* the state knows nothing of this file: it is written anew */
        r->headed = false;
    return write_cut(&r->writer, s->cut ? s->output : 0);
}

static bool open_output(struct running *r)
{
    const struct run *run = r->run;
    const struct records *records = &run->records;
    bool fields = records->format == FORMAT_CSV || records->format == FORMAT_DELIMITED;
    bool keyless = records->missing == MISSING_PASSES;
    uint8_t passes = (uint8_t)(run->passes | (keyless ? 1u << VERDICT_KEYLESS : 0));

    if (!spares_inputs(r) || (run->save && !replace_possible(run->save)) ||
        !write_open(&r->writer, &run->output, passes, run->resume))
        return false;
    r->writer.words = run->verdict.words;
    r->writer.joint = fields ? records->delimiter : '\t';
    return true;
}

static bool open_stages(struct running *r)
{
    const struct run *run = r->run;

    if (!source_open(&r->source, &run->records, run->inputs, run->command, run->verbosity.quiet) ||
        !open_output(r))
        return false;
    progress_open(&r->progress, run->verbosity.quiet, r->source.reader.total);
    r->progress.seen = run->verdict.seen;
    r->progress.filled = run->verdict.filled;
    if (run->state.path || r->progress.bar || run->threads > 1 || run->verbosity.metrics)
        source_hurry(&r->source);
    if (source_clock(&r->source))
        source_set_clock(&r->source, run->clock ? run->clock : NO_TIME,
                         run->output.emit == EMIT_ALL || run->output.answers);
    r->source.reader.linger = run->linger;
    r->next_save = now() + run->state.seconds;
    r->pipe =
        (struct pipe){.source = source_of_files(&r->source),
                      .clock = source_clock(&r->source),
                      .verdict = run->verdict,
                      .sink = {.context = r, .take = take, .wants_rest = wants_rest, .rest = rest},
                      .threads = run->threads,
                      .progress = &r->progress};
    return resume(r) && (!run->verbosity.metrics || write_metrics(r, false));
}

/* ---- the end ---- */

static int refuse_output(const struct running *r)
{
    if (r->writer.error == EPIPE)
        signals_obey(SIGPIPE);
    return fail("cannot write %s: %s", r->writer.name, strerror(r->writer.error));
}

static bool print_count(struct running *r)
{
    char text[24];

    if (!r->run->output.count_only)
        return true;
    return write_text(&r->writer, text,
                      (size_t)snprintf(text, sizeof text, "%llu\n",
                                       (unsigned long long)r->writer.passed)) &&
           write_flush(&r->writer);
}

static void tell_unfinished(const struct running *r)
{
    const struct reader *in = &r->source.reader;

    if (r->run->verbosity.quiet)
        return;
    if (in->again)
        note("the last line that was read before was not complete then; it was read again, whole");
    if (in->left)
        note("%s: the last line has no line break yet; it is left for the next run",
             input_name(in->name));
}

/* What is written is in the state, whatever else went wrong. A filter file is
 * replaced as a whole or not at all. */
static bool is_to_be_saved(const struct running *r)
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
    if (!r->writer.error && pass_header(r) && print_count(r) && is_to_be_saved(r))
        save_failed = !save(r);
    if (!write_close(&r->writer) || r->writer.error)
        return refuse_output(r);
    tell_unfinished(r);
    if (r->past_since > 0 && !save_failed) /* one sentence says why it failed */
        tell_past(r);
    tell_skipped(t, &r->run->verbosity, r->source.reader.count > 1);
    t->passed = r->writer.passed;
    t->seconds = now() - r->progress.started;
    if (r->run->verbosity.metrics)
        write_metrics(r, true);
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

int run(const struct run *given, struct tally *tally)
{
    struct running *r = calloc(1, sizeof *r);
    int status = EXIT_ERROR;

    if (!r || !signals_watch())
        return fail("the system is short of memory or files");
    r->run = given;
    if (are_records(given) && open_stages(r) && pipe_run(&r->pipe))
        status = finish(r);
    if (tally)
        *tally = r->pipe.tally;
    write_close(&r->writer);
    source_close(&r->source);
    free(r);
    return status;
}

int run_filter(struct run *r, struct filtering filtering, const char *fpr, bool loaded)
{
    static struct watch watch;
    bool watched = !r->verbosity.quiet || r->on_full == FULL_STOPS;

    if (watched && !watch_open(&watch, filtering.shards, fpr, loaded))
        return fail("memory is short");
    filtering.watch = watched ? &watch : NULL;
    r->verdict = verdict_by_filter(&filtering);
    int status = run(r, NULL);
    if (watched)
        watch_close(&watch);
    return status;
}

int run_into(const struct run *given, struct sink sink)
{
    struct file_source source;
    struct pipe pipe = {.source = source_of_files(&source), .sink = sink, .threads = 2};
    bool ok;

    if (!signals_watch())
        return fail("the system is short of memory or files");
    if (!are_records(given))
        return EXIT_ERROR;
    ok = source_open(&source, &given->records, given->inputs, given->command,
                     given->verbosity.quiet);
    if (sink.look)
        source_hurry(&source);
    pipe.clock = source_clock(&source);
    ok = ok && pipe_run(&pipe) && !pipe.failed;
    tell_skipped(&pipe.tally, &given->verbosity, given->inputs.count > 1);
    if (pipe.tally.late && !given->verbosity.quiet)
        note("%llu records were late, the latest by %s; they count as of when they came",
             (unsigned long long)pipe.tally.late,
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
