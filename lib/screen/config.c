/* config.c - the screens, their parameters, the screen "none", and the choice of a screen.
 *
 * weir_screen_choose() prefers the set in a Bloom filter, confirmed by the store: it makes no
 * errors and asks for little more than the members. The store must be able to list its keys, and
 * they must fit into the memory. One byte per key is enough: then 2 % of the other keys are looked
 * up unnecessarily, and every three more bits divide that by four. With less memory the filter
 * lets too many keys through, and caching the store's answers is the better use of the memory. */
#include "screen/screen.h"

#include <string.h>

#include "spec/caller_struct.h"

extern const struct screen_ops screen_cache, screen_dabf, screen_1bf, screen_strict;
static const struct screen_ops screen_none;

/* In the order of listings; the first is the default. */
static const struct named *const screens[] = {&screen_cache.is,  &screen_dabf.is, &screen_1bf.is,
                                              &screen_strict.is, &screen_none.is, NULL};

/* "1/9" or "2/1", or a number such as 0.5, 50% or 2.0. */
static bool read_ratio(struct span text, void *value)
{
    struct ratio *r = value;
    const char *slash = memchr(text.s, '/', text.n);
    double rate;

    if (slash) {
        struct span above = {text.s, (size_t)(slash - text.s)};
        struct span below = {slash + 1, text.n - above.n - 1};

        return span_whole(above, &r->above) && span_whole(below, &r->below) && r->above >= 1 &&
               r->below >= 1 && r->above <= 1000000000 && r->below <= 1000000000;
    }
    if (!span_rate(text, &rate) || rate < 1e-9 || rate > 1e9)
        return false;
    *r = rate <= 1 ? (struct ratio){(uint64_t)(rate * 1e9 + 0.5), 1000000000}
                   : (struct ratio){1000000000, (uint64_t)(1e9 / rate + 0.5)};
    return true;
}

static void write_ratio(struct text *t, const void *value)
{
    const struct ratio *r = value;

    text_add_u64(t, r->above);
    text_add(t, "/");
    text_add_u64(t, r->below);
}

/* clang-format off */
static const struct parameter_row rows[SCREEN_PARAMETERS] = {
#define AT(member) .offset = offsetof(struct screen_config, member)
    [SCREEN_MEMORY] = {{"memory", "a size from 8 (bytes) to 16T: 512K, 64M, 1000bit",
        "memory of verdicts or bits"}, .kind = A_SIZE, AT(memory),
        .min = 64, .max = MEMORY_MAX},
    [SCREEN_SET] = {{"set", "a count from 1 to 1T: 100k, 10M",
        "number of members in the store"}, .kind = A_COUNT, AT(set), .min = 1, .max = COUNT_MAX},
    [SCREEN_CAPACITY] = {{"capacity", "a count from 1 to 1T: 100k, 10M",
        "expected number of distinct keys"}, .kind = A_COUNT, AT(capacity), .min = 1, .max = COUNT_MAX},
    [SCREEN_THETA] = {{"theta", "a ratio such as 1/9 or 2/1, or a number: 0.5, 50%",
        "memory for keys asked, divided by memory for members"}, .kind = ITS_OWN, AT(theta),
        .read = read_ratio, .write = write_ratio},
    [SCREEN_K] = {{"k", "a whole number from 1 to 32",
        "hash functions"}, .kind = A_COUNT, AT(k), .min = 1, .max = K_MAX},
    [SCREEN_K_SET] = {{"k-set", "a whole number from 1 to 32",
        "hash functions of the filter of members"}, .kind = A_COUNT, AT(k_set),
        .min = 1, .max = K_MAX},
    [SCREEN_WINDOW] = {{"window", "a count from 1 to 1T: 100k, 10M",
        "records after which cached answers are evicted"}, .kind = A_COUNT, AT(window),
        .min = 1, .max = COUNT_MAX},
    [SCREEN_SPAN] = {{"span", "a time from 64ms to 36500d: 500ms, 10s, 5m, 2h, 1d",
        "time after which a verdict is evicted"}, .kind = A_TIME, AT(span),
        .min = SPAN_STEPS, .max = UINT64_C(3153600000000)},
    [SCREEN_WIDTH] = {{"width", "8 to 16, 20, 24 or 32",
        "minimum bits per fingerprint"}, .kind = A_COUNT, AT(width), .min = 8, .max = 32},
    [SCREEN_SLOTS] = {{"slots", "a whole number from 1 to 56",
        "maximum verdicts per cache line"}, .kind = A_COUNT, AT(slots), .min = 1, .max = 56},
    [SCREEN_VERDICTS] = {{"verdicts", "a size from 64 (bytes) to 16T: 16K, 1M",
        "part of the memory that caches the store's verdicts"}, .kind = A_SIZE, AT(verdicts),
        .min = MEMORY_MIN, .max = MEMORY_MAX},
    [SCREEN_FPR] = {{"fpr", "a rate above 0 and below 1: 0.01, 1%, 1e-4",
        "maximum rate of false matches"}, .kind = A_RATE, AT(fpr)},
    [SCREEN_HASH] = {{"hash", "xxh3, or sip for untrusted keys",
        "hash function"}, .kind = A_WORD, AT(hash), .words = parameter_hashes},
    [SCREEN_SEED] = {{"seed", "a whole number below 2^64",
        "seed of hashes (default: random)"}, .kind = A_COUNT, AT(seed), .max = UINT64_MAX},
#undef AT
};
/* clang-format on */

static void begin(void *record)
{
    struct screen_config *c = record;

    *c = (struct screen_config){.is = c->is, .memory = SCREEN_MEMORY_DEFAULT};
    c->ops = (const struct screen_ops *)c->is.of;
}

static bool plan(void *record, struct weir_error *error)
{
    struct screen_config *c = record;

    c->shape = (struct screen_shape){0};
    return c->ops->plan(c, &c->shape, error);
}

static uint64_t traits(const void *record)
{
    const struct screen_config *c = record;
    uint64_t lacks = c->window ? 0 : WEIR_CAN_WINDOW;

    lacks |= c->span ? 0 : WEIR_CAN_TIME;
    lacks |= c->ops->unmergeable && c->ops->unmergeable(c) ? WEIR_CAN_MERGE : 0;
    return c->is.of->about.traits & ~lacks;
}

const struct grammar screen_grammar = {
    .noun = "screen",
    .example = "memory=64M",
    .names = screens,
    .nameless = true,
    .rows = rows,
    .n = SCREEN_PARAMETERS,
    .wishes = HAS(SCREEN_FPR),
    .if_set = HAS(SCREEN_WINDOW) | HAS(SCREEN_SPAN) | HAS(SCREEN_VERDICTS),
    .seed = SCREEN_SEED,
    .begin = begin,
    .plan = plan,
    .traits = traits,
};

/* ---- none: asks the store for every key ---- */

static bool plan_none(struct screen_config *c, struct screen_shape *shape, struct weir_error *error)
{
    (void)c, (void)shape, (void)error;
    return true;
}

static uint8_t ask_always(const weir_screen *s, struct weir_key key)
{
    (void)s, (void)key;
    return WEIR_UNANSWERED;
}

static const struct screen_ops screen_none = {
    .is.about = {"none", "asks the store for every key",
                 WEIR_CAN_MERGE | WEIR_CAN_RUN_FOREVER | WEIR_CAN_CONFIRM},
    .is.parameters = SCREEN_ALWAYS,
    .plan = plan_none,
    .decide = ask_always,
};

/* ---- which screen suits a store ---- */

#define BITS_PER_MEMBER_LEAST 8

static void choose_strict(struct weir_screen_choice *c, uint64_t bits, uint64_t set)
{
    uint64_t keys = set == 0 ? 1 : set > COUNT_MAX ? COUNT_MAX : set;
    struct text spec = text_in(c->spec, sizeof c->spec);
    struct text reason = text_in(c->reason, sizeof c->reason);

    text_add(&spec, screen_strict.is.about.name);
    text_add(&spec, " set=");
    text_add_u64(&spec, keys);
    if (set == 0) {
        text_add(&reason, "the store lists its keys, and has none");
        return;
    }
    text_add(&reason, "the store lists its ");
    text_add_u64(&reason, set);
    text_add(&reason, " keys, and ");
    text_add_u64(&reason, bits / set);
    text_add(&reason, " bits for each fit the memory");
}

static void choose_verdicts(struct weir_screen_choice *c, bool listed, uint64_t set)
{
    struct text spec = text_in(c->spec, sizeof c->spec);
    struct text reason = text_in(c->reason, sizeof c->reason);

    text_add(&spec, screen_cache.is.about.name);
    if (listed) {
        text_add(&reason, "the store's ");
        text_add_u64(&reason, set);
        text_add(&reason, " keys do not fit: the memory has less than 8 bits for each");
    } else {
        text_add(&reason, "the store cannot be listed");
    }
}

void weir_screen_choose(struct weir_screen_choice *out, size_t size, uint64_t memory, bool listed,
                        uint64_t set)
{
    struct weir_screen_choice c;
    uint64_t most = MEMORY_MAX / 8, bits = 8 * (memory < most ? memory : most);

    if (listed && bits / BITS_PER_MEMBER_LEAST >= set)
        choose_strict(&c, bits, set);
    else
        choose_verdicts(&c, listed, set);
    struct text end = {c.spec + strlen(c.spec), c.spec + sizeof c.spec};
    text_add(&end, " memory=");
    text_add_u64(&end, memory);
    caller_struct_return(out, size, &c, sizeof c);
}
