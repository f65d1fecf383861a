/* api.c - the public calls of weir/sketch.h, and the sentence that opens a
 * sketch. One allocation each: [struct weir_sketch | pad][data]. */
#include "sketch/sketch.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "sketch/half_life.h"

static const struct sketch_ops *const sketches[] = {&sketch_count_min, &sketch_top,
                                                    &sketch_heavykeeper};

#define SKETCHES (sizeof sketches / sizeof *sketches)

static const char *const counters[] = {"32", "64", NULL};
static const char *const updates[] = {"plain", "conservative", NULL};
static const char *const layouts[] = {"rows", "line", NULL};

static bool read_half_life(struct span text, void *value)
{
    struct half_life *h = value;

    h->timed = span_time(text, &h->length);
    return (h->timed || span_count(text, &h->length)) && h->length > 0 &&
           h->length <= UINT64_C(1000000000000);
}

static void write_half_life(struct text *t, const void *value)
{
    const struct half_life *h = value;

    text_add_u64(t, h->length);
    text_add(t, h->timed ? "ms" : "");
}

/* clang-format off */
static const struct knob_row rows[SKETCH_KNOBS] = {
#define AT(member) .offset = offsetof(struct sketch_config, member)
    [SKETCH_MEMORY] = {{"memory", "a size from 64 (bytes) to 16T: 1M, 64M, 1G",
        "memory of counters and keys"}, .kind = A_SIZE, AT(memory),
        .min = 512, .max = UINT64_C(1) << 47},
    [SKETCH_KEYS] = {{"keys", "a count from 1 to 100M: 1000, 100k",
        "keys that are kept at once"}, .kind = A_COUNT, AT(keys), .min = 1, .max = 100000000},
    [SKETCH_DEPTH] = {{"depth", "a whole number from 1 to 16",
        "rows, of one hash function each"}, .kind = A_COUNT, AT(depth), .min = 1, .max = DEPTH_MAX},
    [SKETCH_WIDTH] = {{"width", "a count from 1 to 1T, instead of memory=",
        "buckets in a row"}, .kind = A_COUNT, AT(width), .min = 1, .max = 1000000000000},
    [SKETCH_DECAY] = {{"decay", "a rate above 0, up to 0.99: 0.9",
        "chance to lose a count of 1 to another key; decay^c for a count of c"}, .kind = A_SHARE,
        AT(decay), .min = 1, .max = 990000000},
    [SKETCH_COUNTER] = {{"counter", "32 or 64",
        "bits per counter, which stops at its top"}, .kind = A_WORD, AT(counter), .words = counters},
    [SKETCH_UPDATE] = {{"update", "plain or conservative",
        "conservative: less error, nothing can be taken back"}, .kind = A_WORD, AT(update),
        .words = updates},
    [SKETCH_LAYOUT] = {{"layout", "rows or line",
        "line: all counters of a key in one cache line"}, .kind = A_WORD, AT(layout),
        .words = layouts},
    [SKETCH_ERROR] = {{"error", "a rate above 0 and below 1: 0.001, 0.1%, 1e-6",
        "by how much a count may be too high, as a share of all that is counted"},
        .kind = A_RATE, AT(error)},
    [SKETCH_CONFIDENCE] = {{"confidence", "a rate above 0 and below 1: 0.99, 99%",
        "with what chance error= holds"}, .kind = A_RATE, AT(confidence)},
    [SKETCH_HALF_LIFE] = {{"half-life", "a count of records or a time: 10M, 1h, 7d",
        "after which a count is worth half"}, .kind = ITS_OWN, AT(half_life),
        .read = read_half_life, .write = write_half_life},
    [SKETCH_HASH] = {{"hash", "xxh3, or sip where strangers choose the keys",
        "hash function"}, .kind = A_WORD, AT(hash), .words = knob_hashes},
    [SKETCH_SEED] = {{"seed", "a whole number below 2^64",
        "seed of hashing (random if not given)"}, .kind = A_COUNT, AT(seed), .max = UINT64_MAX},
#undef AT
};
/* clang-format on */

/* ---- the sentence ---- */

bool sketch_config_read(const char *sentence, struct sketch_config *c, struct weir_error *error)
{
    const char *at = sentence ? sentence : "";
    struct span name = sentence_name(&at);
    size_t i = 0;

    while (i < SKETCHES && !span_is(name, sketches[i]->about.name))
        i++;
    if (i == SKETCHES) {
        error_say(error, WEIR_BAD_CONFIG, "there is no sketch '", quote(name).text,
                  "'; there are count-min, top, heavykeeper", NULL);
        return false;
    }
    *c = (struct sketch_config){.ops = sketches[i], .memory = sketches[i]->memory};
    struct knobs knobs = {c->ops->about.name, rows, SKETCH_KNOBS, c->ops->knobs};
    return knobs_read(&knobs, at, c, &c->given, error);
}

/* What error=, confidence= and width= asked for is in the others. */
static bool is_kept(const struct sketch_config *c, int knob)
{
    if (knob == SKETCH_HALF_LIFE && c->half_life.length == 0)
        return false;
    return (c->ops->knobs & HAS_KNOB(knob)) && knob != SKETCH_ERROR && knob != SKETCH_CONFIDENCE &&
           knob != SKETCH_WIDTH;
}

size_t sketch_config_write(const struct sketch_config *c, char *buffer, size_t size)
{
    struct text t = text_in(buffer, size);

    text_add(&t, c->ops->about.name);
    for (int knob = 0; knob < SKETCH_KNOBS; knob++) {
        if (is_kept(c, knob)) {
            text_add(&t, " ");
            knobs_write(&t, &rows[knob], c);
        }
    }
    return (size_t)(t.at - buffer);
}

const struct weir_about *weir_sketch_about(size_t i)
{
    return i < SKETCHES ? &sketches[i]->about : NULL;
}

const struct weir_knob *weir_sketch_about_knob(size_t i, size_t j)
{
    for (int knob = 0; i < SKETCHES && knob < SKETCH_KNOBS; knob++)
        if ((sketches[i]->knobs & HAS_KNOB(knob)) && j-- == 0)
            return &rows[knob].about;
    return NULL;
}

/* ---- open and close ---- */

weir_sketch *sketch_make(const struct sketch_config *c, uint64_t bytes)
{
    uint64_t head = (sizeof(weir_sketch) + LINE - 1) / LINE * LINE;
    void *allocation;
    weir_sketch *s = memory_open(head + bytes, &allocation);

    if (!s)
        return NULL;
    s->ops = c->ops;
    s->config = *c;
    s->allocation = allocation;
    s->bytes = head + bytes;
    s->data = (uint8_t *)s + head;
    s->size = bytes;
    s->ops->lay(s);
    fade_begin(s);
    return s;
}

enum weir_status weir_sketch_open(weir_sketch **out, const char *config, struct weir_error *error)
{
    struct sketch_config c;
    uint64_t bytes;

    *out = NULL;
    if (!sketch_config_read(config, &c, error))
        return WEIR_BAD_CONFIG;
    if (!sketch_given(&c, SKETCH_SEED) && getentropy(&c.seed, sizeof c.seed) != 0)
        return error_say(error, WEIR_NO_MEMORY,
                         "the system gives no random seed; give seed=", NULL);
    if (!c.ops->plan(&c, &bytes, error))
        return WEIR_BAD_CONFIG;
    *out = sketch_make(&c, bytes);
    return *out ? WEIR_OK : error_no_memory(error, bytes);
}

void weir_sketch_close(weir_sketch *s)
{
    if (s)
        memory_close(s->allocation);
}

weir_sketch *weir_sketch_clone(const weir_sketch *s)
{
    weir_sketch *twin = sketch_make(&s->config, s->size);

    if (twin)
        sketch_copy(twin, s);
    return twin;
}

void sketch_copy(weir_sketch *to, const weir_sketch *from)
{
    to->total = from->total;
    to->weight = from->weight;
    to->fade = from->fade;
    to->arrivals = from->arrivals;
    to->summary = from->summary;
    memcpy(to->data, from->data, from->size);
}

void weir_sketch_clear(weir_sketch *s)
{
    s->total = 0;
    s->arrivals = 0;
    s->summary = (struct summary){0};
    memset(s->data, 0, s->size);
    s->ops->lay(s);
    fade_begin(s);
}

/* ---- count and ask ---- */

static enum weir_status unsupported(const weir_sketch *s, const char *why, struct weir_error *error)
{
    return error_say(error, WEIR_UNSUPPORTED, s->ops->about.name, why, NULL);
}

void weir_sketch_add(weir_sketch *s, struct weir_bytes key, uint64_t amount)
{
    fade_records(s, 1);
    s->ops->add(s, key, sketch_amount(s, &amount, 0));
}

void weir_sketch_add_many(weir_sketch *s, const struct weir_bytes *keys, const uint64_t *amounts,
                          size_t n)
{
    for (size_t done = 0, run; done < n; done += run) {
        run = fade_records(s, n - done);
        s->ops->add_many(s, keys + done, amounts ? amounts + done : NULL, run);
    }
}

struct weir_key weir_sketch_hash(const weir_sketch *s, const void *data, size_t size)
{
    struct hash128 h = sketch_hash(s, (struct weir_bytes){data, size});

    return (struct weir_key){h.lo, h.hi, 1};
}

enum weir_status weir_sketch_add_hashed(weir_sketch *s, const struct weir_key *keys,
                                        const uint64_t *amounts, size_t n, struct weir_error *error)
{
    if (!s->ops->add_hashed)
        return unsupported(s, " keeps keys: it needs their bytes, not their hashes", error);
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

enum weir_status weir_sketch_take(weir_sketch *s, struct weir_bytes key, uint64_t amount,
                                  struct weir_error *error)
{
    if (!s->ops->take || !s->ops->take(s, key, sketch_amount(s, &amount, 0)))
        return unsupported(s, " cannot take back here; count-min with update=plain can", error);
    return WEIR_OK;
}

struct weir_estimate weir_sketch_ask(const weir_sketch *s, struct weir_bytes key)
{
    return fade_tell_estimate(s, s->ops->ask(s, key));
}

size_t weir_sketch_top(const weir_sketch *s, struct weir_heavy *out, size_t n)
{
    n = s->ops->top ? s->ops->top(s, out, n) : 0;
    for (size_t i = 0; i < n; i++) {
        struct weir_estimate told =
            fade_tell_estimate(s, (struct weir_estimate){out[i].count, out[i].error});

        out[i].count = told.count;
        out[i].error = told.error;
    }
    return n;
}

/* Both as old as the older one in time, or as they are in records. */
static enum weir_status merge_fading(weir_sketch *into, const weir_sketch *from)
{
    weir_sketch *sum = weir_sketch_clone(into), *twin = weir_sketch_clone(from);
    enum weir_status status = sum && twin ? WEIR_OK : WEIR_NO_MEMORY;

    if (status == WEIR_OK) {
        if (from->fade.begun)
            fade_advance(sum, from->fade.clock);
        fade_all(twin, fade_between(twin, sum));
        status = sum->ops->merge(sum, twin);
    }
    if (status == WEIR_OK)
        sketch_copy(into, sum);
    weir_sketch_close(sum);
    weir_sketch_close(twin);
    return status;
}

enum weir_status weir_sketch_merge(weir_sketch *into, const weir_sketch *from,
                                   struct weir_error *error)
{
    char a[CONFIG_SIZE], b[CONFIG_SIZE];

    if (!into->ops->merge)
        return unsupported(into, into->ops->unmergeable, error);
    sketch_config_write(&into->config, a, sizeof a);
    sketch_config_write(&from->config, b, sizeof b);
    if (strcmp(a, b) != 0)
        return error_say(error, WEIR_MISMATCH,
                         "only sketches of one configuration and seed can be merged: here '", a,
                         "', there '", b, "'", NULL);
    if ((fades(into) ? merge_fading(into, from) : into->ops->merge(into, from)) != WEIR_OK)
        return error_no_memory(error, into->size);
    return WEIR_OK;
}

struct weir_sketch_stats weir_sketch_stats(const weir_sketch *s)
{
    struct weir_sketch_stats out = {.memory = s->size, .bytes = s->bytes, .total = s->total};

    s->ops->stats(s, &out);
    out.total = fade_tell(s, out.total);
    out.error = out.error == WEIR_NO_BOUND ? out.error : fade_tell(s, out.error);
    out.too_long = fade_tell(s, out.too_long);
    return out;
}

size_t weir_sketch_config(const weir_sketch *s, char *buffer, size_t size)
{
    char full[CONFIG_SIZE];
    size_t length = sketch_config_write(&s->config, full, sizeof full);

    text_copy(buffer, size, full);
    return length;
}
