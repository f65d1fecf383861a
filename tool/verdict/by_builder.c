/* by_builder.c - gathers the keys of a filter that is built from the complete set: see by_filter.h.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>

#include "cli/messages.h"
#include "cli/units.h"
#include "state/files.h"
#include "verdict/by_filter.h"

/* ---- beginning and end ---- */

static bool allocate(struct building *b, uint32_t count)
{
    b->builder = calloc(count, sizeof *b->builder);
    b->spill = calloc(count, sizeof *b->spill);
    b->status = calloc(count, sizeof *b->status);
    b->error = calloc(count, sizeof *b->error);
    b->keys = calloc(count, sizeof *b->keys);
    b->shards->w = calloc(count, sizeof *b->shards->w);
    return (b->keys && b->builder && b->spill && b->status && b->error && b->shards->w) ||
           reject("out of memory");
}

bool building_open(struct building *b, const char *spec, uint32_t count, struct shards *shards)
{
    *b = (struct building){.shards = shards};
    *shards = (struct shards){0};
    snprintf(shards->config, sizeof shards->config, "%s", spec);
    b->hash = hash_of_spec(spec);
    if (!allocate(b, count))
        return false;
    for (; b->count < count; b->count++) {
        struct weir_spill room;
        struct weir_error error;

        spill_open(&b->spill[b->count], SPILL_KEPT / count);
        if (weir_build_begin(&b->builder[b->count], spec, NULL, &error) != WEIR_OK)
            return reject("%s", error.text);
        room = spill_room(&b->spill[b->count]);
        weir_build_spill(b->builder[b->count], &room);
    }
    return true;
}

void building_close(struct building *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        weir_build_cancel(b->builder[i]);
        spill_close(&b->spill[i]);
    }
    free(b->builder);
    free(b->spill);
    free(b->keys);
    free(b->status);
    free(b->error);
    *b = (struct building){0};
}

/* The error message of a shard. */
static const char *why(const struct building *b, uint32_t shard)
{
    return b->status[shard] == WEIR_WRITE_FAILED ? spill_failure(&b->spill[shard])
                                                 : b->error[shard].text;
}

/* Each shard frees its keys before the next one is built. */
bool building_finish(struct building *b)
{
    struct shards *s = b->shards;

    for (uint32_t i = 0; i < b->count; i++) {
        weir_builder *builder = b->builder[i];

        b->builder[i] = NULL;
        b->status[i] = weir_build_finish(builder, &s->w[i], &b->error[i]);
        if (b->status[i] != WEIR_OK)
            return reject("%s", why(b, i));
        s->count++;
        spill_close(&b->spill[i]);
    }
    weir_config(s->w[0], s->config, sizeof s->config);
    return shards_join(s, &b->error[0]) == WEIR_OK || reject("%s", b->error[0].text);
}

/* ---- a batch ---- */

static void prepare(void *context, struct batch *batch)
{
    const struct building *b = context;

    if (b->prefixes)
        networks_convert(b->prefixes, batch);
    keys_hash(b->hash, batch);
}

static void add_to(struct building *b, uint32_t shard, const struct weir_key *keys, size_t n)
{
    if (b->status[shard] == WEIR_OK)
        b->status[shard] = weir_build_add(b->builder[shard], keys, n, &b->error[shard]);
}

static void add_by_shard(struct building *b, const struct good_keys *good)
{
    for (uint32_t i = 0; i < good->n; i++) {
        uint32_t shard = weir_shard(good->key[i], b->count);
        struct shard_keys *k = &b->keys[shard];

        k->key[k->n++] = good->key[i];
        if (k->n == SHARD_KEYS) {
            add_to(b, shard, k->key, k->n);
            k->n = 0;
        }
    }
    for (uint32_t j = 0; j < b->count; j++) {
        add_to(b, j, b->keys[j].key, b->keys[j].n);
        b->keys[j].n = 0;
    }
}

static void give(void *context, struct batch *batch)
{
    struct building *b = context;
    const struct good_keys *good = keys_select(batch);

    if (b->count == 1)
        add_to(b, 0, good->key, good->n);
    else
        add_by_shard(b, good);
    memset(good->verdict, WEIR_NEW, good->n);
    keys_return(batch);
}

static void complete(void *context, struct batch *batch)
{
    const struct building *b = context;

    for (uint32_t i = 0; i < b->count && !batch->failed; i++) {
        if (b->status[i] == WEIR_OK)
            continue;
        snprintf(batch->failure, sizeof batch->failure, "%s", why(b, i));
        batch->failed = true;
    }
}

/* ---- the whole ---- */

static bool save(void *context, const char *path, const char *note)
{
    struct building *b = context;
    char with_prefixes[NOTE_MAX];

    snprintf(with_prefixes, sizeof with_prefixes, "%s", note);
    if (b->prefixes)
        prefixes_write(b->prefixes, with_prefixes, sizeof with_prefixes);
    return building_finish(b) && file_save(path, with_prefixes, b->shards);
}

/* Every key is new. */
static void report_counts(void *context, const struct tally *t)
{
    (void)context;
    (void)t;
}

static json_t *describe_counts(void *context, const struct tally *t)
{
    const struct building *b = context;

    (void)t;
    return json_pack("{s:I}", "keys", (json_int_t)shards_stats(b->shards).new_keys);
}

static double error_of(const struct building *b, const struct weir_stats *f)
{
    return b->prefixes ? prefixes_error(b->prefixes, f->error) : f->error;
}

static void report(void *context, const struct tally *t)
{
    const struct shards *s = ((const struct building *)context)->shards;
    struct weir_stats f = shards_stats(s);
    double keys = f.new_keys ? (double)f.new_keys : 1;

    (void)t;
    if (s->count == 0)
        return;
    fprintf(stderr,
            "weir: filter %s%s: %llu distinct keys, %.2f bits each; false-positive rate %s\n",
            s->config, s->count > 1 ? " in shards" : "", (unsigned long long)f.new_keys,
            8 * (double)f.memory / keys, show_chance(error_of(context, &f)).text);
}

static void brief(void *context)
{
    const struct building *b = context;
    struct weir_stats f = shards_stats(b->shards);

    if (b->shards->count > 0)
        fprintf(stderr, "; %llu distinct keys in %s, false-positive rate %s",
                (unsigned long long)f.new_keys, show_bytes((double)f.memory).text,
                show_chance(error_of(b, &f)).text);
}

static json_t *describe(void *context, const struct tally *t)
{
    const struct shards *s = ((const struct building *)context)->shards;
    struct weir_stats f = shards_stats(s);

    (void)t;
    return json_pack("{s:{s:s,s:I,s:I,s:I,s:f}}", "filter", "config", s->config, "shards",
                     (json_int_t)s->count, "memory", (json_int_t)f.memory, "keys",
                     (json_int_t)f.new_keys, "error", error_of(context, &f));
}

static const struct verdict_summary summary = {.report_counts = report_counts,
                                               .describe_counts = describe_counts,
                                               .brief = brief,
                                               .report = report,
                                               .describe = describe};

struct verdict verdict_by_builder(struct building *b)
{
    static const char *const words[] = {"new", "seen"};

    return (struct verdict){.context = b,
                            .prepare = prepare,
                            .give = give,
                            .complete = complete,
                            .completer = b,
                            .save = save,
                            .summary = &summary,
                            .words = words,
                            .seen = "seen",
                            .filled = "filter",
                            .config = b->shards->config,
                            .hash = b->hash};
}
