/* filter_handle.c - filters as handles: open, clone, merge, save, load.
 *
 * A filter is one allocation: struct weir_filter, then plane 0, plane 1 and so on, each on a cache
 * line of its own. It is saved as one part (format/part.h):
 *
 *   words = observed seen registers [sampled sample]
 *   cells = plane 0, plane 1 ... as in memory, each padded to whole cache lines */
#include <string.h>

#include "filter/filter.h"

/* ---- open, clone, merge ---- */

/* Cells are read several bytes at a time, so a cache line follows the last plane. */
static struct handle_size size_of(const void *planned)
{
    const struct planned *p = planned;

    return (struct handle_size){.head = memory_lines(sizeof(weir_filter)),
                                .data = shape_bytes(&p->shape),
                                .spare = CACHE_LINE,
                                .asked = p->config.memory / 8,
                                .cells = p->config.k ? p->config.k : 1};
}

static void begin(struct handle *handle, const void *planned)
{
    const struct planned *p = planned;
    weir_filter *w = (weir_filter *)handle;

    w->ops = p->config.ops;
    w->config = p->config;
    w->shape = p->shape;
    w->cells = handle->data;
    w->stride = shape_stride(&p->shape);
}

static enum weir_status check_merge(const struct handle *into, const struct handle *from,
                                    struct weir_error *error)
{
    const weir_filter *w = (const weir_filter *)into;
    const char *why = w->ops->unmergeable ? w->ops->unmergeable(&w->config) : NULL;

    (void)from;
    if (why)
        return error_say(error, WEIR_ERROR_UNSUPPORTED, why, NULL);
    if (!w->ops->merge)
        return error_say(error, WEIR_ERROR_UNSUPPORTED, w->ops->is.about.name,
                         " filters cannot be merged: what one evicted depends on all that it "
                         "observed; ",
                         spec_names(&filter_grammar, WEIR_CAN_MERGE).text, " can", NULL);
    return WEIR_OK;
}

static enum weir_status merge(struct handle *into, const struct handle *from,
                              struct weir_error *error)
{
    weir_filter *w = (weir_filter *)into;
    const weir_filter *of = (const weir_filter *)from;

    (void)error;
    w->ops->merge(w, of);
    w->observed += of->observed;
    w->seen += of->seen;
    return WEIR_OK;
}

static enum weir_status check_open(const void *planned, struct weir_error *error)
{
    const struct config *c = &((const struct planned *)planned)->config;

    if (!c->ops->fixed)
        return WEIR_OK;
    return error_say(error, WEIR_ERROR_NEEDS_BUILDER, c->is.of->about.name,
                     " cannot be filled key by key; build it from the whole set with 'weir build "
                     "--fixed' or weir_build_begin()",
                     NULL);
}

enum weir_status filter_plan(const char *spec, struct planned *p, struct weir_error *error)
{
    enum weir_status status = spec_complete(&filter_grammar, spec, p, error);

    return status == WEIR_OK ? check_open(p, error) : status;
}

/* ---- grow ---- */

static enum weir_status plan_grown(const weir_filter *w, uint32_t times, struct planned *p,
                                   struct weir_error *error)
{
    struct config config = w->config;
    char spec[WEIR_SPEC_MAX];
    uint64_t bits = w->shape.cells * w->shape.width * w->shape.planes;

    if (times == 0 || times > UINT64_MAX / config.memory)
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                         "a filter grows to 2, 3, 4... times its memory", NULL);
    config.memory *= times;
    spec_write(&filter_grammar, &config, spec, sizeof spec);
    enum weir_status status = filter_plan(spec, p, error);
    if (status != WEIR_OK || p->shape.cells == times * w->shape.cells)
        return status;
    config.memory = times * bits; /* memory= was not a whole number of cells */
    spec_write(&filter_grammar, &config, spec, sizeof spec);
    return filter_plan(spec, p, error);
}

enum weir_status weir_grow(weir_filter **out, const weir_filter *w, uint32_t times,
                           struct weir_error *error)
{
    struct planned p;

    *out = NULL;
    if (w->handle.is_view)
        return error_say(error, WEIR_ERROR_READ_ONLY,
                         "a view of a saved filter cannot grow; load it", NULL);
    if (!w->ops->grow)
        return error_say(
            error, WEIR_ERROR_UNSUPPORTED, w->ops->is.about.name,
            " filters cannot grow: their cells do not identify the keys they contain; ",
            spec_names(&filter_grammar, WEIR_CAN_ONE_LINE).text, " can", NULL);
    enum weir_status status = plan_grown(w, times, &p, error);
    if (status != WEIR_OK)
        return status;
    struct handle *grown = handle_new(&filter_kind, &p, &w->handle.memory, false);
    if (!grown)
        return handle_no_memory(&filter_kind, &p, &w->handle.memory, error);
    handle_copy_state(grown, &w->handle);
    w->ops->grow((weir_filter *)grown, w);
    *out = (weir_filter *)grown;
    return WEIR_OK;
}

/* ---- save ---- */

static bool is_sampled(const struct config *c)
{
    return c->ops->is.parameters & HAS(PARAMETER_IMPORTANCE) && importance_samples(&c->importance);
}

/* A sample always takes the space of a full one, so that a filter's saved size never changes. Two
 * values share a word. */
static uint32_t words_of(const struct config *c, const struct shape *s)
{
    return 2 + s->registers + (is_sampled(c) ? 1 + SAMPLE_SIZE / 2 : 0);
}

static void put_sample(struct part_head *h, const struct sample *sample)
{
    part_word(h, sample->n);
    for (uint32_t i = 0; i < SAMPLE_SIZE; i += 2) {
        uint64_t low = i < sample->n ? sample->value[i] : 0;
        uint64_t high = i + 1 < sample->n ? sample->value[i + 1] : 0;

        part_word(h, low | high << 32);
    }
}

/* Counters are saved up to this limit, and rejected above it when loading. */
#define OBSERVED_MAX (UINT64_C(1) << 62)

static void save_words(const struct handle *handle, struct part_head *h)
{
    const weir_filter *w = (const weir_filter *)handle;
    uint64_t observed = w->observed < OBSERVED_MAX ? w->observed : OBSERVED_MAX;

    part_word(h, observed);
    part_word(h, w->seen < observed ? w->seen : observed);
    for (uint32_t i = 0; i < w->shape.registers; i++)
        part_word(h, w->reg[i]);
    if (is_sampled(&w->config))
        put_sample(h, &w->sample);
}

/* ---- load ---- */

static bool fits(const void *planned, const struct part_head *h)
{
    const struct planned *p = planned;

    return h->words == words_of(&p->config, &p->shape) && h->cells == shape_bytes(&p->shape);
}

static bool is_outdated(const void *planned, const struct part_head *h)
{
    const struct config *c = &((const struct planned *)planned)->config;

    return c->ops && c->ops->is_outdated && c->ops->is_outdated(c, h->words - 2);
}

static void load_words(struct handle *handle, const struct part_head *h)
{
    weir_filter *w = (weir_filter *)handle;
    const uint64_t *word = h->word;

    w->observed = *word++;
    w->seen = *word++;
    for (uint32_t i = 0; i < w->shape.registers; i++)
        w->reg[i] = *word++;
    if (!is_sampled(&w->config))
        return;
    w->sample.n = *word <= SAMPLE_SIZE ? (uint32_t)*word : UINT32_MAX;
    word++;
    for (uint32_t i = 0; i < SAMPLE_SIZE; i++)
        w->sample.value[i] = (uint32_t)(word[i / 2] >> 32 * (i % 2));
}

bool filter_words_possible(const weir_filter *w)
{
    return (!w->ops->check || w->ops->check(w)) && w->seen <= w->observed &&
           w->observed <= OBSERVED_MAX && w->sample.n <= SAMPLE_SIZE && sample_valid(&w->sample);
}

static bool gaps_empty(const weir_filter *w)
{
    for (uint32_t i = 0; i < w->shape.planes; i++) {
        struct cells cells = plane(w, i);

        if (!cells_gap_is_zero(&cells, w->stride))
            return false;
    }
    return true;
}

static bool is_possible(const struct handle *handle)
{
    const weir_filter *w = (const weir_filter *)handle;

    return filter_words_possible(w) && gaps_empty(w) &&
           (!w->ops->check_cells || w->ops->check_cells(w));
}

const struct handle_kind filter_kind = {
    .grammar = &filter_grammar,
    .parts = {WEIR_PART_FILTER, WEIR_PART_FILTER},
    .record = offsetof(weir_filter, config),
    .state = offsetof(weir_filter, observed),
    .state_size = sizeof(weir_filter) - offsetof(weir_filter, observed),
    HANDLE_FUNCTIONS,
    .is_outdated = is_outdated,
    .load_words = load_words,
    .is_possible = is_possible,
    .check_open = check_open,
};

/* The record of a filter is a struct planned. */
_Static_assert(offsetof(weir_filter, shape) - offsetof(weir_filter, config) ==
                   offsetof(struct planned, shape),
               "config and shape lie in a filter as in a struct planned");
