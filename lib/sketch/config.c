/* config.c - the sketches and their parameters. */
#include "sketch/sketch.h"

extern const struct sketch_ops sketch_count_min, sketch_top, sketch_heavykeeper;

/* In the order of listings. */
static const struct named *const sketches[] = {&sketch_count_min.is, &sketch_top.is,
                                               &sketch_heavykeeper.is, NULL};

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
static const struct parameter_row rows[SKETCH_PARAMETERS] = {
#define AT(member) .offset = offsetof(struct sketch_config, member)
    [SKETCH_MEMORY] = {{"memory", "a size from 4 (bytes) to 16T: 1M, 64M, 1G",
        "memory of counters and keys"}, .kind = A_SIZE, AT(memory),
        .min = 32, .max = UINT64_C(1) << 47},
    [SKETCH_KEYS] = {{"keys", "a count from 1 to 100M: 1000, 100k",
        "maximum number of stored keys"}, .kind = A_COUNT, AT(keys), .min = 1, .max = KEYS_MAX},
    [SKETCH_DEPTH] = {{"depth", "a whole number from 1 to 32",
        "rows, of one hash function each"}, .kind = A_COUNT, AT(depth), .min = 1, .max = DEPTH_MAX},
    [SKETCH_WIDTH] = {{"width", "a count from 1 to 1T, instead of memory=",
        "buckets per row"}, .kind = A_COUNT, AT(width), .min = 1, .max = 1000000000000},
    [SKETCH_DECAY] = {{"decay", "a rate above 0, up to 0.9999, or 1: 0.9",
        "probability that another key decrements a count of 1; decay^c for a count of c"}, .kind = A_SHARE,
        AT(decay), .min = 1, .max = 1000000000},
    [SKETCH_COUNTER] = {{"counter", "32 or 64",
        "bits per counter, which saturates"}, .kind = A_WORD, AT(counter), .words = counters},
    [SKETCH_UPDATE] = {{"update", "plain or conservative",
        "conservative has less error, but cannot subtract"}, .kind = A_WORD, AT(update),
        .words = updates},
    [SKETCH_LAYOUT] = {{"layout", "rows or line",
        "line: all counters of a key in one cache line"}, .kind = A_WORD, AT(layout),
        .words = layouts},
    [SKETCH_ERROR] = {{"error", "a rate above 0 and below 1: 0.001, 0.1%, 1e-6",
        "maximum error of a count, as a share of the total"},
        .kind = A_RATE, AT(error)},
    [SKETCH_CONFIDENCE] = {{"confidence", "a rate above 0 and below 1: 0.99, 99%",
        "probability that error= holds"}, .kind = A_RATE, AT(confidence)},
    [SKETCH_HALF_LIFE] = {{"half-life", "a count of records or a time: 10M, 1h, 7d",
        "records or time after which a count weighs half"}, .kind = ITS_OWN, AT(half_life),
        .read = read_half_life, .write = write_half_life},
    [SKETCH_HASH] = {{"hash", "xxh3, or sip for untrusted keys",
        "hash function"}, .kind = A_WORD, AT(hash), .words = parameter_hashes},
    [SKETCH_SEED] = {{"seed", "a whole number below 2^64",
        "seed of hashes (default: random)"}, .kind = A_COUNT, AT(seed), .max = UINT64_MAX},
#undef AT
};
/* clang-format on */

static void begin(void *record)
{
    struct sketch_config *c = record;

    *c = (struct sketch_config){.is = c->is};
    c->ops = (const struct sketch_ops *)c->is.of;
    c->memory = c->ops->memory;
}

static bool plan(void *record, struct weir_error *error)
{
    struct sketch_config *c = record;

    return c->ops->plan(c, &c->bytes, error);
}

static uint64_t traits(const void *record)
{
    const struct sketch_config *c = record;
    uint64_t lacks = c->ops->can_take && !c->ops->can_take(c) ? WEIR_CAN_FORGET : 0;

    lacks |= c->half_life.length && !c->half_life.timed ? 0 : WEIR_CAN_WINDOW;
    lacks |= c->half_life.timed ? 0 : WEIR_CAN_TIME;
    return c->is.of->about.traits & ~lacks;
}

const struct grammar sketch_grammar = {
    .noun = "sketch",
    .example = "memory=64M",
    .names = sketches,
    .rows = rows,
    .n = SKETCH_PARAMETERS,
    .wishes = HAS(SKETCH_ERROR) | HAS(SKETCH_CONFIDENCE) | HAS(SKETCH_WIDTH),
    .if_set = HAS(SKETCH_HALF_LIFE),
    .seed = SKETCH_SEED,
    .begin = begin,
    .plan = plan,
    .traits = traits,
};
