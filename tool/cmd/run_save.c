/* run_save.c - the files that a run saves between two batches and at its end: the state or filter
 * file, and metrics for Prometheus (running.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cmd/running.h"
#include "state/replace.h"
#include "verdict/verdict.h"

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
