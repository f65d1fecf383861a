/* job.c - see job.h. */
#include "value/job.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

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
    struct opened o = key_open(ctx, argv[in->argument], KEY_READ, NULL);
    struct value *v = o.value ? o.value : (struct value *)o.loading;

    return in->value ? v == in->value && v->changes == in->changes : !v && !o.wrong;
}

static int reply(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct job *job = rm.GetBlockedClientPrivateData(ctx);
    bool same = job->reads || !(rm.GetContextFlags(ctx) & RM_CTX_REPLICA);
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

static bool start_thread(void *(*function)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    bool good;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    good = pthread_create(&thread, &attributes, function, argument) == 0;
    pthread_attr_destroy(&attributes);
    return good;
}

static bool block(struct rm_ctx *ctx, struct job *job)
{
    job->client = rm.BlockClient(ctx, reply, NULL, free_job, 0);
    if (!job->client)
        return false;
    job->threaded = true;
    for (size_t i = 0; i < job->n; i++)
        if (job->inputs[i].value)
            value_lock(job->inputs[i].value);
    if (!start_thread(run, job))
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
    if (!at_once && block(ctx, job)) {
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

/* ---- COPY ---- */

struct copying {
    struct value *from, *to;
    struct value *result; /* of the thread; freed once its contents are in `to` */
    atomic_bool done;
};

struct value *value_contents(struct value *v)
{
    struct copying *c = v->copying;

    if (!c)
        return v;
    if (!atomic_load(&c->done))
        return c->from;
    memcpy(v + 1, c->result + 1, v->family->size - sizeof *v);
    v->copying = NULL;
    server_give(c->result);
    return v;
}

/* On the server's thread. */
static void end_copy(void *argument)
{
    struct copying *c = argument;

    value_contents(c->to);
    value_release(c->from);
    value_release(c->to);
    server_give(c);
}

/* If there is no memory, try again: the server has replied that the copy exists. */
static void *run_copy(void *argument)
{
    struct copying *c = argument;

    while (!(c->result = c->from->family->copy(c->from)))
        sleep(1);
    atomic_store(&c->done, true);
    value_unlock(c->from);
    rm.EventLoopAddOneShot(end_copy, c);
    return NULL;
}

struct value *copy_start(struct value *from)
{
    struct copying *c = server_take(sizeof *c);
    struct value *to = server_take(from->family->size);

    if (!c || !to) {
        server_give(c);
        server_give(to);
        return NULL;
    }
    *c = (struct copying){.from = from, .to = to};
    *to = (struct value){.family = from->family, .copying = c, .holders = 1};
    value_hold(from);
    value_lock(from);
    if (start_thread(run_copy, c)) {
        server_stats.jobs++;
        return to;
    }
    value_unlock(from);
    value_release(from);
    server_give(c);
    server_give(to);
    return from->family->copy(from);
}
