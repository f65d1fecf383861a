/* config.c - one grammar for everyone: "NAME knob=value knob=value ...".
 *
 * A table says for each knob how it is read, what it may be and how that is
 * told to a person; nothing else in the library parses text. */
#include "config.h"

#include <string.h>

#include "error.h"
#include "filter.h"
#include "registry.h"

enum kind { A_SIZE, A_COUNT, A_TIME, A_RATE, A_SHARE, AN_IMPORTANCE, A_HASH };

/* clang-format off */
static const struct {
    struct weir_knob about;
    enum kind kind;
    size_t offset;
    uint64_t min, max;
} knobs[KNOBS] = {
#define AT(member) offsetof(struct config, member)
    [KNOB_MEMORY] = {{"memory", "a size from 64 (bytes) to 16T: 64M, 1G, 1000bit",
        "memory of the cells"}, A_SIZE, AT(memory), MEMORY_MIN, MEMORY_MAX},
    [KNOB_CAPACITY] = {{"capacity", "a count from 1 to 1T: 100k, 10M",
        "keys it is sized for"}, A_COUNT, AT(capacity), 1, COUNT_MAX},
    [KNOB_FPR] = {{"fpr", "a rate above 0 and below 1: 0.01, 1%, 1e-4",
        "ceiling of false positives"}, A_RATE, AT(fpr), 0, 0},
    [KNOB_K] = {{"k", "a whole number from 1 to 32",
        "hash functions"}, A_COUNT, AT(k), 1, K_MAX},
    [KNOB_CELL] = {{"cell", "a whole number from 1 to 8",
        "bits per cell"}, A_COUNT, AT(cell), 1, 8},
    [KNOB_DECAY] = {{"decay", "a whole number from 1 to 65535",
        "cells lowered per arrival (P)"}, A_COUNT, AT(decay), 1, DECAY_MAX},
    [KNOB_P_STAR] = {{"p-star", "a rate from 0 to 1: 0.03, 3%",
        "chance of insertion below which every new key is inserted"},
        A_SHARE, AT(p_star), 0, 1000000000},
    [KNOB_WINDOW] = {{"window", "a count from 1 to 1T: 100k, 10M",
        "latest keys that are seen for certain"}, A_COUNT, AT(window), 1, COUNT_MAX},
    [KNOB_SPAN] = {{"span", "a time from 4ms to 36500d: 500ms, 10s, 5m, 2h, 1d",
        "keys of so long a time are seen for certain"}, A_TIME, AT(span), 4, UINT64_C(3153600000000)},
    [KNOB_SLICES] = {{"slices", "a whole number from 1 to 96",
        "generations kept (l)"}, A_COUNT, AT(slices), 1, SLICES_MAX - K_MAX},
    [KNOB_WIDTH] = {{"width", "8 to 16, 20, 24 or 32",
        "bits per fingerprint, at least"}, A_COUNT, AT(width), 8, 32},
    [KNOB_SLOTS] = {{"slots", "a whole number from 1 to 63",
        "fingerprints per line, at most"}, A_COUNT, AT(slots), 1, 63},
    [KNOB_IMPORTANCE] = {{"importance", "a range such as 1-50, or log, percentile, capped or none",
        "how importance becomes a class"}, AN_IMPORTANCE, AT(importance), 0, 0},
    [KNOB_HASH] = {{"hash", "xxh3, or sip where strangers choose the keys",
        "hash function"}, A_HASH, AT(hash), 0, 0},
    [KNOB_SEED] = {{"seed", "a whole number below 2^64",
        "seed of hashing and chance (random if not given)"}, A_COUNT, AT(seed), 0, UINT64_MAX},
#undef AT
};
/* clang-format on */

static uint64_t *field(struct config *c, enum knob knob)
{
    return (uint64_t *)((char *)c + knobs[knob].offset);
}

static uint64_t value_of(const struct config *c, enum knob knob)
{
    return *(const uint64_t *)((const char *)c + knobs[knob].offset);
}

static bool read_share(struct span text, uint64_t *billionths)
{
    double share;

    if (!span_rate(text, &share) || share > 1)
        return false;
    *billionths = (uint64_t)(share * 1e9 + 0.5);
    return true;
}

static bool read_hash(struct span text, uint64_t *out)
{
    *out = span_is(text, "sip");
    return *out || span_is(text, "xxh3");
}

static bool read_number(enum knob knob, struct span text, struct config *c)
{
    uint64_t *out = field(c, knob);

    if (knobs[knob].kind == A_SIZE    ? !span_size(text, out)
        : knobs[knob].kind == A_SHARE ? !read_share(text, out)
        : knobs[knob].kind == A_TIME  ? !span_time(text, out)
                                      : !span_count(text, out))
        return false;
    return *out >= knobs[knob].min && *out <= knobs[knob].max;
}

static bool read_value(enum knob knob, struct span text, struct config *c)
{
    switch (knobs[knob].kind) {
    case A_RATE:
        return span_rate(text, &c->fpr) && c->fpr > 0 && c->fpr < 1;
    case AN_IMPORTANCE:
        return importance_read(text, &c->importance);
    case A_HASH:
        return read_hash(text, &c->hash);
    default:
        return read_number(knob, text, c);
    }
}

static enum knob find_knob(struct span name)
{
    int knob = 0;

    while (knob < KNOBS && !span_is(name, knobs[knob].about.name))
        knob++;
    return (enum knob)knob;
}

/* A word of the caller's, cut to what fits a sentence and made printable. */
struct quote {
    char text[48];
};

static struct quote quote(struct span a)
{
    struct quote q;
    size_t n = a.n < sizeof q.text - 4 ? a.n : sizeof q.text - 4;

    for (size_t i = 0; i < n; i++)
        q.text[i] = a.s[i] >= ' ' && a.s[i] <= '~' ? a.s[i] : '?';
    strcpy(q.text + n, n < a.n ? "..." : "");
    return q;
}

static bool refuse_knob(const struct config *c, struct span name, struct weir_error *error)
{
    char list[160];
    struct text t = text_in(list, sizeof list);
    const char *between = "";

    for (int knob = 0; knob < KNOBS; knob++) {
        if (!(c->ops->knobs & HAS(knob)))
            continue;
        text_add(&t, between);
        text_add(&t, knobs[knob].about.name);
        between = ", ";
    }
    error_say(error, WEIR_BAD_CONFIG, c->ops->about.name, " has no parameter '", quote(name).text,
              "'; it takes ", list, NULL);
    return false;
}

static bool read_knob(struct span word, struct config *c, struct weir_error *error)
{
    const char *equals = memchr(word.s, '=', word.n);

    if (!equals) {
        error_say(error, WEIR_BAD_CONFIG, "'", quote(word).text,
                  "' is not of the form parameter=value, such as memory=64M", NULL);
        return false;
    }
    struct span name = {word.s, (size_t)(equals - word.s)};
    struct span value = {equals + 1, word.n - name.n - 1};
    enum knob knob = find_knob(name);
    if (knob == KNOBS || !(c->ops->knobs & HAS(knob)))
        return refuse_knob(c, name, error);
    if (config_has(c, knob)) {
        error_say(error, WEIR_BAD_CONFIG, knobs[knob].about.name, " is given twice", NULL);
        return false;
    }
    if (!read_value(knob, value, c)) {
        error_say(error, WEIR_BAD_CONFIG, knobs[knob].about.name, "=", quote(value).text,
                  " does not fit: it takes ", knobs[knob].about.takes, NULL);
        return false;
    }
    c->given |= HAS(knob);
    return true;
}

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

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next word, or one of no length at the end. */
static struct span next_word(const char **at)
{
    while (is_space(**at))
        ++*at;
    struct span word = {*at, 0};
    while (**at && !is_space(**at))
        ++*at;
    word.n = (size_t)(*at - word.s);
    return word;
}

bool config_read(const char *sentence, struct config *c, struct weir_error *error)
{
    const char *at = sentence ? sentence : "";
    struct span word = next_word(&at);

    *c = (struct config){.ops = registry_default(), .memory = MEMORY_DEFAULT};
    if (word.n && !memchr(word.s, '=', word.n)) {
        c->ops = registry_find(word);
        if (!c->ops)
            return refuse_name(word, error);
        word = next_word(&at);
    }
    for (; word.n; word = next_word(&at))
        if (!read_knob(word, c, error))
            return false;
    return true;
}

static void write_value(struct text *t, const struct config *c, enum knob knob)
{
    uint64_t value = knob == KNOB_IMPORTANCE ? 0 : value_of(c, knob);

    text_add(t, knobs[knob].about.name);
    text_add(t, "=");
    switch (knobs[knob].kind) {
    case A_SIZE:
        text_add_u64(t, value % 8 ? value : value / 8);
        text_add(t, value % 8 ? "bit" : "");
        break;
    case A_SHARE:
        text_add_rate(t, value);
        break;
    case A_TIME:
        text_add_u64(t, value);
        text_add(t, "ms");
        break;
    case AN_IMPORTANCE:
        importance_write(t, &c->importance);
        break;
    case A_HASH:
        text_add(t, value ? "sip" : "xxh3");
        break;
    default:
        text_add_u64(t, value);
    }
}

/* fpr has done its work; capacity, window and span may be nobody's wish. */
static bool is_kept(const struct config *c, enum knob knob)
{
    return (c->ops->knobs & HAS(knob)) && knob != KNOB_FPR &&
           (knob != KNOB_CAPACITY || c->capacity) && (knob != KNOB_WINDOW || c->window) &&
           (knob != KNOB_SPAN || c->span);
}

size_t config_write(const struct config *c, char *buffer, size_t size)
{
    struct text t = text_in(buffer, size);

    text_add(&t, c->ops->about.name);
    for (int knob = 0; knob < KNOBS; knob++) {
        if (is_kept(c, (enum knob)knob)) {
            text_add(&t, " ");
            write_value(&t, c, (enum knob)knob);
        }
    }
    return (size_t)(t.at - buffer);
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
        write_value(&ta, a, (enum knob)knob);
        write_value(&tb, b, (enum knob)knob);
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
            return &knobs[knob].about;
    return NULL;
}
