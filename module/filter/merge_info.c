/* merge_info.c - WEIR.MERGE and WEIR.INFO. */
#include "filter/weir_commands.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/job.h"

/* ---- WEIR.MERGE ---- */

struct merge_job {
    struct job is; /* inputs: the destination, then the sources */
    weir_filter *result;
    uint64_t bytes; /* of its memory */
    struct weir_error error;
};

static const struct filter_value *input(const struct job *job, size_t i)
{
    return (const struct filter_value *)job->inputs[i].value;
}

/* The destination, or else the first source, is copied and the others are merged into it. */
static void run_merge(struct job *job)
{
    struct merge_job *j = (struct merge_job *)job;

    for (size_t i = 0; i < job->n; i++) {
        const struct filter_value *f = input(job, i);

        if (!f)
            continue;
        if (j->result && weir_merge(j->result, f->w, &j->error) == WEIR_OK)
            continue;
        if (j->result) {
            weir_close(j->result);
            j->result = NULL;
            return;
        }
        j->bytes = f->is.bytes - once_memory(f->once);
        if (!(j->result = weir_clone(f->w, &j->error)))
            return;
    }
}

static void finish_merge(struct rm_ctx *ctx, struct rm_string **argv, int argc, struct job *job)
{
    struct merge_job *j = (struct merge_job *)job;
    struct opened o = key_open(ctx, argv[1], KEY_CHANGE, &family_filter);
    struct filter_value *f = o.value;
    weir_filter *result = j->result;

    if (result && o.wrong) { /* a job or COPY that began meanwhile still reads it */
        key_refuse(ctx, &o);
        return;
    }
    j->result = f && result ? f->w : NULL; /* to be freed */
    if (!result)
        reply_failure(ctx, &j->error);
    else if (f)
        f->w = result;
    else if ((f = filter_value_of(result, j->bytes)))
        value_put(ctx, argv[1], &f->is);
    else
        reply_code(ctx, WEIRMEMORY);
    if (result && f) {
        server_stats.merges++;
        key_changed(ctx, argv[1], &f->is, "weir.merge");
        reply_ok(ctx);
    }
}

static void discard_merge(struct job *job)
{
    weir_close(((struct merge_job *)job)->result);
}

/* False after an error reply. */
static bool add_sources(struct rm_ctx *ctx, struct job *job, struct rm_string **argv, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct opened o = key_open(ctx, argv[3 + i], KEY_READ, &family_filter);

        if (o.wrong) {
            key_refuse(ctx, &o);
            return false;
        }
        if (!o.value) {
            reply_error(ctx, WEIRNOKEY, "no such key: source %zu", i + 1);
            return false;
        }
        job_add_input(job, 3 + (int)i, o.value);
    }
    return true;
}

int command_merge(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct merge_job *j;
    uint64_t n, bytes = 0;

    if (keys_were_asked(ctx, argv, argc))
        return RM_OK;
    if (!arg_u64(argv[2], &n) || n == 0 || n != (uint64_t)argc - 3)
        return reply_error(ctx, ERR, "the number of sources does not match the keys after it");
    struct opened o = key_open(ctx, argv[1], KEY_CHANGE, &family_filter);
    if (o.wrong)
        return key_refuse(ctx, &o);
    if ((j = job_open(ctx, sizeof *j, n + 1))) {
        j->is.run = run_merge;
        j->is.finish = finish_merge;
        j->is.discard = discard_merge;
        job_add_input(&j->is, 1, o.value);
    }
    if (!j)
        return RM_OK;
    if (!add_sources(ctx, &j->is, argv, n)) {
        job_close(&j->is);
        return RM_OK;
    }
    for (size_t i = 0; i < j->is.n; i++)
        bytes += input(&j->is, i) ? input(&j->is, i)->is.bytes : 0;
    return job_start(ctx, argv, argc, &j->is, bytes);
}

/* ---- WEIR.INFO ---- */

#define DUMP_MAX (UINT64_C(512) << 20) /* proto-max-bulk-len, unless it is configured */

/* The commands, arguments, replies and codes that `weir --at` uses. Raised when an older client
 * could misread a newer module; clients refuse a protocol that is newer than theirs. */
#define PROTOCOL 1

static const char *const fields[] = {"spec", "memory", "bytes", "observed",  "seen", "new",
                                     "fill", "error",  "saved", "producers", "dump", "protocol"};

#define FIELDS (sizeof fields / sizeof *fields)

static void reply_info(struct rm_ctx *ctx, const struct filter_value *f,
                       const struct weir_stats *stats, size_t field)
{
    const long long numbers[FIELDS] = {
        [1] = (long long)stats->memory,           [2] = (long long)stats->bytes,
        [3] = (long long)stats->observed,         [4] = (long long)stats->seen,
        [5] = (long long)stats->new_keys,         [8] = (long long)weir_saved_size(f->w),
        [9] = (long long)once_producers(f->once), [11] = PROTOCOL};
    char spec[WEIR_SPEC_MAX];

    if (field == 0) {
        weir_config(f->w, spec, sizeof spec);
        reply_text(ctx, spec);
    } else if (field == 6 || field == 7) {
        rm.ReplyWithDouble(ctx, field == 6 ? stats->fill : stats->error);
    } else if (field == 10) {
        reply_text(ctx, weir_saved_size(f->w) < DUMP_MAX ? "possible" : "too large");
    } else {
        rm.ReplyWithLongLong(ctx, numbers[field]);
    }
}

/* Without a key: what a client asks first of a server. */
static int info_of_module(struct rm_ctx *ctx)
{
    rm.ReplyWithMap(ctx, 2);
    reply_field(ctx, "protocol", PROTOCOL);
    rm.ReplyWithSimpleString(ctx, "version");
    reply_text(ctx, weir_version());
    return RM_OK;
}

int command_info(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    size_t field = FIELDS;

    if (argc == 1)
        return info_of_module(ctx);
    if (argc > 3)
        return rm.WrongArity(ctx);
    for (size_t i = 0; argc == 3 && i < FIELDS; i++)
        field = arg_is(argv[2], fields[i]) ? i : field;
    if (argc == 3 && field == FIELDS)
        return reply_error(ctx, ERR,
                           "unknown field; expected spec, memory, bytes, observed, seen, new, "
                           "fill, error, saved, producers, dump or protocol");
    struct opened o = key_open(ctx, argv[1], KEY_READ, &family_filter);
    if (o.wrong)
        return key_refuse(ctx, &o);
    const struct filter_value *f = o.value;
    if (!f)
        return reply_code(ctx, WEIRNOKEY);
    struct weir_stats stats = weir_stats_of(f->w);
    if (argc == 3) {
        reply_info(ctx, f, &stats, field);
        return RM_OK;
    }
    rm.ReplyWithMap(ctx, FIELDS);
    for (size_t i = 0; i < FIELDS; i++) {
        rm.ReplyWithSimpleString(ctx, fields[i]);
        reply_info(ctx, f, &stats, i);
    }
    return RM_OK;
}
