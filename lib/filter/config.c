/* config.c - the list of filters, their parameters, and helpers for plan(). list.h names the
 * filters. */
#include "filter/config.h"

#include <string.h>

#include "filter/filter.h"
#include "spec/error.h"

#define FILTER(name) extern const struct filter_ops filter_##name;
#include "filter/list.h"
#undef FILTER

static const struct named *const filters[] = {
#define FILTER(name) &filter_##name.is,
#include "filter/list.h"
#undef FILTER
    NULL};

static bool read_importance(struct span text, void *value)
{
    return importance_read(text, value);
}

static void write_importance(struct text *t, const void *value)
{
    importance_write(t, value);
}

#define ENTER_MAX 0.5 /* maximum share of a line */

static bool read_enter(struct span text, void *value)
{
    uint64_t *enter = value;
    double share;

    *enter = 0;
    if (span_is(text, "front"))
        return true;
    if (!span_rate(text, &share) || share > ENTER_MAX)
        return false;
    *enter = (uint64_t)(share * ENTER_WHOLE + 0.5);
    return true;
}

static void write_enter(struct text *t, const void *value)
{
    const uint64_t *enter = value;

    if (*enter == 0)
        text_add(t, "front");
    else
        text_add_rate(t, *enter);
}

#define TTL_MIN 4                       /* milliseconds: a quarter is the unit of the grid */
#define TTL_MAX UINT64_C(3153600000000) /* 36500 days, as span= */

/* A range, or one time for all keys. */
static bool read_ttl(struct span text, void *value)
{
    const char *dash = memchr(text.s, '-', text.n);
    size_t before = dash ? (size_t)(dash - text.s) : text.n;
    struct ttl ttl = {0};

    if (!span_time((struct span){text.s, before}, &ttl.min))
        return false;
    ttl.max = ttl.min;
    if (dash && !span_time((struct span){dash + 1, text.n - before - 1}, &ttl.max))
        return false;
    *(struct ttl *)value = ttl;
    return ttl.min >= TTL_MIN && ttl.min <= ttl.max && ttl.max <= TTL_MAX;
}

static void write_ttl(struct text *t, const void *value)
{
    const struct ttl *ttl = value;

    text_add_u64(t, ttl->min);
    text_add(t, "ms");
    if (ttl->max == ttl->min)
        return;
    text_add(t, "-");
    text_add_u64(t, ttl->max);
    text_add(t, "ms");
}

static const char *const early_or_late[] = {"early", "late", NULL};
static const char *const yes_or_no[] = {"yes", "no", NULL};

/* clang-format off */
static const struct parameter_row rows[PARAMETERS] = {
#define AT(member) offsetof(struct config, member)
    [PARAMETER_MEMORY] = {{"memory", "a size from 64 (bytes) to 16T: 64M, 1G, 1000bit",
        "memory of the cells"}, .kind = A_SIZE, .offset = AT(memory),
        .min = MEMORY_MIN, .max = MEMORY_MAX},
    [PARAMETER_CAPACITY] = {{"capacity", "a count from 1 to 1T: 100k, 10M",
        "keys it is sized for"}, .kind = A_COUNT, .offset = AT(capacity),
        .min = 1, .max = COUNT_MAX},
    [PARAMETER_FPR] = {{"fpr", "a rate above 0 and below 1: 0.01, 1%, 1e-4",
        "maximum false-positive rate"}, .kind = A_RATE, .offset = AT(fpr)},
    [PARAMETER_K] = {{"k", "a whole number from 1 to 32",
        "hash functions"}, .kind = A_COUNT, .offset = AT(k),
        .min = 1, .max = K_MAX},
    [PARAMETER_CELL] = {{"cell", "a whole number from 1 to 8",
        "bits per cell"}, .kind = A_COUNT, .offset = AT(cell),
        .min = 1, .max = 8},
    [PARAMETER_DECAY] = {{"decay", "a whole number from 1 to 65535",
        "cells lowered per arrival (P)"}, .kind = A_COUNT, .offset = AT(decay),
        .min = 1, .max = DECAY_MAX},
    [PARAMETER_P_STAR] = {{"p-star", "a rate from 0 to 1: 0.03, 3%",
        "insertion probability below which every new key is inserted"},
        .kind = A_SHARE, .offset = AT(p_star),
        .min = 0, .max = 1000000000},
    [PARAMETER_WINDOW] = {{"window", "a count from 1 to 1T: 100k, 10M",
        "number of latest records whose keys are always seen"}, .kind = A_COUNT, .offset = AT(window),
        .min = 1, .max = COUNT_MAX},
    [PARAMETER_SPAN] = {{"span", "a time from 4ms to 36500d: 500ms, 10s, 5m, 2h, 1d",
        "time for which keys are always seen"}, .kind = A_TIME, .offset = AT(span),
        .min = 4, .max = UINT64_C(3153600000000)},
    [PARAMETER_TTL] = {{"ttl", "a time or a range of times, from 4ms to 36500d: 1h, 1m-2h",
        "shortest and longest time for which a key is remembered; each key has its own"},
        .kind = ITS_OWN, .offset = AT(ttl), .read = read_ttl, .write = write_ttl},
    [PARAMETER_EXPIRE] = {{"expire", "early, or late with ttl=",
        "whether a key expires within the last quarter of its TTL or in the quarter after it"},
        .kind = A_WORD, .offset = AT(expire), .words = early_or_late},
    [PARAMETER_REFRESH] = {{"refresh", "yes, or no with window=, span= or ttl=",
        "whether a repeat renews its key's time"}, .kind = A_WORD, .offset = AT(refresh),
        .words = yes_or_no},
    [PARAMETER_SLICES] = {{"slices", "a whole number from 1 to 96",
        "generations kept (l)"}, .kind = A_COUNT, .offset = AT(slices),
        .min = 1, .max = SLICES_MAX - K_MAX},
    [PARAMETER_WIDTH] = {{"width", "8 to 16, 20, 24 or 32",
        "minimum bits per fingerprint"}, .kind = A_COUNT, .offset = AT(width),
        .min = 8, .max = 32},
    [PARAMETER_SLOTS] = {{"slots", "a whole number from 1 to 63",
        "maximum fingerprints per cache line"}, .kind = A_COUNT, .offset = AT(slots),
        .min = 1, .max = 63},
    [PARAMETER_BITS] = {{"bits", "4 to 16, 20, 24 or 32",
        "bits per fingerprint"}, .kind = A_COUNT, .offset = AT(bits),
        .min = 4, .max = 32},
    [PARAMETER_IMPORTANCE] = {{"importance", "a range such as 1-50, or log, percentile, capped or none",
        "mapping of importance to classes"}, .kind = ITS_OWN,
        .offset = AT(importance), .read = read_importance, .write = write_importance},
    [PARAMETER_ENTER] = {{"enter", "front, or a share of the line up to half: 0.25, 10%",
        "insertion depth of new keys behind the front"}, .kind = ITS_OWN,
        .offset = AT(enter), .read = read_enter, .write = write_enter},
    [PARAMETER_HASH] = {{"hash", "xxh3, or sip for untrusted keys",
        "hash function"}, .kind = A_WORD, .offset = AT(hash), .words = parameter_hashes},
    [PARAMETER_SEED] = {{"seed", "a whole number below 2^64",
        "seed of hashes and random numbers (default: random)"}, .kind = A_COUNT, .offset = AT(seed),
        .min = 0, .max = UINT64_MAX},
#undef AT
};
/* clang-format on */

static void begin(void *record)
{
    struct config *c = record;

    *c = (struct config){.is = c->is, .memory = MEMORY_DEFAULT};
    c->ops = (const struct filter_ops *)c->is.of;
}

static bool plan(void *record, struct weir_error *error)
{
    struct planned *p = record;

    p->shape = (struct shape){0};
    return p->config.ops->plan(&p->config, &p->shape, error);
}

static uint64_t traits(const void *record)
{
    const struct config *c = record;
    uint64_t lacks = c->ops->unmergeable && c->ops->unmergeable(c) ? WEIR_CAN_MERGE : 0;

    lacks |= c->window ? 0 : WEIR_CAN_WINDOW;
    lacks |= c->span || c->ttl.min ? 0 : WEIR_CAN_TIME;
    lacks |= c->ttl.min ? 0 : WEIR_CAN_TTL;
    lacks |= c->importance.mode != IMPORTANCE_NONE ? 0 : WEIR_CAN_IMPORTANCE;
    return c->is.of->about.traits & ~lacks;
}

const struct grammar filter_grammar = {
    .noun = "filter",
    .example = "memory=64M",
    .names = filters,
    .nameless = true,
    .rows = rows,
    .n = PARAMETERS,
    .wishes = HAS(PARAMETER_FPR),
    .if_set = HAS(PARAMETER_CAPACITY) | HAS(PARAMETER_WINDOW) | HAS(PARAMETER_SPAN) |
              HAS(PARAMETER_TTL) | HAS(PARAMETER_EXPIRE) | HAS(PARAMETER_REFRESH) |
              HAS(PARAMETER_ENTER),
    .ignored = HAS(PARAMETER_CAPACITY),
    .chance = HAS(PARAMETER_HASH) | HAS(PARAMETER_SEED),
    .divided = HAS(PARAMETER_MEMORY) | HAS(PARAMETER_CAPACITY) | HAS(PARAMETER_WINDOW),
    .seed = PARAMETER_SEED,
    .begin = begin,
    .plan = plan,
    .traits = traits,
};

uint64_t *config_number(struct config *c, enum parameter parameter, uint64_t *most)
{
    if (most)
        *most = rows[parameter].max;
    return parameter_number(&rows[parameter], c);
}

bool config_refuse_fpr(const struct config *c, double reached, const char *advice,
                       struct weir_error *error)
{
    char asked[32], got[32];
    struct text ta = text_in(asked, sizeof asked), tg = text_in(got, sizeof got);

    text_add_double(&ta, c->fpr);
    text_add_double(&tg, reached);
    return error_refuse(error, WEIR_ERROR_LIMIT_UNREACHABLE, "fpr=", asked,
                        " cannot be kept: ", c->is.of->about.name, " reaches ", got,
                        " with these parameters; ", advice, NULL);
}

bool config_window_fits(const struct config *c, double reached, struct weir_error *error)
{
    if (reached < 0.99)
        return true;
    return error_refuse(
        error, WEIR_ERROR_LIMIT_UNREACHABLE, c->is.of->about.name,
        " cannot keep window= in this memory: it would report almost every key as seen; use "
        "more memory or a smaller window",
        NULL);
}

bool config_choose_k(struct config *c, double (*error_of)(const struct config *c, uint64_t k),
                     uint64_t fallback, struct weir_error *error)
{
    if (!config_has(c, PARAMETER_K))
        c->k = config_has(c, PARAMETER_FPR) ? 1 : fallback;
    if (!config_has(c, PARAMETER_FPR))
        return true;
    while (!config_has(c, PARAMETER_K) && c->k < K_MAX && error_of(c, c->k) > c->fpr)
        c->k++;
    return error_of(c, c->k) <= c->fpr ||
           config_refuse_fpr(c, error_of(c, c->k), "leave k out or allow more", error);
}
