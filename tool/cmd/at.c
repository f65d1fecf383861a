/* at.c - see at.h. */
#include "cmd/at.h"

#include <string.h>

#include "cli/messages.h"
#include "cli/signals.h"

#define SHARDS_IN_CLUSTER 64 /* unless told: enough for tens of nodes; guessed */
#define THREADS_LEAST 3      /* one waits for answers, one reads, one prepares */

static bool is_interrupted(void)
{
    return signals_caught() != 0;
}

static bool refuse(const struct at *a)
{
    return reject("%s", remote_failure(a->remote));
}

/* ---- which filter ---- */

/* Make it of the options. Another run may be quicker: what is there afterwards, counts. */
static bool make_filter(struct at *a, const struct options *o)
{
    struct remote_filter *f = &a->filter;

    f->shards = o->shards ? o->shards : remote_is_cluster(a->remote) ? SHARDS_IN_CLUSTER : 1;
    if (!wanted_complete(&o->wanted, WEIR_KIND_FILTER, NULL, NULL, f->sentence))
        return false;
    return (remote_register(a->remote, f) && remote_look(a->remote, f)) || refuse(a);
}

/* Is the filter there what the options ask for? */
static bool is_wanted(const struct at *a, const struct options *o)
{
    const struct remote_filter *f = &a->filter;
    char seed[64], sentence[WEIR_SENTENCE];
    size_t seeded = weir_sentence_knob(f->sentence, "seed", seed, sizeof seed);

    if (o->shards && o->shards != f->shards)
        return reject("%s has %u shards, not %u; leave --shards out, or take another name",
                      remote_name(a->remote), f->shards, o->shards);
    if (!wanted_anything(&o->wanted))
        return true;
    if (!wanted_complete(&o->wanted, WEIR_KIND_FILTER, NULL, seeded ? seed : NULL, sentence))
        return false;
    return strcmp(sentence, f->sentence) == 0 ||
           reject(
               "%s is another filter, '%s', where '%s' is asked for; leave the options out to go "
               "on with it, or take another name",
               remote_name(a->remote), f->sentence, sentence);
}

static bool find_filter(struct at *a, const struct options *o, bool make)
{
    if (!remote_look(a->remote, &a->filter))
        return refuse(a);
    if (a->filter.shards == 0 && !make)
        return reject("there is no filter %s; 'weir dedup --at' makes one", remote_name(a->remote));
    if (a->filter.shards == 0 && !make_filter(a, o))
        return false;
    return is_wanted(a, o) && (remote_attach(a->remote, &a->filter, make) || refuse(a));
}

bool at_open(struct at *a, const struct options *o, bool make)
{
    struct remote_options options = {
        .timeout = o->at.timeout, .replicas = o->at.replicas, .interrupted = is_interrupted};
    char why[512];

    *a = (struct at){.remote = NULL};
    if (!signals_watch())
        return reject("the system is short of memory or files");
    a->remote = remote_open(o->at.url, &options, why, sizeof why);
    return a->remote ? find_filter(a, o, make) : reject("%s", why);
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
        note("%s: shards were gone %llu times, and began anew: what they had seen is forgotten",
             remote_name(a->remote), (unsigned long long)f.lost);
}

int at_run(struct at *a, struct run *r, bool ask, struct tally *tally)
{
    struct remoting remoting = {.remote = a->remote,
                                .filter = &a->filter,
                                .ask = ask,
                                .weighted = r->records.importance != NULL};
    int status = EXIT_ERROR;

    r->threads = r->threads < THREADS_LEAST ? THREADS_LEAST : r->threads;
    if (remoting_open(&remoting, r->threads)) {
        r->verdict = verdict_by_remote(&remoting);
        status = run(r, tally);
        tell_lost(a, &r->verbosity);
    }
    remoting_close(&remoting);
    return status;
}
