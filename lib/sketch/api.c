/* api.c - the public calls of weir/sketch.h, and sketches as handles (format/handle.h).
 *
 * A sketch is one allocation: struct weir_sketch, its own state, and the data. It is saved as one
 * part:
 *
 *   words = total [clock origin base begun]   the four if counts fade (half_life.h)
 *   cells = count-min:   counters
 *           top:         floor too-long n (count error size key)* cells
 *           heavykeeper: arrivals, keys as in top, buckets */
#include "sketch/sketch.h"

#include <string.h>
#include <weir/hash.h>

#include "sketch/half_life.h"
#include "spec/caller_struct.h"

/* ---- sketches as handles ---- */

static struct handle_size size_of(const void *config)
{
    const struct sketch_config *c = config;

    return (struct handle_size){.head = memory_lines(sizeof(weir_sketch) + c->ops->own),
                                .data = c->bytes,
                                .asked = c->bytes,
                                .cells = c->depth ? c->depth : 1};
}

static void begin(struct handle *handle, const void *config)
{
    weir_sketch *s = (weir_sketch *)handle;

    s->config = *(const struct sketch_config *)config;
    s->ops = s->config.ops;
    s->ops->lay(s);
    fade_begin(s);
}

static void copy(struct handle *handle, const struct handle *from)
{
    weir_sketch *s = (weir_sketch *)handle;
    const weir_sketch *of = (const weir_sketch *)from;

    memcpy(sketch_own(s), sketch_own(of), s->ops->own);
    s->ops->lay(s);
}

static void reset(struct handle *handle)
{
    weir_sketch *s = (weir_sketch *)handle;

    memset(sketch_own(s), 0, s->ops->own);
    s->ops->lay(s);
    fade_begin(s);
}

static enum weir_status check_merge(const struct handle *into, const struct handle *from,
                                    struct weir_error *error)
{
    const weir_sketch *s = (const weir_sketch *)into;

    (void)from;
    if (s->ops->merge)
        return WEIR_OK;
    return error_say(error, WEIR_ERROR_UNSUPPORTED, s->config.is.of->about.name,
                     s->ops->unmergeable, "; ", spec_names(&sketch_grammar, WEIR_CAN_MERGE).text,
                     " can be", NULL);
}

/* Bring both to the same age, in time or in records, and merge the copies. */
static enum weir_status merge_fading(weir_sketch *into, const weir_sketch *from)
{
    weir_sketch *sum = weir_sketch_clone(into, NULL), *other = weir_sketch_clone(from, NULL);
    enum weir_status status = sum && other ? WEIR_OK : WEIR_NO_MEMORY;

    if (status == WEIR_OK) {
        if (from->age.begun)
            fade_advance(sum, from->age.clock);
        fade_all(other, fade_between(other, sum));
        status = sum->ops->merge(sum, other);
    }
    if (status == WEIR_OK)
        handle_copy(&into->handle, &sum->handle);
    weir_sketch_close(sum);
    weir_sketch_close(other);
    return status;
}

static enum weir_status merge(struct handle *handle, const struct handle *from,
                              struct weir_error *error)
{
    weir_sketch *s = (weir_sketch *)handle;
    const weir_sketch *of = (const weir_sketch *)from;

    if ((fades(s) ? merge_fading(s, of) : s->ops->merge(s, of)) != WEIR_OK)
        return handle_no_memory(&sketch_kind, &s->config, &handle->memory, error);
    return WEIR_OK;
}

/* ---- save and load ---- */

static void save_words(const struct handle *handle, struct part_head *h)
{
    const weir_sketch *s = (const weir_sketch *)handle;

    h->kind = s->ops->part;
    h->cells = s->ops->state_size(s);
    part_word(h, s->total);
    if (fades(s))
        fade_put(s, h);
}

static void put_cells(const void *handle, struct part_writer *out)
{
    const weir_sketch *s = handle;

    s->ops->put(s, out);
}

static bool is_part(const void *config, uint32_t part)
{
    const struct sketch_config *c = config;

    return c->ops->part == part;
}

static bool fits(const void *config, const struct part_head *h)
{
    const struct sketch_config *c = config;

    return h->words == 1 + (c->half_life.length ? FADE_WORDS : 0) &&
           (c->ops->fixed ? h->cells == c->bytes : h->cells <= c->bytes);
}

static bool load_state(weir_sketch *s, const struct part_head *h, const uint8_t *cells)
{
    struct part_reader in = {cells, (size_t)h->cells};

    s->total = h->word[0];
    return (!fades(s) || fade_get(s, h->word + 1)) && s->ops->get(s, &in) && in.left == 0;
}

/* Cells in memory are parsed in place. From a stream, counters are read directly into the data, and
 * the cells of other sketches into temporary memory. */
static enum weir_status load(struct handle *handle, const struct part_head *h, struct part_input in,
                             struct weir_error *error)
{
    weir_sketch *s = (weir_sketch *)handle;
    struct memory *memory = &handle->memory;
    void *allocation = NULL;
    const uint8_t *cells;
    enum weir_status status = part_input_in_place(in, h, &cells, error);

    if (status == WEIR_OK && !cells) {
        uint8_t *room = s->ops->fixed ? handle->data : memory_open(memory, h->cells, &allocation);

        if (!room)
            return handle_no_memory(&sketch_kind, &s->config, memory, error);
        status = part_input_cells(in, h, room, error);
        cells = room;
    }
    if (status == WEIR_OK && !load_state(s, h, cells))
        status = handle_impossible(&sketch_kind, error);
    if (allocation)
        memory_close(memory, allocation);
    return status;
}

const struct handle_kind sketch_kind = {
    .grammar = &sketch_grammar,
    .parts = {WEIR_PART_COUNTS, WEIR_PART_TOP},
    .record = offsetof(weir_sketch, config),
    .state = offsetof(weir_sketch, total),
    .state_size = sizeof(weir_sketch) - offsetof(weir_sketch, total),
    HANDLE_FUNCTIONS,
    .copy = copy,
    .reset = reset,
    .put = put_cells,
    .is_part = is_part,
    .load = load,
};

/* ---- count and look up ---- */

void weir_sketch_add(weir_sketch *s, struct weir_bytes key, uint64_t amount)
{
    handle_use(&s->handle, 1);
    fade_records(s, 1);
    s->ops->add(s, key, sketch_amount(s, &amount, 0));
}

void weir_sketch_add_many(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                          size_t n)
{
    handle_use(&s->handle, n);
    for (size_t done = 0, run; done < n; done += run) {
        run = fade_records(s, n - done);
        s->ops->add_many(s, keys + done, amounts ? amounts + done : NULL, run);
    }
}

struct weir_key weir_sketch_hash(const weir_sketch *s, const void *data, size_t size)
{
    return weir_hash_bytes((uint32_t)s->config.hash, s->config.seed, data, size);
}

static enum weir_status needs_bytes(const weir_sketch *s, struct weir_error *error)
{
    return error_say(error, WEIR_ERROR_UNSUPPORTED, s->config.is.of->about.name,
                     " stores keys: it needs their bytes, not their hashes", NULL);
}

enum weir_status weir_sketch_add_hashed(weir_sketch *s, const struct weir_key *keys,
                                        const uint64_t *amounts, size_t n, struct weir_error *error)
{
    if (!s->ops->add_hashed)
        return needs_bytes(s, error);
    handle_check_keys(s->config.hash, s->config.seed, keys, n);
    handle_use(&s->handle, n);
    for (size_t done = 0, run; done < n; done += run) {
        run = fade_records(s, n - done);
        s->ops->add_hashed(s, keys + done, amounts ? amounts + done : NULL, run);
    }
    return WEIR_OK;
}

void weir_sketch_advance(weir_sketch *s, uint64_t now)
{
    fade_advance(s, now);
}

/* Runs of records with equal weight are added together. */
void weir_sketch_add_many_at(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                             const uint64_t *times, size_t n)
{
    for (size_t done = 0, run; done < n; done += run) {
        run = fade_times(s, times + done, n - done);
        weir_sketch_add_many(s, keys + done, amounts ? amounts + done : NULL, run);
    }
}

enum weir_status weir_sketch_take(weir_sketch *s, struct weir_bytes key, uint64_t amount,
                                  struct weir_error *error)
{
    if (!s->ops->take || !s->ops->can_take(&s->config))
        return error_say(error, WEIR_ERROR_UNSUPPORTED, s->config.is.of->about.name,
                         " cannot subtract with this spec; ",
                         spec_names(&sketch_grammar, WEIR_CAN_FORGET).text,
                         " with update=plain can", NULL);
    s->ops->take(s, key, sketch_amount(s, &amount, 0));
    return WEIR_OK;
}

struct weir_estimate weir_sketch_ask(const weir_sketch *s, struct weir_bytes key)
{
    return fade_estimate(s, s->ops->ask(s, key));
}

static void estimates_of(const weir_sketch *s, struct weir_estimate *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = fade_estimate(s, out[i]);
}

void weir_sketch_ask_many(const weir_sketch *s, const struct weir_bytes *keys, size_t n,
                          struct weir_estimate *out)
{
    if (s->ops->ask_many)
        s->ops->ask_many(s, keys, n, out);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = s->ops->ask(s, keys[i]);
    estimates_of(s, out, n);
}

enum weir_status weir_sketch_ask_hashed(const weir_sketch *s, const struct weir_key *keys, size_t n,
                                        struct weir_estimate *out, struct weir_error *error)
{
    if (!s->ops->ask_hashed)
        return needs_bytes(s, error);
    handle_check_keys(s->config.hash, s->config.seed, keys, n);
    s->ops->ask_hashed(s, keys, n, out);
    estimates_of(s, out, n);
    return WEIR_OK;
}

size_t weir_sketch_top(const weir_sketch *s, struct weir_heavy *out, size_t n)
{
    n = s->ops->top ? s->ops->top(s, out, n) : 0;
    for (size_t i = 0; i < n; i++) {
        struct weir_estimate now =
            fade_estimate(s, (struct weir_estimate){out[i].count, out[i].error});

        out[i].count = now.count;
        out[i].error = now.error;
    }
    return n;
}

enum weir_status weir_sketch_weigh(weir_sketch *into, const weir_sketch *const *from,
                                   const int64_t *weights, size_t n, struct weir_error *error)
{
    if (!into->ops->weigh || fades(into))
        return error_say(error, WEIR_ERROR_UNSUPPORTED, into->config.is.of->about.name,
                         " cannot be multiplied by a weight", NULL);
    for (size_t i = 0; i < n; i++)
        if (handle_check_alike(&into->handle, &from[i]->handle, error) != WEIR_OK)
            return WEIR_MISMATCH;
    if (!into->ops->weigh(into, from, weights, n))
        return error_say(error, WEIR_ERROR_OUT_OF_RANGE,
                         "a count would be below 0 or above its maximum", NULL);
    return WEIR_OK;
}

void weir_sketch_measure(const weir_sketch *s, struct weir_sketch_stats *out, size_t size)
{
    struct weir_sketch_stats stats = {
        .memory = s->handle.size, .bytes = s->handle.bytes, .total = s->total};

    s->ops->stats(s, &stats);
    stats.total = fade_count(s, stats.total);
    if (stats.error != WEIR_NO_BOUND)
        stats.error = fade_count(s, stats.error);
    stats.too_long = fade_count(s, stats.too_long);
    caller_struct_return(out, size, &stats, sizeof stats);
}
