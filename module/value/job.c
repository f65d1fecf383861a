/* job.c - see job.h. */
#include "value/job.h"

#include <pthread.h>

#include "server/reply.h"
#include "server/server.h"

void *job_open(struct rm_ctx *ctx, size_t size, size_t n)
{
    struct job *job = server_take(size);

    if (job)
        job->inputs = server_take((n > 0 ? n : 1) * sizeof *job->inputs);
    if (job && job->inputs) {
        job->room = n;
        return job;
    }
    server_give(job);
    reply_code(ctx, WEIRMEMORY);
    return NULL;
}

void job_add_input(struct job *job, int argument, struct value *v)
{
    if (v)
        value_hold(v);
    job->inputs[job->n++] = (struct job_input){argument, v, v ? v->changes : 0};
}

static void release_inputs(struct job *job)
{
    for (size_t i = 0; i < job->n; i++)
        if (job->inputs[i].value)
            value_release(job->inputs[i].value);
    job->n = 0;
}

void job_close(struct job *job)
{
    release_inputs(job);
    if (job->discard)
        job->discard(job);
    server_give(job->inputs);
    server_give(job);
}

/* ---- in a thread ---- */

static bool is_unchanged(struct rm_ctx *ctx, struct rm_string **argv, const struct job_input *in)
{
    struct rm_key *key = rm.OpenKey(ctx, argv[in->argument], RM_READ);
    bool missing = !key || rm.KeyType(key) == RM_KEY_EMPTY;
    void *value = missing || !rm.ModuleTypeGetType(key) ? NULL : rm.ModuleTypeGetValue(key);
    bool same = in->value ? value == in->value && in->value->changes == in->changes : missing;

    if (key)
        rm.CloseKey(key);
    return same;
}

static int reply(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct job *job = rm.GetBlockedClientPrivateData(ctx);
    bool same = !(rm.GetContextFlags(ctx) & RM_CTX_REPLICA);
    uint64_t start;

    for (size_t i = 0; i < job->n; i++)
        same = same && is_unchanged(ctx, argv, &job->inputs[i]);
    release_inputs(job);
    if (!same)
        return reply_error(ctx, WEIRBUSY,
                           "a key of this command was changed or deleted meanwhile; repeat it");
    start = stats_start();
    job->finish(ctx, argv, argc, job);
    stats_stop(start);
    return RM_OK;
}

static void free_job(struct rm_ctx *ctx, void *job)
{
    job_close(job);
}

static void *run(void *argument)
{
    struct job *job = argument;

    job->run(job);
    for (size_t i = 0; i < job->n; i++)
        if (job->inputs[i].value)
            value_unlock(job->inputs[i].value);
    rm.UnblockClient(job->client, job);
    return NULL;
}

static bool start_thread(struct rm_ctx *ctx, struct job *job)
{
    pthread_attr_t attributes;
    pthread_t thread;
    bool good;

    job->client = rm.BlockClient(ctx, reply, NULL, free_job, 0);
    if (!job->client)
        return false;
    job->threaded = true;
    for (size_t i = 0; i < job->n; i++)
        if (job->inputs[i].value)
            value_lock(job->inputs[i].value);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    good = pthread_create(&thread, &attributes, run, job) == 0;
    pthread_attr_destroy(&attributes);
    if (!good)
        run(job); /* slower for other clients, but correct */
    return true;
}

int job_start(struct rm_ctx *ctx, struct rm_string **argv, int argc, struct job *job,
              uint64_t bytes)
{
    const int no_blocking = RM_CTX_LUA | RM_CTX_MULTI | RM_CTX_DENY_BLOCKING;
    bool at_once = bytes <= JOB_SMALL || server_obeys(ctx);
    uint64_t start;

    if (!at_once && rm.GetContextFlags(ctx) & no_blocking) {
        if (bytes > JOB_ATOMIC) {
            job_close(job);
            return reply_error(ctx, WEIRBUSY,
                               "more than 64 MiB of work; send the command outside of MULTI and "
                               "scripts");
        }
        at_once = true;
    }
    if (!at_once && start_thread(ctx, job)) {
        server_stats.jobs++;
        return RM_OK;
    }
    start = stats_start();
    job->run(job);
    release_inputs(job);
    job->finish(ctx, argv, argc, job);
    job_close(job);
    stats_stop(start);
    return RM_OK;
}
