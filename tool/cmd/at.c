/* at.c - see at.h. */
#include "cmd/at.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "state/files.h"
#include "state/state.h"

#define SHARDS_IN_CLUSTER 64 /* by default: enough for tens of nodes; guessed */
#define THREADS_LEAST 3      /* one waits for replies, one reads, one prepares */

static bool is_interrupted(void)
{
    return signals_caught() != 0;
}

static bool refuse(const struct at *a)
{
    return reject("%s", remote_failure(a->remote));
}

/* ---- the note of a file ---- */

#define NOTE_HEAD "weir at 1\nconfig="

size_t at_note(char *note, size_t size, const char *spec, const char *keys)
{
    return (size_t)snprintf(note, size, NOTE_HEAD "%s%s%s", spec, *keys ? "\nkeys=" : "", keys);
}

bool at_note_spec(const void *note, size_t size, char spec[WEIR_SPEC_MAX])
{
    size_t head = strlen(NOTE_HEAD), n;
    const char *text = note;

    if (size <= head || memcmp(text, NOTE_HEAD, head) != 0)
        return false;
    const char *end = memchr(text + head, '\n', size - head);
    n = end ? (size_t)(end - text) - head : size - head;
    if (n >= WEIR_SPEC_MAX)
        return false;
    memcpy(spec, text + head, n);
    spec[n] = '\0';
    return true;
}

/* ---- which filter ---- */

/* Create it from the options. Another run may create it first; its filter is then used. */
static bool make_filter(struct at *a, const struct options *o)
{
    struct remote_filter *f = &a->filter;

    records_describe_keys(&o->records, f->keys, sizeof f->keys);
    f->shards = o->shards ? o->shards : remote_is_cluster(a->remote) ? SHARDS_IN_CLUSTER : 1;
    if (!request_complete(&o->filter, WEIR_KIND_FILTER, NULL, NULL, f->spec))
        return false;
    return (remote_register(a->remote, f) && remote_look(a->remote, f)) || refuse(a);
}

/* Does the existing filter match the options? */
static bool is_wanted(const struct at *a, const struct options *o)
{
    const struct remote_filter *f = &a->filter;
    char seed[64], spec[WEIR_SPEC_MAX];
    size_t seeded = weir_spec_get(f->spec, "seed", seed, sizeof seed);

    if (o->shards && o->shards != f->shards)
        return reject("%s has %u shards, not %u; remove --shards, or use another name",
                      remote_name(a->remote), f->shards, o->shards);
    if (!request_anything(&o->filter))
        return true;
    if (!request_complete(&o->filter, WEIR_KIND_FILTER, NULL, seeded ? seed : NULL, spec))
        return false;
    return strcmp(spec, f->spec) == 0 || reject("%s is another filter, '%s', not '%s'; remove the "
                                                "options to use it, or use another name",
                                                remote_name(a->remote), f->spec, spec);
}

/* Only commands that read records make keys. */
static bool same_keys(const struct at *a, const struct options *o)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];

    records_describe_keys(&o->records, keys, sizeof keys);
    return o->keys_differ || !(command_find(o->command)->takes & TAKES_RECORDS) ||
           strcmp(keys, a->filter.keys) == 0 ||
           reject("%s: its keys were made with %s, now with %s; give the same options, or use "
                  "another name (--keys-differ uses it as it is)",
                  remote_name(a->remote), file_shown_keys(a->filter.keys), file_shown_keys(keys));
}

static bool find_filter(struct at *a, const struct options *o, bool make)
{
    if (!remote_look(a->remote, &a->filter))
        return refuse(a);
    a->found = a->filter.shards > 0;
    if (a->filter.shards == 0 && !make)
        return reject("there is no filter %s; 'weir dedup --at' makes one", remote_name(a->remote));
    if (a->filter.shards == 0 && !make_filter(a, o))
        return false;
    return is_wanted(a, o) && same_keys(a, o) &&
           (remote_attach(a->remote, &a->filter, make) || refuse(a));
}

/* Replace the address in the command line, which ps(1) prints to all users, by one without secrets.
 */
static void hide_secrets(const char *url, const char *shown)
{
    size_t room = strlen(url), size = strlen(shown);
    char *word = (char *)(uintptr_t)url;

    memset(word, 0, room);
    memcpy(word, shown, size < room ? size : room);
}

bool at_connect(struct at *a, const struct options *o)
{
    struct remote_options options = {
        .timeout = o->at.timeout, .replicas = o->at.replicas, .interrupted = is_interrupted};
    char why[512];

    *a = (struct at){.remote = NULL};
    if (!signals_watch())
        return false;
    a->remote = remote_open(o->at.url, &options, why, sizeof why);
    if (!a->remote)
        return reject("%s", why);
    hide_secrets(o->at.url, remote_name(a->remote));
    return true;
}

bool at_open(struct at *a, const struct options *o, bool make)
{
    return at_connect(a, o) && find_filter(a, o, make);
}

void at_close(struct at *a)
{
    remote_close(a->remote);
    a->remote = NULL;
}

/* ---- running ---- */

static void tell_lost(const struct at *a, const struct verbosity *v)
{
    struct remote_figures f = remote_figures(a->remote);

    if (f.lost && !v->quiet)
        note("%s: shards were lost %llu times and created again; their keys are lost",
             remote_name(a->remote), (unsigned long long)f.lost);
}

int at_run(struct at *a, struct run *r, bool ask, struct remote_settled *settled,
           struct tally *tally)
{
    struct remoting remoting = {.remote = a->remote,
                                .filter = &a->filter,
                                .ask = ask,
                                .weighted = r->records.importance != NULL};
    int status = EXIT_ERROR;

    if (settled)
        remoting.settled = *settled;
    r->threads = r->threads < THREADS_LEAST ? THREADS_LEAST : r->threads;
    if (remoting_open(&remoting, r->threads)) {
        r->verdict = verdict_by_remote(&remoting);
        status = run(r, tally);
        if (!remoting_end(&remoting))
            status = EXIT_ERROR;
        tell_lost(a, &r->verbosity);
    }
    remote_stop(a->remote); /* before the batches of commands in flight are freed */
    remoting_close(&remoting);
    return status;
}

int at_once(const struct options *o, struct run *r, bool ask, struct tally *tally)
{
    struct at a;
    int status = at_open(&a, o, false) ? at_run(&a, r, ask, NULL, tally) : EXIT_ERROR;

    at_close(&a);
    return status;
}

/* ---- a state ---- */

/* The run was killed: records that it sent and did not pass count as seen in the servers. */
static bool report_killed(const struct options *o)
{
    const char *out = o->output.path;
    struct stat st;

    if (out && stat(out, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        return reject("the run that saved %s was killed, and %s has records that are not in it; "
                      "use another -o to continue",
                      o->state.path, out);
    if (!o->verbosity.quiet)
        note("the run that saved %s was killed: records that were in flight then count as seen, "
             "although they were not passed",
             o->state.path);
    return true;
}

/* Saved before the first record was read: there is no position to continue from. */
static bool is_first(const struct in_flight *u, const struct state *s)
{
    return u->running && !s->position.known && s->output.length == 0;
}

static bool load(const struct at *a, const struct options *o, struct at_state *s)
{
    struct in_flight u = {.data = NULL};
    const char *path = o->state.path;
    bool good = state_looks_right(path) && state_load_remote(path, &s->state, &u) &&
                state_same_records(path, s->keys, &s->state);

    if (good && strcmp(s->state.config, a->filter.spec) != 0)
        good =
            reject("%s was saved with another filter, '%s'; remove the file to start from scratch",
                   path, s->state.config);
    if (good && !remote_settle(a->remote, u.data, u.size, &s->settled))
        good = reject("%s: %s", path,
                      *remote_failure(a->remote) ? remote_failure(a->remote) : "it is damaged");
    good = good && (!u.running || report_killed(o));
    s->state.output.cut &= !u.running; /* then -o is another file */
    s->state.rejects.cut &= !u.running;
    s->begun = !is_first(&u, &s->state);
    free((void *)(uintptr_t)u.data);
    return good;
}

bool at_resume(const struct at *a, const struct options *o, struct run *r, struct at_state *s)
{
    const char *path = o->state.path;
    size_t n;

    *s = (struct at_state){.settled = {.list = NULL}};
    if (!path)
        return true;
    records_describe(&o->records, s->keys, sizeof s->keys);
    n = strlen(s->keys);
    snprintf(s->keys + n, sizeof s->keys - n, " --at %s",
             remote_key(a->remote)); /* hosts may change */
    r->save_anyway = true;
    r->keys = s->keys;
    if (access(path, F_OK) != 0)
        return true;
    if (!load(a, o, s))
        return false;
    r->resume = s->begun ? &s->state : NULL;
    r->clock = s->state.clock;
    return true;
}
