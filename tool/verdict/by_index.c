/* by_index.c - see by_index.h. */
#include "verdict/by_index.h"

#include <stdio.h>
#include <string.h>

#include <weir/hash.h>

#include "cli/messages.h"
#include "cli/units.h"

static void prepare(void *context, struct batch *b)
{
    keys_hash(((const struct indexing *)context)->hash, b);
}

/* Without times, all records have the time when they were read. */
static void give(void *context, struct batch *b)
{
    const struct indexing *x = context;
    const struct good_keys *good = keys_select(b);

    if (exact_observe(x->index, good->key, b->event.timed ? good->time : NULL, b->read_at, good->n,
                      good->verdict)) {
        keys_return(b);
        return;
    }
    b->n = 0;
    b->failed = true;
    snprintf(b->failure, sizeof b->failure, "%s", exact_failure(x->index));
}

static bool save(void *context, const char *path, const char *note)
{
    const struct indexing *x = context;

    (void)path;
    return exact_commit(x->index, note, strlen(note) + 1) || reject("%s", exact_failure(x->index));
}

static bool wants_save(void *context)
{
    return exact_wants_commit(((const struct indexing *)context)->index);
}

static void report(void *context, const struct tally *t)
{
    const struct indexing *x = context;
    struct index_figures f = exact_figures(x->index);

    (void)t;
    fprintf(stderr, "weir: index %s: %s keys in %s on disk\n", x->dir,
            show_count((double)f.keys).text, show_bytes((double)f.bytes).text);
    if (f.dropped)
        fprintf(stderr, "weir: index %s: forgot %s keys: %s\n", x->dir,
                show_count((double)f.dropped).text,
                f.disk_drops ? "--disk was reached" : "older than --keep");
    if (f.unfiltered)
        fprintf(
            stderr,
            "weir: index %s: the filters of %s keys do not fit into memory, so each lookup among "
            "them reads the disk; more memory (-m) helps\n",
            x->dir, show_count((double)f.unfiltered).text);
}

static json_t *describe(void *context, const struct tally *t)
{
    struct index_figures f = exact_figures(((const struct indexing *)context)->index);

    (void)t;
    return json_pack("{s:{s:I,s:I,s:I,s:I,s:I,s:I,s:I}}", "index", "keys", (json_int_t)f.keys,
                     "bytes", (json_int_t)f.bytes, "runs", (json_int_t)f.runs, "forgotten",
                     (json_int_t)f.dropped, "unfiltered", (json_int_t)f.unfiltered, "written",
                     (json_int_t)f.written, "reads", (json_int_t)f.reads);
}

static const struct verdict_summary summary = {
    .passes = true, .rates_both = true, .report = report, .describe = describe};

struct verdict verdict_by_index(struct indexing *x)
{
    static const char *const words[] = {
        "new", "seen", [VERDICT_NONE] = "skipped", [VERDICT_UNKNOWN] = "unknown"};
    struct index_figures f = exact_figures(x->index);

    x->hash = (struct trace_hash){.kind = f.hash, .seed = f.seed};
    snprintf(x->config, sizeof x->config, "exact hash=%s seed=%llu",
             f.hash == WEIR_HASH_SIP ? "sip" : "xxh3", (unsigned long long)f.seed);
    return (struct verdict){.context = x,
                            .prepare = prepare,
                            .give = give,
                            .save = save,
                            .wants_save = wants_save,
                            .summary = &summary,
                            .words = words,
                            .seen = "seen",
                            .config = x->config,
                            .hash = x->hash};
}
