/* merge.c - weir merge: one filter file from several. */
#include <string.h>

#include "cmd/commands.h"
#include "cli/messages.h"
#include "state/files.h"

/* Why not; and where only chance chose the seeds, what helps the next time. */
static bool refuse(const char *first, const char *second, enum weir_status status, const char *why,
                   const char *held, const char *other)
{
    uint64_t a = 0, b = 0;

    if (status == WEIR_MISMATCH && weir_spec_number(held, "seed", &a) &&
        weir_spec_number(other, "seed", &b) && a != b)
        return reject("%s and %s: %s; run all with --seed %llu", first, second, why,
                      (unsigned long long)a);
    return reject("%s and %s: %s", first, second, why);
}

/* A filter that learns no key is joined with another by the build that made both. */
static bool can_be_merged(const struct shards *into, const char *first)
{
    uint64_t traits = 0;

    if (weir_spec_traits(WEIR_KIND_FILTER, into->config, &traits, NULL) != WEIR_OK ||
        traits & WEIR_CAN_OBSERVE)
        return true;
    return reject("%s is fixed: %.*s is solved for its keys at once, and not merged; 'weir build "
                  "--fixed -o F KEYS KEYS' makes one of the keys of both",
                  first, (int)strcspn(into->config, " "), into->config);
}

static bool same_keys(const struct stored *into, const struct stored *other, const char *first,
                      const char *path)
{
    return strcmp(into->keys, other->keys) == 0 ||
           reject("%s and %s: keys were made with %s and with %s; merge filters of the same "
                  "key options (--keys-differ merges these)",
                  first, path, file_shown_keys(into->keys), file_shown_keys(other->keys));
}

static bool merge_file(struct stored *stored, const char *path, const char *first, bool keys_differ)
{
    static struct stored other;
    struct shards *into = &stored->shards;
    struct weir_error error;
    bool ok = file_load(&other, path) && (keys_differ || same_keys(stored, &other, first, path));

    if (ok && other.shards.count != into->count)
        ok = reject(
            "%s was made with --shards %u, %s with %u; only filters of one configuration and "
            "seed can be merged",
            first, into->count, path, other.shards.count);
    for (uint32_t i = 0; ok && i < into->count; i++) {
        enum weir_status status = weir_merge(into->w[i], other.shards.w[i], &error);

        ok = status == WEIR_OK ||
             refuse(first, path, status, error.text, into->config, other.shards.config);
    }
    shards_close(&other.shards);
    return ok;
}

/* The same for files of sketches. */
static int merge_sketches(const struct options *o)
{
    weir_sketch *into = file_load_sketch(o->operand[0]);
    struct weir_error error;
    bool ok = into != NULL;

    for (int i = 1; ok && i < o->operands; i++) {
        weir_sketch *other = file_load_sketch(o->operand[i]);

        ok = other != NULL;
        enum weir_status status = ok ? weir_sketch_merge(into, other, &error) : WEIR_OK;
        if (status != WEIR_OK) {
            char held[WEIR_SPEC_MAX], offered[WEIR_SPEC_MAX];

            weir_sketch_config(into, held, sizeof held);
            weir_sketch_config(other, offered, sizeof offered);
            ok = refuse(o->operand[0], o->operand[i], status, error.text, held, offered);
        }
        weir_sketch_close(other);
    }
    ok = ok && file_save_sketch(o->output.path, into);
    weir_sketch_close(into);
    return ok ? EXIT_FINE : EXIT_ERROR;
}

int cmd_merge(const struct options *o)
{
    static struct stored stored;
    static char note[NOTE_MAX];
    bool ok;

    if (!o->output.path)
        return fail("'weir merge' needs -o FILE, the filter file to make");
    if (o->operands < 2)
        return fail("'weir merge' needs two or more filter files");
    if (!replace_spares(o->output.path, REPLACES_FILTER) ||
        !replace_possible(o->output.path)) /* before reading: it may be one of them */
        return EXIT_ERROR;
    if (file_has_sketch(o->operand[0]))
        return merge_sketches(o);
    ok = file_load(&stored, o->operand[0]) && can_be_merged(&stored.shards, o->operand[0]);
    for (int i = 1; ok && i < o->operands; i++)
        ok = merge_file(&stored, o->operand[i], o->operand[0], o->keys_differ);
    file_describe_keys(note, stored.keys);
    ok = ok && file_save(o->output.path, note, &stored.shards);
    shards_close(&stored.shards);
    return ok ? EXIT_FINE : EXIT_ERROR;
}
