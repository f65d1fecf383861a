/* run_open.c - open the stages of a run, and skip the records that an earlier run processed
 * (running.h). */
#include <string.h>
#include <sys/stat.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cmd/running.h"
#include "state/replace.h"
#include "state/state.h"

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
