/* config.c - one grammar for everyone: "NAME knob=value knob=value ...".
 *
 * The table of what filters can be asked for; knobs.c reads by it. */
#include "filter/config.h"

#include <string.h>

#include "sentence/error.h"
#include "filter/filter.h"
#include "sentence/knobs.h"
#include "filter/registry.h"

static bool read_importance(struct span text, void *value)
{
    return importance_read(text, value);
}

static void write_importance(struct text *t, const void *value)
{
    importance_write(t, value);
}

/* clang-format off */
static const struct knob_row rows[KNOBS] = {
#define AT(member) offsetof(struct config, member)
    [KNOB_MEMORY] = {{"memory", "a size from 64 (bytes) to 16T: 64M, 1G, 1000bit",
        "memory of the cells"}, .kind = A_SIZE, .offset = AT(memory),
        .min = MEMORY_MIN, .max = MEMORY_MAX},
    [KNOB_CAPACITY] = {{"capacity", "a count from 1 to 1T: 100k, 10M",
        "keys it is sized for"}, .kind = A_COUNT, .offset = AT(capacity),
        .min = 1, .max = COUNT_MAX},
    [KNOB_FPR] = {{"fpr", "a rate above 0 and below 1: 0.01, 1%, 1e-4",
        "ceiling of false positives"}, .kind = A_RATE, .offset = AT(fpr)},
    [KNOB_K] = {{"k", "a whole number from 1 to 32",
        "hash functions"}, .kind = A_COUNT, .offset = AT(k),
        .min = 1, .max = K_MAX},
    [KNOB_CELL] = {{"cell", "a whole number from 1 to 8",
        "bits per cell"}, .kind = A_COUNT, .offset = AT(cell),
        .min = 1, .max = 8},
    [KNOB_DECAY] = {{"decay", "a whole number from 1 to 65535",
        "cells lowered per arrival (P)"}, .kind = A_COUNT, .offset = AT(decay),
        .min = 1, .max = DECAY_MAX},
    [KNOB_P_STAR] = {{"p-star", "a rate from 0 to 1: 0.03, 3%",
        "chance of insertion below which every new key is inserted"},
        .kind = A_SHARE, .offset = AT(p_star),
        .min = 0, .max = 1000000000},
    [KNOB_WINDOW] = {{"window", "a count from 1 to 1T: 100k, 10M",
        "latest keys that are seen for certain"}, .kind = A_COUNT, .offset = AT(window),
        .min = 1, .max = COUNT_MAX},
    [KNOB_SPAN] = {{"span", "a time from 4ms to 36500d: 500ms, 10s, 5m, 2h, 1d",
        "keys of so long a time are seen for certain"}, .kind = A_TIME, .offset = AT(span),
        .min = 4, .max = UINT64_C(3153600000000)},
    [KNOB_SLICES] = {{"slices", "a whole number from 1 to 96",
        "generations kept (l)"}, .kind = A_COUNT, .offset = AT(slices),
        .min = 1, .max = SLICES_MAX - K_MAX},
    [KNOB_WIDTH] = {{"width", "8 to 16, 20, 24 or 32",
        "bits per fingerprint, at least"}, .kind = A_COUNT, .offset = AT(width),
        .min = 8, .max = 32},
    [KNOB_SLOTS] = {{"slots", "a whole number from 1 to 63",
        "fingerprints per line, at most"}, .kind = A_COUNT, .offset = AT(slots),
        .min = 1, .max = 63},
    [KNOB_IMPORTANCE] = {{"importance", "a range such as 1-50, or log, percentile, capped or none",
        "how importance becomes a class"}, .kind = ITS_OWN,
        .offset = AT(importance), .read = read_importance, .write = write_importance},
    [KNOB_HASH] = {{"hash", "xxh3, or sip where strangers choose the keys",
        "hash function"}, .kind = A_WORD, .offset = AT(hash), .words = knob_hashes},
    [KNOB_SEED] = {{"seed", "a whole number below 2^64",
        "seed of hashing and chance (random if not given)"}, .kind = A_COUNT, .offset = AT(seed),
        .min = 0, .max = UINT64_MAX},
#undef AT
};
/* clang-format on */

static bool refuse_name(struct span name, struct weir_error *error)
{
    char list[200];
    struct text t = text_in(list, sizeof list);

    for (size_t i = 0; weir_about(i); i++) {
        text_add(&t, i ? ", " : "");
        text_add(&t, weir_about(i)->name);
    }
    error_say(error, WEIR_BAD_CONFIG, "there is no filter '", quote(name).text, "'; there are ",
              list, NULL);
    return false;
}

bool config_read(const char *sentence, struct config *c, struct weir_error *error)
{
    const char *at = sentence ? sentence : "";
    struct span name = sentence_name(&at);

    *c = (struct config){.ops = registry_default(), .memory = MEMORY_DEFAULT};
    if (name.n)
        c->ops = registry_find(name);
    if (!c->ops)
        return refuse_name(name, error);
    struct knobs knobs = {c->ops->about.name, rows, KNOBS, c->ops->knobs};
    return knobs_read(&knobs, at, c, &c->given, error);
}

/* fpr has done its work; capacity, window and span may be nobody's wish. */
static bool is_kept(const struct config *c, enum knob knob)
{
    return (c->ops->knobs & HAS(knob)) && knob != KNOB_FPR &&
           (knob != KNOB_CAPACITY || c->capacity) && (knob != KNOB_WINDOW || c->window) &&
           (knob != KNOB_SPAN || c->span);
}

static size_t write_knobs(const struct config *c, uint32_t which, char *buffer, size_t size)
{
    struct text t = text_in(buffer, size);

    text_add(&t, c->ops->about.name);
    for (int knob = 0; knob < KNOBS; knob++) {
        if (is_kept(c, (enum knob)knob) && (which & HAS(knob))) {
            text_add(&t, " ");
            knobs_write(&t, &rows[knob], c);
        }
    }
    return (size_t)(t.at - buffer);
}

size_t config_write(const struct config *c, char *buffer, size_t size)
{
    return write_knobs(c, UINT32_MAX, buffer, size);
}

size_t config_describe(const struct config *c, char *buffer, size_t size)
{
    return write_knobs(c, ~(HAS(KNOB_HASH) | HAS(KNOB_SEED)) | c->given, buffer, size);
}

uint64_t *config_number(struct config *c, enum knob knob, uint64_t *most)
{
    if (most)
        *most = rows[knob].max;
    return (uint64_t *)(void *)((char *)c + rows[knob].offset);
}

bool config_differ(const struct config *a, const struct config *b, char *of_a, char *of_b)
{
    strcpy(of_a, a->ops->about.name);
    strcpy(of_b, b->ops->about.name);
    if (a->ops != b->ops)
        return true;
    for (int knob = 0; knob < KNOBS; knob++) {
        struct text ta = text_in(of_a, 64), tb = text_in(of_b, 64);

        if (!(a->ops->knobs & HAS(knob)) || knob == KNOB_FPR || knob == KNOB_CAPACITY)
            continue;
        knobs_write(&ta, &rows[knob], a);
        knobs_write(&tb, &rows[knob], b);
        if (strcmp(of_a, of_b) != 0)
            return true;
    }
    return false;
}

bool config_refuse_fpr(const struct config *c, double reached, const char *advice,
                       struct weir_error *error)
{
    char asked[32], got[32];
    struct text ta = text_in(asked, sizeof asked), tg = text_in(got, sizeof got);

    text_add_double(&ta, c->fpr);
    text_add_double(&tg, reached);
    error_say(error, WEIR_BAD_CONFIG, "fpr=", asked, " cannot be kept: ", c->ops->about.name,
              " reaches ", got, " with these parameters; ", advice, NULL);
    return false;
}

bool config_window_fits(const struct config *c, double reached, struct weir_error *error)
{
    if (reached < 0.99)
        return true;
    error_say(error, WEIR_BAD_CONFIG, c->ops->about.name,
              " cannot keep window= in this memory: it would take almost every key for seen; give "
              "it more memory or a smaller window",
              NULL);
    return false;
}

bool config_choose_k(struct config *c, double (*error_of)(uint64_t k), uint64_t fallback,
                     struct weir_error *error)
{
    if (!config_has(c, KNOB_K))
        c->k = config_has(c, KNOB_FPR) ? 1 : fallback;
    if (!config_has(c, KNOB_FPR))
        return true;
    while (!config_has(c, KNOB_K) && c->k < K_MAX && error_of(c->k) > c->fpr)
        c->k++;
    return error_of(c->k) <= c->fpr ||
           config_refuse_fpr(c, error_of(c->k), "leave k out or allow more", error);
}

const struct weir_knob *weir_about_knob(size_t i, size_t j)
{
    const struct weir_ops *ops = registry_at(i);

    for (int knob = 0; ops && knob < KNOBS; knob++)
        if ((ops->knobs & HAS(knob)) && j-- == 0)
            return &rows[knob].about;
    return NULL;
}
