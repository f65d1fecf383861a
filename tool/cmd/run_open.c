/* run_open.c - the stages of a run are opened, and what an earlier run has done is passed over
 * (running.h). */
#include <sys/stat.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cmd/running.h"
#include "state/replace.h"
#include "state/resume.h"

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
    scratch = batch_open(1);
    if (!scratch)
        return reject("memory is short");
    batch_reset(scratch);
    ok = read_seek(&r->source.reader, &found.position, *found.older ? found.older : NULL, scratch);
    if (!ok && !signals_caught())
        fail("%s", scratch->failure);
    batch_close(scratch);
    r->position = s->position;
    r->progress.start = s->position.offset;
    r->headed = s->position.file > 0 || s->position.offset > 0;
    return ok;
}

/* How many bytes of the output file stay, of `size`: those of the state, all, or none. False after
 * a message if records would be lost that no run passes again. */
static bool find_length(const struct run *run, uint64_t size, uint64_t *length)
{
    const struct output *o = &run->output;
    const struct state *s = run->resume && run->resume->cut ? run->resume : NULL;
    bool same = false;

    *length = o->append ? size : 0;
    if (o->overwrite)
        return true;
    if (!s)
        return o->append || size == 0 || !run->remembers ||
               reject("%s: not empty, and records of earlier runs are not passed again; add "
                      "--append to keep the file, or --overwrite to replace it",
                      o->path);
    if (!state_same_output(o->path, run->verdict.hash, s, &same))
        return false;
    same |= size == 0 && s->output == 0;
    if (same && size >= s->output) {
        *length = s->output;
        return true;
    }
    if (o->append)
        return true;
    return same
               ? reject("%s has %llu bytes, but had %llu when %s was saved; restore the file, or "
                        "add --append or --overwrite",
                        o->path, (unsigned long long)size, (unsigned long long)s->output, run->save)
               : reject("%s is not the output that %s was saved with; name that file, or add "
                        "--append or --overwrite",
                        o->path, run->save);
}

static bool open_output(struct running *r)
{
    const struct run *run = r->run;
    const char *path = run->output.path;
    const struct records *records = &run->records;
    bool fields = records->format == FORMAT_CSV || records->format == FORMAT_DELIMITED;
    bool keyless = records->missing == MISSING_PASSES;
    uint8_t passes = (uint8_t)(run->passes | (keyless ? 1u << VERDICT_KEYLESS : 0));

    struct stat st = {.st_mode = S_IFREG};
    uint64_t length = 0;

    if (path && (stat(path, &st) != 0 || S_ISREG(st.st_mode))) {
        if (!find_length(run, (uint64_t)st.st_size, &length))
            return false;
        r->headed = length > 0;
    }
    if (!write_open(&r->writer, &run->output, passes, length))
        return false;
    r->writer.words = run->words ? run->words : run->verdict.words;
    r->writer.records = records;
    r->writer.fields = records_have_fields(records);
    r->writer.joint = fields ? records->delimiter : '\t';
    return true;
}

bool run_open(struct running *r, struct sink sink)
{
    const struct run *run = r->run;

    if (!source_open(&r->source, &run->records, run->inputs, run->command, run->verbosity.quiet) ||
        (run->save && !replace_possible(run->save)) ||
        (run->verbosity.metrics && !replace_spares(run->verbosity.metrics, REPLACES_METRICS)))
        return false;
    progress_open(&r->progress, run->verbosity.quiet || inputs_are_typed(&run->inputs),
                  r->source.reader.total);
    r->progress.seen = run->verdict.seen;
    r->progress.filled = run->verdict.filled;
    if (run->state.path || r->progress.bar || run->threads > 1 || run->verbosity.metrics)
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
    return resume(r) && open_output(r) && (!run->verbosity.metrics || run_write_metrics(r, false));
}
