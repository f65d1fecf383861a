/* build.c - weir build, add, forget, merge and grow: create and change filter files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/units.h"
#include "cmd/at.h"
#include "cmd/commands.h"
#include "cmd/sets.h"
#include "pick/network.h"
#include "state/files.h"
#include "state/replace.h"

/* ---- weir build ---- */

int cmd_build(struct options *o)
{
    static char note[NOTE_MAX];
    char keys[WEIR_KEY_DESCRIPTION_MAX];
    struct shards shards = {0};
    struct prefix_lengths prefixes = {{0}};
    struct run r = run_asked(o, 0);
    bool built, fixed = keyset_is_fixed(o);

    if (o->exact.dir && o->set.fixed)
        return fail("--exact cannot be combined with --fixed: an index is not a filter; remove "
                    "--fixed");
    if (o->exact.dir && o->output.path)
        return fail("--exact cannot be combined with -o: DIR is the output; remove -o");
    if (o->exact.dir) {
        o->output.mute = true;
        return cmd_dedup(o);
    }
    if (!o->output.path)
        return fail("'weir build' needs -o FILE, the filter file to write");
    if (!replace_spares(o->output.path, REPLACES_FILTER))
        return EXIT_ERROR;
    records_describe_keys(&o->records, keys, sizeof keys);
    file_describe_keys(note, keys);
    r.note = note;
    r.is_list = true;
    r.save = o->output.path;
    r.output = (struct output){.mute = true};
    built = keyset_build(o, &r, fixed, &shards, o->records.cidr ? &prefixes : NULL);
    if (built && !fixed)
        keyset_tell_fixed(o, &shards);
    shards_close(&shards);
    return built ? EXIT_FINE : EXIT_ERROR;
}

/* ---- weir add, weir forget ---- */

static int add_at(const struct options *o)
{
    struct run r = run_asked(o, 0);

    if (o->on_full == FULL_STOPS)
        return fail(AT_NOT_ON_FULL);
    r.is_list = true;
    r.output = (struct output){.mute = true};
    return at_once(o, &r, false, NULL);
}

int cmd_add(struct options *o)
{
    return o->at.url ? add_at(o) : keyset_change(o, WEIR_SHARED_OBSERVE);
}

int cmd_forget(struct options *o)
{
    return keyset_change(o, WEIR_SHARED_FORGET);
}

/* ---- weir merge ---- */

/* The reason; if only the random seeds differ, also the fix. */
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

/* Fixed filters cannot be merged: build one from the keys of both. */
static bool can_be_merged(const struct shards *into, const char *first)
{
    uint64_t traits = 0;

    if (weir_spec_traits(WEIR_KIND_FILTER, into->config, &traits, NULL) != WEIR_OK ||
        traits & WEIR_CAN_OBSERVE)
        return true;
    return reject("%s is fixed: %.*s filters cannot be merged; 'weir build --fixed -o F KEYS KEYS' "
                  "builds one from the keys of both",
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

/* A set of networks has the prefix lengths of both. */
static void merge_prefixes(struct stored *stored, const struct stored *other)
{
    struct prefix_lengths prefixes, more;

    if (!prefixes_read(&prefixes, stored->note) || !prefixes_read(&more, other->note))
        return;
    prefixes_join(&prefixes, &more);
    prefixes_write(&prefixes, stored->note, sizeof stored->note);
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
    if (ok)
        merge_prefixes(stored, &other);
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

int cmd_merge(struct options *o)
{
    static struct stored stored;
    static char note[NOTE_MAX];
    struct prefix_lengths prefixes;
    bool ok;

    if (!o->output.path)
        return fail("'weir merge' needs -o FILE, the filter file to write");
    if (o->operands < 2)
        return fail("'weir merge' needs two or more filter files");
    if (!replace_spares(o->output.path, REPLACES_FILTER) ||
        !replace_possible(o->output.path)) /* before reading: it may be an input */
        return EXIT_ERROR;
    if (file_has_sketch(o->operand[0]))
        return merge_sketches(o);
    ok = file_load(&stored, o->operand[0]) && can_be_merged(&stored.shards, o->operand[0]);
    for (int i = 1; ok && i < o->operands; i++)
        ok = merge_file(&stored, o->operand[i], o->operand[0], o->keys_differ);
    file_describe_keys(note, stored.keys);
    if (ok && prefixes_read(&prefixes, stored.note))
        prefixes_write(&prefixes, note, sizeof note);
    ok = ok && file_save(o->output.path, note, &stored.shards);
    shards_close(&stored.shards);
    return ok ? EXIT_FINE : EXIT_ERROR;
}

/* ---- weir grow ---- */

/* The spec of the whole filter: from the note, or from the shards. */
static void whole_spec(const struct stored *s, char spec[WEIR_SPEC_MAX])
{
    if (!at_note_spec(s->note, strlen(s->note), spec))
        snprintf(spec, WEIR_SPEC_MAX, "%s", s->shards.config); /* also that of a state */
}

/* The factor; 0 after a message. */
static uint32_t times_of(const struct options *o, const char *spec)
{
    uint64_t now = 0, wanted = 0;

    weir_spec_number(spec, "memory", &now);
    if (!read_size(o->filter.memory, &wanted))
        return reject("--memory %s: invalid size; use a number with K, M or G, for example 64M",
                      o->filter.memory);
    if (now > 0 && wanted > now && wanted % now == 0 && wanted / now <= UINT32_MAX)
        return (uint32_t)(wanted / now);
    return reject("--memory %s: %s has %llu bytes; a filter grows to 2, 3, 4... times its memory, "
                  "for example -m %llu",
                  o->filter.memory, o->operand[0], (unsigned long long)now,
                  (unsigned long long)(2 * now));
}

/* Write the note with the new memory, as the command that created it would. */
static void grow_note(struct stored *s, const char *spec, uint32_t times)
{
    char grown[WEIR_SPEC_MAX], at[WEIR_SPEC_MAX];
    uint64_t now = 0;
    const char *memory = strstr(spec, " memory=");

    if (!memory || !weir_spec_number(spec, "memory", &now))
        return;
    const char *rest = memory + 1 + strcspn(memory + 1, " ");
    snprintf(grown, sizeof grown, "%.*s memory=%llu%s", (int)(memory - spec), spec,
             (unsigned long long)(times * now), rest);
    if (s->has_state) {
        memcpy(s->state.config, grown, sizeof s->state.config);
        state_write(&s->state, s->note);
    } else if (at_note_spec(s->note, strlen(s->note), at)) {
        at_note(s->note, sizeof s->note, grown, s->keys);
    }
}

/* Replace each shard by a larger one. */
static bool grow_shards(const char *path, struct shards *s, uint32_t times)
{
    struct shards grown = {.count = s->count, .w = calloc(s->count, sizeof *grown.w)};
    struct weir_error error = {0};
    bool ok = true;

    if (!grown.w)
        return reject("out of memory");
    for (uint32_t i = 0; ok && i < s->count; i++)
        ok = weir_grow(&grown.w[i], s->w[i], times, &error) == WEIR_OK;
    ok = ok && shards_join(&grown, &error) == WEIR_OK;
    if (!ok) {
        shards_close(&grown);
        if (error.status != WEIR_UNSUPPORTED)
            return reject("%s: %s", path, error.text);
        return reject("%s: %s. Build it again with more -m; or, with dedup, keep it as it is: "
                      "'weir filter --invert %s FILE | weir dedup --state NEW -m SIZE'",
                      path, error.text, path);
    }
    weir_shared_config(grown.shared, grown.config, sizeof grown.config);
    shards_close(s);
    *s = grown;
    return true;
}

static bool check_grow(const struct options *o)
{
    if (!o->output.path)
        return reject("'weir grow' needs -o FILE, the file to write");
    if (!o->filter.memory)
        return reject("'weir grow' needs -m SIZE, the memory of the larger filter");
    return (o->operands == 1 || reject("'weir grow' needs one filter or state file")) &&
           replace_spares(o->output.path, REPLACES_FILTER) && replace_possible(o->output.path);
}

int cmd_grow(struct options *o)
{
    static struct stored stored;
    char spec[WEIR_SPEC_MAX];
    uint32_t times = 0;

    if (!check_grow(o))
        return EXIT_ERROR;
    bool ok = lock_file(o->operand[0]) && file_load(&stored, o->operand[0]);
    if (ok) {
        whole_spec(&stored, spec);
        times = times_of(o, spec);
    }
    ok = times > 0 && grow_shards(o->operand[0], &stored.shards, times);
    if (ok)
        grow_note(&stored, spec, times);
    ok = ok && file_save(o->output.path, stored.note, &stored.shards);
    shards_close(&stored.shards);
    return ok ? EXIT_FINE : EXIT_ERROR;
}
