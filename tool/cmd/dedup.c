/* dedup.c - weir dedup: pass each record the first time its key is seen. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "state/lock.h"
#include "cmd/commands.h"
#include "cmd/run.h"
#include "pipe/write.h"
#include "verdict/by_filter.h"
#include "cli/messages.h"
#include "state/files.h"

/* Would these options make the filter that the state holds? */
static bool same_filter(const struct options *o, const struct stored *s)
{
    char sentence[SENTENCE_MAX];
    struct value seed = config_value(s->shards.config, "seed");
    struct weir_error error;
    struct shards asked;

    if (!wanted_anything(&o->wanted))
        return true; /* the state knows */
    if (!wanted_sentence(&o->wanted, NULL, seed.text, sentence))
        return fail("the options of the filter are too long") == 0;
    if (shards_open(&asked, sentence, 1, &error) != WEIR_OK)
        return fail("%s", error.text) == 0;
    bool same = strcmp(asked.config, s->shards.config) == 0;
    if (!same)
        fail("%s was saved by another filter, '%s', where now '%s' is asked for; leave the options "
             "out to go on with it, or remove the file to start anew",
             o->state.path, s->shards.config, asked.config);
    shards_close(&asked);
    return same;
}

static bool same_shards(const struct options *o, const struct stored *s)
{
    return !o->shards || o->shards == s->shards.count ||
           fail("%s was saved with --shards %u; give the same, or remove the file to start anew",
                o->state.path, s->shards.count) == 0;
}

static bool load(const struct options *o, const char *keys, struct stored *s)
{
    if (!state_looks_right(o->state.path) || !file_load(s, o->state.path))
        return false;
    if (!s->has_state)
        return fail("%s is a filter file, not a state file; 'weir filter --invert' passes what it "
                    "has not seen, another --state FILE starts anew",
                    o->state.path) == 0;
    return same_filter(o, s) && state_same_records(o->state.path, keys, &s->state) &&
           same_shards(o, s);
}

static bool open_new(const struct options *o, struct shards *shards)
{
    char sentence[SENTENCE_MAX];
    struct weir_error error;

    if (!wanted_sentence(&o->wanted, NULL, NULL, sentence))
        return fail("the options of the filter are too long") == 0;
    if (shards_open(shards, sentence, o->shards ? o->shards : o->threads, &error) != WEIR_OK)
        return fail("%s", error.text) == 0;
    return true;
}

int cmd_dedup(const struct options *o)
{
    static struct stored stored;
    const char *path = o->state.path;
    char keys[1024];
    bool there;
    int status = EXIT_ERROR;

    if (path && !lock_file(path))
        return EXIT_ERROR;
    records_describe(&o->records, keys, sizeof keys);
    there = path && access(path, F_OK) == 0;
    if (there ? load(o, keys, &stored) : open_new(o, &stored.shards)) {
        struct run r = run_asked(o, 0);

        r.verdict = verdict_by_filter(&(struct filtering){&stored.shards, weir_observe_many});
        r.passes = write_passes(&r.output, o->output.emit == EMIT_DUPLICATES ? WEIR_SEEN : WEIR_NEW,
                                false);
        r.save = path;
        r.state = o->state;
        r.keys = keys;
        r.resume = there && o->state.resume ? &stored.state : NULL;
        status = run(&r, NULL);
    }
    shards_close(&stored.shards);
    return status;
}
