/* run_save.c - what a run leaves behind between two batches and at its end: the state or filter
 * file, and its figures for Prometheus (running.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/messages.h"
#include "cmd/running.h"
#include "state/replace.h"
#include "verdict/verdict.h"

#define SAVING_SHARE 0.1 /* of the time may go into checkpoints, at most; a guess */
#define METRICS_EVERY 15 /* seconds: as often as Prometheus looks, by default */

/* ---- the state ---- */

bool run_wants_checkpoint(const struct running *r)
{
    const struct state_options *s = &r->run->state;

    return s->path && r->unsaved > 0 &&
           ((s->records && r->unsaved >= s->records) || (s->seconds > 0 && now() >= r->next_save));
}

/* Can the output be cut to its length now? Only a file can. It is known again by its end. */
static bool find_cut(struct running *r, struct state *s)
{
    const char *path = r->run->output.path;
    struct stat st;

    s->output = r->writer.bytes;
    if (!path)
        return true;
    bool looked = fstat(r->writer.fd, &st) == 0;
    s->cut = looked && S_ISREG(st.st_mode);
    if (looked && s->cut)
        looked = state_hash_end(r->run->verdict.hash, path, s->output, s->written);
    return looked || reject("cannot save %s: %s cannot be looked at: %s", r->run->save,
                            r->writer.name, strerror(errno));
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
    records_describe_keys(&r->run->records, s->keys, sizeof s->keys);
    state_set_input(s, v->hash, file, &position);
    if (source_clock(&r->source) && r->source.clock.now != NO_TIME)
        s->clock = r->source.clock.now;
    return find_cut(r, s);
}

bool run_save(struct running *r)
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

/* The filter is looked at. */
bool run_write_metrics(struct running *r, bool ended)
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

bool run_wants_metrics(const struct running *r)
{
    return r->run->verbosity.metrics && now() >= r->next_metrics;
}
