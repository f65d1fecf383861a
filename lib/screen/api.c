/* api.c - the public calls of weir/screen.h, and the sentence that opens a
 * screen. What checks keys is in check.c, what saves in save.c. */
#include "screen/screen.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "filter/handle.h"
#include "filter/registry.h"

static const struct screen_ops *const screens[] = {&screen_weir, &screen_dabf, &screen_1bf,
                                                   &screen_strict, &screen_none};

#define SCREENS (sizeof screens / sizeof *screens)

/* "1/9", or a rate such as 0.5 or 50%. */
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
    if (!span_rate(text, &rate) || rate < 1e-9 || rate > 1)
        return false;
    *r = (struct ratio){(uint64_t)(rate * 1e9 + 0.5), 1000000000};
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
static const struct knob_row rows[SCREEN_KNOBS] = {
#define AT(member) .offset = offsetof(struct screen_config, member)
    [SCREEN_MEMORY] = {{"memory", "a size from 8 (bytes) to 16T: 512K, 64M, 1000bit",
        "memory of verdicts or bits"}, .kind = A_SIZE, AT(memory),
        .min = 64, .max = MEMORY_MAX},
    [SCREEN_SET] = {{"set", "a count from 1 to 1T: 100k, 10M",
        "members that the store has"}, .kind = A_COUNT, AT(set), .min = 1, .max = COUNT_MAX},
    [SCREEN_CAPACITY] = {{"capacity", "a count from 1 to 1T: 100k, 10M",
        "different keys expected"}, .kind = A_COUNT, AT(capacity), .min = 1, .max = COUNT_MAX},
    [SCREEN_THETA] = {{"theta", "a ratio such as 1/9, or a rate up to 1: 0.5, 50%",
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
        "hash function"}, .kind = A_WORD, AT(hash), .words = knob_hashes},
    [SCREEN_SEED] = {{"seed", "a whole number below 2^64",
        "seed of hashing (random if not given)"}, .kind = A_COUNT, AT(seed), .max = UINT64_MAX},
#undef AT
};
/* clang-format on */

/* ---- the sentence ---- */

bool screen_config_read(const char *sentence, struct screen_config *c, struct weir_error *error)
{
    const char *at = sentence ? sentence : "";
    struct span name = sentence_name(&at);
    size_t i = 0;

    while (name.n && i < SCREENS && !span_is(name, screens[i]->about.name))
        i++;
    if (i == SCREENS) {
        error_say(error, WEIR_BAD_CONFIG, "there is no screen '", quote(name).text,
                  "'; there are weir, dabf, 1bf, strict, none", NULL);
        return false;
    }
    *c = (struct screen_config){.ops = screens[i], .memory = SCREEN_MEMORY_DEFAULT};
    struct knobs knobs = {c->ops->about.name, rows, SCREEN_KNOBS, c->ops->knobs};
    return knobs_read(&knobs, at, c, &c->given, error);
}

/* fpr has done its work; window and verdicts may be nobody's wish. */
static bool is_kept(const struct screen_config *c, int knob)
{
    return (c->ops->knobs & SCREEN_HAS(knob)) && knob != SCREEN_FPR &&
           (knob != SCREEN_WINDOW || c->window) && (knob != SCREEN_VERDICTS || c->verdicts);
}

size_t screen_config_write(const struct screen_config *c, char *buffer, size_t size)
{
    struct text t = text_in(buffer, size);

    text_add(&t, c->ops->about.name);
    for (int knob = 0; knob < SCREEN_KNOBS; knob++) {
        if (is_kept(c, knob)) {
            text_add(&t, " ");
            knobs_write(&t, &rows[knob], c);
        }
    }
    return (size_t)(t.at - buffer);
}

const struct weir_about *weir_screen_about(size_t i)
{
    return i < SCREENS ? &screens[i]->about : NULL;
}

const struct weir_knob *weir_screen_about_knob(size_t i, size_t j)
{
    for (int knob = 0; i < SCREENS && knob < SCREEN_KNOBS; knob++)
        if ((screens[i]->knobs & SCREEN_HAS(knob)) && j-- == 0)
            return &rows[knob].about;
    return NULL;
}

/* ---- open and close ---- */

/* The memory of one filter, as small as it may be wanted: the filter's own plan
 * begins at 64 bytes. */
static weir *make_filter(const struct screen_config *c, uint64_t cells, uint64_t k)
{
    struct config config = {
        .ops = registry_find((struct span){"bloom", 5}),
        .memory = cells,
        .k = k,
        .hash = c->hash,
        .seed = c->seed,
    };
    struct shape shape = {
        .cells = cells, .planes = 1, .width = k ? 1 : 8, .lines = k ? (uint32_t)k : 1};

    return handle_open(&config, &shape);
}

weir_screen *screen_make(const struct screen_config *c, const struct screen_shape *shape)
{
    void *allocation;
    uint64_t bytes = sizeof(weir_screen) + sizeof(struct scratch);
    weir_screen *s = memory_open(bytes, &allocation);

    if (!s)
        return NULL;
    s->ops = c->ops;
    s->config = *c;
    s->shape = *shape;
    s->allocation = allocation;
    s->bytes = bytes;
    s->scratch = (struct scratch *)(s + 1);
    for (uint32_t i = 0; i < shape->filters; i++) {
        s->filter[i] = make_filter(c, shape->filter[i].cells, shape->filter[i].k);
        if (!s->filter[i]) {
            weir_screen_close(s);
            return NULL;
        }
        s->bytes += s->filter[i]->bytes;
    }
    return s;
}

enum weir_status weir_screen_open(weir_screen **out, const char *config, struct weir_error *error)
{
    struct screen_config c;
    struct screen_shape shape = {0};

    *out = NULL;
    if (!screen_config_read(config, &c, error))
        return WEIR_BAD_CONFIG;
    if (!screen_given(&c, SCREEN_SEED) && getentropy(&c.seed, sizeof c.seed) != 0)
        return error_say(error, WEIR_NO_MEMORY,
                         "the system gives no random seed; give seed=", NULL);
    if (!c.ops->plan(&c, &shape, error))
        return WEIR_BAD_CONFIG;
    *out = screen_make(&c, &shape);
    return *out ? WEIR_OK : error_no_memory(error, c.memory / 8);
}

void weir_screen_close(weir_screen *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < FILTERS_MOST; i++)
        weir_close(s->filter[i]);
    memory_close(s->allocation);
}

/* ---- what it knows of itself ---- */

struct weir_screen_stats weir_screen_stats(const weir_screen *s)
{
    struct weir_screen_stats out = {
        .bytes = s->bytes,
        .checked = s->checked,
        .asked = s->asked,
        .saved = s->checked - s->asked - s->unanswered,
        .unanswered = s->unanswered,
        .members = s->members,
        .fill = s->ops->fill ? s->ops->fill(s) : 0,
        .error = s->ops->error ? s->ops->error(s) : 0,
    };

    for (uint32_t i = 0; i < s->shape.filters; i++)
        out.memory += cells_size(s->filter[i]->shape.cells, s->filter[i]->shape.width);
    return out;
}

size_t weir_screen_config(const weir_screen *s, char *buffer, size_t size)
{
    char full[CONFIG_SIZE];
    size_t length = screen_config_write(&s->config, full, sizeof full);

    text_copy(buffer, size, full);
    return length;
}
