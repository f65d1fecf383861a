/* running.c - opens the stages of a run, skips the records that an earlier run processed, and saves
 * state and metrics (running.h). */
#include <string.h>
#include <sys/stat.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cmd/running.h"
#include "state/replace.h"
#include "state/state.h"
#include "verdict/verdict.h"

static bool resume(struct running *r)
{
    const struct state *s = r->run->resume;
    const char *path = r->run->output.path;
    struct resume_rules rules = {r->run->records.plain, r->run->verbosity.quiet, NULL};
    static struct resumed found;
    struct batch *scratch;
    struct stat output;
    bool ok;

    r->source.reader.follows = r->run->state.path && r->run->state.resume;
    if (!s)
        return true;
    rules.output = (path ? stat(path, &output) : fstat(1, &output)) == 0 ? &output : NULL;
    if (!resume_find(&found, r->run->save, s, r->run->verdict.hash, &r->run->inputs, rules))
        return false;
    scratch = batch_open();
    if (!scratch)
        return reject("out of memory");
    batch_reset(scratch);
    ok = read_seek(&r->source.reader, &found.position, *found.older ? found.older : NULL, scratch);
    if (!ok && !signals_caught())
        fail("%s", scratch->failure);
    batch_close(scratch);
    r->position = s->position;
    r->progress.start = s->position.offset;
    r->resumes = s->position.file > 0 || s->position.offset > 0;
    return ok;
}

/* An output that may be a file. */
struct output_file {
    const char *path, *name, *what;
    const struct state_output *saved; /* as the state has it, or NULL */
};

/* How many of its `size` bytes to keep: those of the state, all, or none. False after a message if
 * records would be lost that no run writes again. */
static bool find_length(const struct run *run, const struct output_file *f, uint64_t size,
                        uint64_t *length)
{
    const struct output *o = &run->output;
    const struct state_output *s = f->saved && f->saved->cut ? f->saved : NULL;
    bool same = false;

    *length = o->append ? size : 0;
    if (o->overwrite)
        return true;
    if (!s)
        return o->append || size == 0 || !run->remembers ||
               reject("%s: not empty, and records of earlier runs are not %s again; add "
                      "--append to keep the file, or --overwrite to replace it",
                      f->path, f->what);
    if (!state_same_output(f->path, run->verdict.hash, s, &same))
        return false;
    same |= size == 0 && s->length == 0;
    if (same && size >= s->length) {
        *length = s->length;
        return true;
    }
    if (o->append)
        return true;
    return same
               ? reject("%s has %llu bytes, but had %llu when %s was saved; restore the file, or "
                        "add --append or --overwrite",
                        f->path, (unsigned long long)size, (unsigned long long)s->length, run->save)
               : reject("%s is not the %s that %s was saved with; name that file, or add "
                        "--append or --overwrite",
                        f->path, f->name, run->save);
}

static bool look_at_file(const struct run *run, const struct output_file *f, uint64_t *length)
{
    struct stat st = {.st_mode = S_IFREG};

    return !f->path || (stat(f->path, &st) == 0 && !S_ISREG(st.st_mode)) ||
           find_length(run, f, (uint64_t)st.st_size, length);
}

static void describe_writer(const struct run *run, struct writer *w, uint64_t length)
{
    const struct records *records = &run->records;
    bool fields = records->format == FORMAT_CSV || records->format == FORMAT_DELIMITED;

    w->headed = length > 0;
    w->words = run->words ? run->words : run->verdict.words;
    w->records = records;
    w->joint = fields ? records->delimiter : '\t';
}

/* All options are checked before a file is changed. */
static bool open_outputs(struct running *r)
{
    const struct run *run = r->run;
    const struct output *o = &run->output;
    const struct state *s = run->resume;
    bool keyless = run->records.missing == MISSING_PASSES;
    uint8_t passes = (uint8_t)(run->passes | (keyless ? 1u << VERDICT_KEYLESS : 0));
    const struct output_file files[] = {
        {o->path, "output", "passed", s ? &s->output : NULL},
        {o->rejects, "file of rejects", "rejected", s ? &s->rejects : NULL}};
    uint64_t length[2] = {r->resumes, r->resumes}; /* not a file: its header is written */

    if (!look_at_file(run, &files[0], &length[0]) || !look_at_file(run, &files[1], &length[1]))
        return false;
    r->writers = 1;
    if (!write_open(&r->writer[0], o, passes, length[0]))
        return false;
    describe_writer(run, &r->writer[0], length[0]);
    if (!o->rejects)
        return true;
    r->writers = 2;
    if (!write_open_rejects(&r->writer[1], o, passes, length[1]))
        return false;
    describe_writer(run, &r->writer[1], length[1]);
    return true;
}

/* Do the options of rejects and audit fit the others, and the state? */
static bool check_outputs(const struct run *run)
{
    const struct output *o = &run->output;
    const struct state *s = run->resume;

    if (o->rejects_format != RECORDS_TEXT && !o->rejects)
        return reject("--rejects-format needs --rejects FILE");
    if (o->rejects && write_answers_all(o))
        return reject("--rejects: with %s no record is rejected; leave one of them out",
                      o->answers ? "--words" : "--emit all");
    if (o->rejects && (strcmp(o->rejects, "-") == 0 || strcmp(o->rejects, "/dev/stdout") == 0))
        return reject("--rejects %s: standard output has the other records; name a file",
                      o->rejects);
    if (o->audit && (strcmp(o->audit, "-") == 0 || strcmp(o->audit, "/dev/stdout") == 0))
        return reject("--audit %s: standard output has the records; name a file", o->audit);
    if (s && s->rejects.used && !o->rejects)
        return reject("%s was saved with --rejects; add --rejects FILE with the same file",
                      run->save);
    if (s && s->sums.audited && !o->audit)
        return reject("%s was saved with --audit; add --audit FILE with the same file", run->save);
    return true;
}

bool run_open(struct running *r, struct sink sink)
{
    const struct run *run = r->run;

    if (!check_outputs(run) ||
        !source_open(&r->source, &run->records, run->inputs, run->command, run->verbosity.quiet) ||
        (run->save && !run->is_index && !replace_possible(run->save)) ||
        (run->verbosity.metrics && !replace_spares(run->verbosity.metrics, REPLACES_METRICS)))
        return false;
    progress_open(&r->progress, run->verbosity.quiet || inputs_are_typed(&run->inputs),
                  r->source.reader.total);
    r->progress.seen = run->verdict.seen;
    r->progress.filled = run->verdict.filled;
    if (run->state.path || run->output.path || run->output.rejects || run->output.audit ||
        r->progress.bar || run->threads > 1 || run->verbosity.metrics)
        source_hurry(&r->source);
    if (source_clock(&r->source))
        source_set_clock(&r->source, run->clock ? run->clock : NO_TIME,
                         run->output.emit == EMIT_ALL || run->output.answers);
    r->source.reader.linger = run->linger;
    r->next_save = now() + run->state.seconds;
    r->pipe = (struct pipe){.source = source_of_files(&r->source),
                            .clock = source_clock(&r->source),
                            .verdict = run->verdict,
                            .sink = sink,
                            .threads = run->threads,
                            .progress = &r->progress};
    return resume(r) && open_outputs(r) &&
           audit_open(&r->audit, run, &r->source.reader, run->resume) &&
           (!run->verbosity.metrics || run_write_metrics(r, false));
}

/* ---- the files that a run saves between two batches and at its end: the state or filter file, and
 * metrics for Prometheus ---- */

#define SAVING_SHARE 0.1 /* of the time may go into checkpoints, at most; a guess */
#define METRICS_EVERY 15 /* seconds: the default scrape interval of Prometheus */

/* ---- the state ---- */

bool run_wants_checkpoint(const struct running *r)
{
    const struct state_options *s = &r->run->state;

    const struct verdict *v = &r->run->verdict;

    return s->path && r->unsaved > 0 &&
           ((v->wants_save && v->wants_save(v->context)) ||
            (s->records && r->unsaved >= s->records) || (s->seconds > 0 && now() >= r->next_save));
}

/* The length of an output; if it is a file, the next run can truncate it to this length. */
static bool describe_output(const struct running *r, const struct writer *w, const char *path,
                            struct state_output *o)
{
    struct stat st;

    o->used = true;
    o->length = w->bytes;
    if (!path)
        return true;
    bool looked = fstat(w->fd, &st) == 0;
    o->cut = looked && S_ISREG(st.st_mode);
    if (o->cut && (uint64_t)st.st_size < o->length) /* it was truncated, as by logrotate */
        o->length = (uint64_t)st.st_size;
    if (looked && o->cut)
        looked = state_hash_end(r->run->verdict.hash, path, o->length, o->written);
    return looked ||
           reject("cannot save %s: %s cannot be read: %s", r->run->save, w->name, strerror(errno));
}

/* The content of a state's note at this moment, when no batch is in flight. */
static bool describe(struct running *r, struct state *s)
{
    const struct verdict *v = &r->run->verdict;
    struct position position = r->pipe.failed ? r->position : read_position(&r->source.reader);
    const char *file = r->source.reader.files[position.file];

    memset(s, 0, sizeof *s);
    snprintf(s->config, sizeof s->config, "%s", v->config);
    snprintf(s->records, sizeof s->records, "%s", r->run->keys);
    records_describe_keys(&r->run->records, s->keys, sizeof s->keys);
    state_set_input(s, v->hash, file, &position);
    if (source_clock(&r->source) && r->source.clock.now != NO_TIME)
        s->clock = r->source.clock.now;
    s->sums = r->audit.sums;
    return describe_output(r, &r->writer[0], r->run->output.path, &s->output) &&
           (r->writers < 2 ||
            describe_output(r, &r->writer[1], r->run->output.rejects, &s->rejects));
}

static bool save_state(struct running *r)
{
    static struct state state; /* large, and only one is saved at a time */
    static char note[NOTE_MAX];
    const struct verdict *v = &r->run->verdict;

    if (!r->run->state.path) {
        snprintf(note, sizeof note, "%s", r->run->note ? r->run->note : "");
    } else {
        if (!describe(r, &state))
            return false;
        state_write(&state, note);
    }
    return v->save(v->context, r->run->save, note);
}

/* After SIGUSR1, before a state is saved: it must describe the new files. */
static bool reopen_outputs(struct running *r)
{
    bool ok = true;

    signals_reopened();
    for (uint32_t i = 0; i < r->writers && ok; i++)
        ok = !write_is_rotated(&r->writer[i]) || write_reopen(&r->writer[i]);
    return ok;
}

/* The order is guaranteed (docs/command.md): outputs, then the audit file, then the state, which
 * commits them. The next run truncates the outputs to the state's lengths, and ignores entries of
 * the audit file beyond the state. */
bool run_save(struct running *r)
{
    const char *status = !r->ended          ? "running"
                         : r->pipe.failed   ? "failed"
                         : signals_caught() ? "interrupted"
                                            : "complete";

    if (signals_reopen() && !reopen_outputs(r))
        return false;
    for (uint32_t i = 0; i < r->writers; i++)
        if (!write_sync(&r->writer[i]))
            return false;
    bool saved = audit_write(&r->audit, status) &&
                 (!(r->run->save && (!r->ended || run_is_to_be_saved(r))) || save_state(r));
    r->pipe.failed |= !saved;
    return saved;
}

bool run_checkpoint(struct running *r)
{
    double began = now(), took;

    if (!run_save(r))
        return false;
    took = now() - began;
    r->unsaved = 0;
    r->next_save = now() + fmax(took / SAVING_SHARE, r->run->state.seconds);
    return true;
}

/* Without a state, the audit file is still written, because its old one may have been renamed. */
bool run_reopen(struct running *r)
{
    if (r->run->state.path)
        return run_checkpoint(r);
    if (!reopen_outputs(r))
        return false;
    bool saved = audit_write(&r->audit, "running");
    r->pipe.failed |= !saved;
    return saved;
}

/* ---- metrics ---- */

/* The label of a run is the file name without its ending. */
static void name_run(const char *path, char name[64])
{
    const char *slash = strrchr(path, '/');

    snprintf(name, 64, "%s", slash ? slash + 1 : path);
    char *point = strrchr(name, '.');
    if (point && point > name)
        *point = '\0';
}

/* The filter is looked at. */
bool run_write_metrics(struct running *r, bool ended)
{
    const char *path = r->run->verbosity.metrics;
    struct tally t = r->pipe.tally;
    double began = now();
    char name[64];
    size_t size = 0;

    name_run(path, name);
    t.passed = r->writer[0].passed;
    t.seconds = began - r->progress.started;
    char *text = metrics_text(&r->run->verdict, &t, name, ended, &size);
    bool ok = text && replace_text(path, text, size, false);
    if (!ok && !r->metrics_failed)
        note("cannot write %s: %s", path, text ? strerror(errno) : "out of memory");
    r->metrics_failed |= !ok;
    free(text);
    r->next_metrics = now() + fmax((now() - began) / SAVING_SHARE, METRICS_EVERY);
    return ok;
}

bool run_wants_metrics(const struct running *r)
{
    return r->run->verbosity.metrics && now() >= r->next_metrics;
}
