/* dedup.c - weir dedup: pass each record the first time its key is seen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state/replace.h"
#include "cmd/at.h"
#include "cmd/commands.h"
#include "cmd/run.h"
#include "pipe/write.h"
#include "verdict/by_filter.h"
#include "cli/messages.h"
#include "state/files.h"

static bool same_shards(const struct options *o, const struct stored *s)
{
    return !o->shards || o->shards == s->shards.count ||
           reject("%s was saved with --shards %u; give the same, or remove the file to start from "
                  "scratch",
                  o->state.path, s->shards.count);
}

static bool load(const struct options *o, const char *keys, struct stored *s)
{
    if (!state_looks_right(o->state.path) || !file_load(s, o->state.path))
        return false;
    if (!s->has_state)
        return reject(
            "%s is a filter file, not a state file; 'weir filter --invert' passes what it "
            "has not seen, another --state FILE starts from scratch",
            o->state.path);
    if (request_anything(&o->filter) &&
        !request_is_held(&o->filter, WEIR_KIND_FILTER, NULL, s->shards.config, o->state.path))
        return false;
    return state_same_records(o->state.path, keys, &s->state) && same_shards(o, s);
}

/* The system allocates memory when it is first written, which may take longer than thousands of
 * records. If a program waits for each answer, do it before the first record. */
static void touch_memory(const struct shards *shards)
{
    for (uint32_t i = 0; i < shards->count; i++)
        weir_clear(shards->w[i]);
}

static bool open_new(const struct options *o, struct shards *shards)
{
    char spec[WEIR_SPEC_MAX];
    struct weir_error error;

    if (!request_complete(&o->filter, WEIR_KIND_FILTER, NULL, NULL, spec))
        return false;
    if (shards_open(shards, spec, shards_wanted(o->shards, o->threads, spec), &error) != WEIR_OK)
        return reject("%s", error.text);
    if (write_answers_all(&o->output))
        touch_memory(shards);
    return true;
}

/* ---- by time ---- */

/* --once-per 1h: at most once per hour and key. */
static bool want_once_per(struct options *o, char text[2][PARAMETER_MAX])
{
    if (!o->once_per)
        return true;
    if (request_sets(&o->filter, "span") || request_sets(&o->filter, "refresh"))
        return reject("--once-per %s sets span= and refresh= already; remove them from -S",
                      o->once_per);
    request_add(&o->filter, text[0], "span", o->once_per);
    request_add(&o->filter, text[1], "refresh", "no");
    return true;
}

/* The longest TTL of a completed spec, in milliseconds, or 0: "ttl=60000ms-7200000ms". */
static uint64_t longest_ttl(const char *config)
{
    char range[64] = "";

    weir_spec_get(config, "ttl", range, sizeof range);
    const char *dash = strchr(range, '-');
    return strtoull(dash ? dash + 1 : range, NULL, 10);
}

/* The span of the filter, or its longest TTL, for the clock. */
static bool set_span(struct options *o, const char *config)
{
    uint64_t ttl = longest_ttl(config);

    if (o->records.ttl && !ttl)
        return reject("--ttl: the filter has no TTLs; add -S ttl=1m-2h, the shortest and the "
                      "longest that occur");
    o->records.time.span = ttl;
    weir_spec_number(config, "span", &o->records.time.span);
    return !o->records.time.field || o->records.time.span ||
           reject("--time: nothing here uses time; add --once-per 1h, -S span=1h or -S ttl=1h, "
                  "the time for which keys are remembered");
}

/* ---- with a filter ---- */

struct run dedup_run(const struct options *o, const char *keys, const struct state *before)
{
    struct run r = run_continued(o, keys, before);

    r.passes =
        write_passes(&r.output, o->output.emit == EMIT_DUPLICATES ? WEIR_SEEN : WEIR_NEW, false);
    return r;
}

int dedup_by_filter(struct options *o, struct parts_run *parts)
{
    char parameters[2][PARAMETER_MAX];
    static struct stored stored;
    const char *path = o->state.path;
    char keys[1024];
    bool there;
    int status = EXIT_ERROR;

    if (!want_once_per(o, parameters) || (path && !lock_file(path)))
        return EXIT_ERROR;
    records_describe(&o->records, keys, sizeof keys);
    there = path && access(path, F_OK) == 0;
    if ((there ? load(o, keys, &stored) : open_new(o, &stored.shards)) &&
        set_span(o, stored.shards.config)) {
        struct run r = dedup_run(o, keys, there ? &stored.state : NULL);

        r.parts = parts;
        run_tell_clock(&r, longest_ttl(stored.shards.config) ? "ttl=" : "the span");
        status = run_filter(
            &r, (struct filtering){.shards = &stored.shards, .operation = WEIR_SHARED_OBSERVE},
            &o->filter, there);
    }
    shards_close(&stored.shards);
    return status;
}

/* ---- in servers ---- */

static int dedup_at(struct options *o)
{
    char parameters[2][PARAMETER_MAX];
    static struct at_state state;
    int status = EXIT_ERROR;
    struct at at;

    if (o->on_full == FULL_STOPS)
        return fail(AT_NOT_ON_FULL);
    if (o->state.path && !o->state.resume)
        return fail("--state with --at saves only the position in the input; add --resume, or "
                    "remove --state");
    if (!want_once_per(o, parameters) || (o->state.path && !lock_file(o->state.path)))
        return EXIT_ERROR;
    if (at_open(&at, o, true) && set_span(o, at.filter.spec)) {
        struct run r = dedup_run(o, NULL, NULL);

        r.remembers = at.found;
        run_tell_clock(&r, longest_ttl(at.filter.spec) ? "ttl=" : "the span");
        if (at_resume(&at, o, &r, &state))
            status = at_run(&at, &r, false, &state.settled, NULL);
    }
    at_close(&at);
    return status;
}

/* ---- the command ---- */

/* Options that texts (--near), parts of texts (--parts) and an index (--exact) exclude, and why;
 * NULL: they do not. */
static bool check_kind(const struct options *o)
{
    const struct filter_request *f = &o->filter;
    const struct records *r = &o->records;
    static const char no_time[] = "texts are evicted by number, not by time",
                      parts_have_no_time[] = "parts have no time",
                      keep[] = "give --keep TIME instead, counted from the first record of a key";
    bool ngrams = r->parts == PARTS_NGRAM;
    const struct {
        bool given;
        const char *option, *near, *parts, *exact;
    } excluded[] = {
        {f->algorithm, "-a", "texts are compared by their words, not by a filter", NULL,
         "an index is not a filter"},
        {f->fpr, "-e", "the threshold and 256 bins fix the error; see docs/near.md", NULL,
         "it makes no errors"},
        {f->importance, "-i", "all texts are equally important", "all parts are equally important",
         "it remembers all keys, independent of importance"},
        {f->sets, "-S", "there is no filter; --shingle and -m are the parameters", NULL, NULL},
        {o->near.threshold > 0, "--near", NULL,
         "one compares parts, the other whole texts; use one command after the other", NULL},
        {o->at.url, "--at", "texts are remembered on this machine only",
         "parts are remembered on this machine only",
         "the index is in a directory of this machine"},
        {o->exact.dir, "--exact", "that compares whole keys", "parts are remembered in a filter",
         NULL},
        {o->state.path, "--state", NULL, NULL, "the directory has the state"},
        {o->once_per, "--once-per", no_time, parts_have_no_time, keep},
        {r->ttl, "--ttl", no_time, "parts have no TTL", keep},
        {r->time.field, "--time", no_time, parts_have_no_time, NULL},
        {o->shards, "--shards", "there are none; -j sets the number of threads",
         "one filter has the parts; -j sets the number of threads", "an index has none"},
        {o->on_full == FULL_STOPS, "--on-full", NULL, NULL, "an index does not fill up"},
        {o->output.audit, "--audit", NULL, "it counts keys, not parts", NULL},
        {r->key_as && !ngrams, "--key-as", NULL, "paragraphs and lines are compared as they are",
         NULL},
        {r->ignore_case, "--ignore-case", "case never matters",
         ngrams ? "case never matters in n-grams" : NULL, NULL},
        {r->ignore_space, "--ignore-space", "white space never matters",
         ngrams ? "white space never matters in n-grams" : NULL, NULL},
    };
    const char *kind = r->parts                ? "--parts"
                       : o->near.threshold > 0 ? "--near"
                       : o->exact.dir          ? "--exact"
                                               : NULL;

    for (size_t i = 0; kind && i < sizeof excluded / sizeof *excluded; i++) {
        const char *why = r->parts                ? excluded[i].parts
                          : o->near.threshold > 0 ? excluded[i].near
                                                  : excluded[i].exact;

        if (excluded[i].given && why)
            return reject("%s cannot be combined with %s: %s; remove %s", kind, excluded[i].option,
                          why, excluded[i].option);
    }
    return true;
}

int cmd_dedup(struct options *o)
{
    if (o->keys_differ && !o->at.url)
        return fail("--keys-differ needs --at URL; a state file requires the same keys");
    if (!check_kind(o))
        return EXIT_ERROR;
    if (o->records.parts)
        return dedup_parts(o);
    if (o->near.threshold > 0)
        return dedup_near(o);
    if (o->exact.dir)
        return dedup_exact(o);
    return o->at.url ? dedup_at(o) : dedup_by_filter(o, NULL);
}
