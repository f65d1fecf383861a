/* by_near.c - see by_near.h. prepare() sketches the texts of a batch on any thread; give() compares
 * them in order, on one thread at a time. So the output does not depend on the number of threads.
 */
#include "verdict/by_near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/hash.h>

#include "cli/messages.h"
#include "cli/units.h"
#include "state/replace.h"

static struct weir_near_stats stats_of(const weir_near *n)
{
    struct weir_near_stats stats;

    weir_near_measure(n, &stats, sizeof stats);
    return stats;
}

static void prepare(void *context, struct batch *b)
{
    const struct near_run *x = context;
    struct weir_near_sketch *sketch = arena_array(&b->arena, b->n, sizeof *sketch);

    b->similar = sketch ? arena_array(&b->arena, b->n, sizeof *b->similar) : NULL;
    b->sketch = sketch;
    for (uint32_t i = 0; b->similar && i < b->n; i++)
        if (!b->bads || !b->bad[i])
            weir_near_sketch_text(x->near, b->key[i].data, b->key[i].size, &sketch[i]);
}

/* ---- verdicts ---- */

/* Names of members and numbers would be compared as words of the text. */
static void warn_of_json(struct near_run *x, const struct batch *b)
{
    bool bad = b->bads && b->bad[0];

    if (x->whole && !x->flood.quiet && !bad && b->key[0].size &&
        *(const char *)b->key[0].data == '{')
        note("the records look like JSON, and all of their members are compared; -k /text compares "
             "the member \"text\"");
    x->whole = false;
}

static void give(void *context, struct batch *b)
{
    struct near_run *x = context;
    const struct weir_near_sketch *sketch = b->sketch;
    uint64_t before = stats_of(x->near).records;

    if (!b->similar) {
        b->n = 0;
        b->failed = true;
        snprintf(b->failure, sizeof b->failure, "out of memory");
        return;
    }
    if (b->n)
        warn_of_json(x, b);
    for (uint32_t i = 0; i < b->n; i++) {
        struct weir_near_match match;

        b->verdict[i] = VERDICT_NONE;
        if (b->bads && b->bad[i])
            continue;
        bool similar = weir_near_observe(x->near, &sketch[i], before + i + 1, &match) == WEIR_SEEN;
        b->verdict[i] = similar ? WEIR_SEEN : WEIR_NEW;
        b->similar[i] = (struct similar){match.number, match.similarity, match.error, match.bands};
        flood_count(&x->flood, b, similar, (struct representative){.id = match.number});
    }
    weir_near_count(x->near, before + b->n);
}

static double fill(void *context)
{
    struct weir_near_stats f = stats_of(((const struct near_run *)context)->near);

    return (double)f.texts / (double)f.capacity;
}

static bool is_past(void *context, bool last)
{
    const struct near_run *x = context;

    (void)last;
    return stats_of(x->near).evicted > x->before.evicted;
}

static void tell_past(void *context, char text[VERDICT_MESSAGE])
{
    const struct near_run *x = context;
    struct weir_near_stats f = stats_of(x->near);

    snprintf(text, VERDICT_MESSAGE,
             "%s of memory holds %s texts, and %s older ones were forgotten; a later "
             "near-duplicate of those passes; more memory (-m) keeps them",
             show_bytes((double)x->options.memory).text, show_count((double)f.capacity).text,
             show_count((double)f.evicted).text);
}

/* ---- the state ---- */

struct near_state {
    const weir_near *near;
    const char *note;
};

static enum weir_status write_state(const void *what, weir_sink sink, void *into)
{
    const struct near_state *s = what;
    enum weir_status status =
        weir_part_write(WEIR_PART_NOTE, s->note, strlen(s->note), sink, into, NULL);

    return status == WEIR_OK ? weir_near_save_stream(s->near, sink, into, NULL) : status;
}

static bool save(void *context, const char *path, const char *note)
{
    const struct near_run *x = context;

    return replace_file(path, write_state, &(struct near_state){x->near, note});
}

weir_near *near_load_state(const char *path, struct state *s)
{
    static char note[NOTE_MAX];
    struct weir_part part;
    weir_near *n = NULL;
    bool good = false;
    size_t size;
    uint8_t *data = read_whole_file(path, &size);

    if (!data)
        return NULL;
    if (weir_part_read(data, size, &part, sizeof part, NULL) == WEIR_OK &&
        part.kind == WEIR_PART_NOTE && part.body_size < sizeof note) {
        memcpy(note, part.body, part.body_size);
        note[part.body_size] = '\0';
        if (state_read(note, s))
            good = weir_near_load_buffer(&n, data + part.size, size - part.size, NULL) == WEIR_OK;
    }
    free(data);
    if (!good)
        fail("%s: not a state of dedup --near, or damaged; name another, or remove it to start "
             "from scratch",
             path);
    return n;
}

/* ---- summary ---- */

/* The numbers of evicted, dropped and unsure records are those of this run. */
static struct weir_near_stats figures_of_run(const struct near_run *x)
{
    struct weir_near_stats f = stats_of(x->near);

    f.evicted -= x->before.evicted;
    f.seen -= x->before.seen;
    f.unsure -= x->before.unsure;
    return f;
}

static void report(void *context, const struct tally *t)
{
    const struct near_run *x = context;
    struct weir_near_stats f = figures_of_run(x);

    (void)t;
    fprintf(stderr,
            "weir: near: %s texts remembered, at most %s in %s; %s near-duplicates, %s of them "
            "within the error of %.3g (%.2g)\n",
            show_count((double)f.texts).text, show_count((double)f.capacity).text,
            show_bytes((double)x->options.memory).text, show_count((double)f.seen).text,
            show_count((double)f.unsure).text, x->options.threshold,
            weir_near_error(x->options.threshold));
}

static json_t *describe(void *context, const struct tally *t)
{
    const struct near_run *x = context;
    struct weir_near_stats f = figures_of_run(x);

    (void)t;
    return json_pack("{s:{s:f,s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:I}}", "near", "threshold",
                     x->options.threshold, "error", weir_near_error(x->options.threshold),
                     "shingle", (json_int_t)x->options.shingle, "memory",
                     (json_int_t)x->options.memory, "texts", (json_int_t)f.texts, "capacity",
                     (json_int_t)f.capacity, "evicted", (json_int_t)f.evicted, "dropped",
                     (json_int_t)f.seen, "unsure", (json_int_t)f.unsure);
}

static const struct verdict_summary summary = {
    .passes = true, .rates_both = true, .report = report, .describe = describe};

struct verdict verdict_by_near(struct near_run *x)
{
    static const char *const words[] = {
        "new", "seen", [VERDICT_NONE] = "skipped", [VERDICT_UNKNOWN] = "unknown"};
    struct weir_near_stats f = stats_of(x->near);

    x->before = f;
    x->options.size = sizeof x->options;
    weir_near_configuration(x->near, &x->options);
    snprintf(x->config, sizeof x->config, "near threshold=%.9g shingle=%u memory=%llu seed=%llu",
             x->options.threshold, x->options.shingle, (unsigned long long)x->options.memory,
             (unsigned long long)x->options.seed);
    return (struct verdict){.context = x,
                            .prepare = prepare,
                            .give = give,
                            .is_past = is_past,
                            .tell_past = tell_past,
                            .fill = fill,
                            .save = save,
                            .summary = &summary,
                            .words = words,
                            .seen = "similar",
                            .filled = "memory",
                            .config = x->config,
                            .hash = {.kind = WEIR_HASH_XXH3, .seed = x->options.seed}};
}
