/* config.c - the screens there are, and what they can be asked for. list.h is the
 * only list of them. */
#include "screen/screen.h"

#include <string.h>

#define SCREEN(name) extern const struct screen_ops screen_##name;
#include "screen/list.h"
#undef SCREEN

static const struct named *const screens[] = {
#define SCREEN(name) &screen_##name.is,
#include "screen/list.h"
#undef SCREEN
    NULL};

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
        "members that the store has"}, .kind = A_COUNT, AT(set), .min = 1, .max = COUNT_MAX},
    [SCREEN_CAPACITY] = {{"capacity", "a count from 1 to 1T: 100k, 10M",
        "different keys expected"}, .kind = A_COUNT, AT(capacity), .min = 1, .max = COUNT_MAX},
    [SCREEN_THETA] = {{"theta", "a ratio such as 1/9 or 2/1, or a number: 0.5, 50%",
        "memory of keys asked, over that of members"}, .kind = ITS_OWN, AT(theta),
        .read = read_ratio, .write = write_ratio},
    [SCREEN_K] = {{"k", "a whole number from 1 to 32",
        "hash functions"}, .kind = A_COUNT, AT(k), .min = 1, .max = K_MAX},
    [SCREEN_K_SET] = {{"k-set", "a whole number from 1 to 32",
        "hash functions of the filter of members"}, .kind = A_COUNT, AT(k_set),
        .min = 1, .max = K_MAX},
    [SCREEN_WINDOW] = {{"window", "a count from 1 to 1T: 100k, 10M",
        "records after which what was learned is forgotten"}, .kind = A_COUNT, AT(window),
        .min = 1, .max = COUNT_MAX},
    [SCREEN_SPAN] = {{"span", "a time from 64ms to 36500d: 500ms, 10s, 5m, 2h, 1d",
        "time after which a verdict is forgotten"}, .kind = A_TIME, AT(span),
        .min = SPAN_STEPS, .max = UINT64_C(3153600000000)},
    [SCREEN_WIDTH] = {{"width", "8 to 16, 20, 24 or 32",
        "bits per fingerprint, at least"}, .kind = A_COUNT, AT(width), .min = 8, .max = 32},
    [SCREEN_SLOTS] = {{"slots", "a whole number from 1 to 56",
        "verdicts per line, at most"}, .kind = A_COUNT, AT(slots), .min = 1, .max = 56},
    [SCREEN_VERDICTS] = {{"verdicts", "a size from 64 (bytes) to 16T: 16K, 1M",
        "of the memory, for verdicts on what the set let through"}, .kind = A_SIZE, AT(verdicts),
        .min = MEMORY_MIN, .max = MEMORY_MAX},
    [SCREEN_FPR] = {{"fpr", "a rate above 0 and below 1: 0.01, 1%, 1e-4",
        "ceiling of false matches"}, .kind = A_RATE, AT(fpr)},
    [SCREEN_HASH] = {{"hash", "xxh3, or sip where strangers choose the keys",
        "hash function"}, .kind = A_WORD, AT(hash), .words = parameter_hashes},
    [SCREEN_SEED] = {{"seed", "a whole number below 2^64",
        "seed of hashing (random if not given)"}, .kind = A_COUNT, AT(seed), .max = UINT64_MAX},
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
