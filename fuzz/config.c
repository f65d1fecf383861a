/* config.c - any spec text opens a filter or a screen, or returns one message. A planned spec can
 * be written, parsed and planned again.
 *
 * Plans with internal functions, so that huge memories can be tried without allocating them. Small
 * filters are also opened. */
#include "fuzz.h"
#include "filter/filter.h"
#include "screen/screen.h"

#include <stdlib.h>
#include <string.h>

#define OPENED_MAX (UINT64_C(1) << 20) /* bits */

/* Printable, not empty, no full stop. */
static void require_spec(const struct weir_error *error)
{
    size_t n = strlen(error->text);

    require(error->status == WEIR_BAD_CONFIG && n > 0 && error->text[n - 1] != '.');
    for (size_t i = 0; i < n; i++)
        require(error->text[i] >= ' ' && error->text[i] <= '~');
}

/* Parsed and completed, except for a seed. */
static bool plan(const struct grammar *g, const char *spec, void *record)
{
    struct weir_error error = {0};
    bool planned = spec_read(g, spec, record, &error) && g->plan(record, &error);

    if (!planned)
        require_spec(&error);
    return planned;
}

static void open_it(const char *spec)
{
    uint64_t key = 1, traits;
    weir_filter *w;

    require(weir_spec_traits(WEIR_KIND_FILTER, spec, &traits, NULL) == WEIR_OK);
    if (!(traits & WEIR_CAN_OBSERVE)) /* is built, not opened */
        return;
    require(weir_open(&w, spec, NULL) == WEIR_OK);
    weir_observe(w, weir_hash(w, &key, sizeof key));
    require(weir_stats_of(w).observed == 1);
    weir_close(w);
}

/* ---- screens ---- */

static void open_screen(const char *spec)
{
    weir_screen *s;

    require(weir_screen_open(&s, spec, NULL) == WEIR_OK);
    require(weir_screen_stats_of(s).checked == 0);
    weir_screen_close(s);
}

static void try_screen(const char *spec)
{
    struct screen_config c, again;
    char first[WEIR_SPEC_MAX], second[WEIR_SPEC_MAX];

    if (!plan(&screen_grammar, spec, &c))
        return;
    spec_write(&screen_grammar, &c, first, sizeof first);
    require(plan(&screen_grammar, first, &again));
    spec_write(&screen_grammar, &again, second, sizeof second);
    require(strcmp(first, second) == 0 && strlen(first) < WEIR_SPEC_MAX - 1);
    require(memcmp(&c.shape, &again.shape, sizeof c.shape) == 0);
    for (uint32_t i = 0; i < c.shape.areas; i++)
        require(c.shape.area[i].cells > 0);
    require(c.k <= K_MAX && c.k_set <= K_MAX);
    if (c.memory <= OPENED_MAX)
        open_screen(spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct planned p, again;
    char first[WEIR_SPEC_MAX], second[WEIR_SPEC_MAX];
    char *spec = malloc(size + 1);

    memcpy(spec, data, size);
    spec[size] = '\0';
    if (plan(&filter_grammar, spec, &p)) {
        spec_write(&filter_grammar, &p, first, sizeof first);
        require(plan(&filter_grammar, first, &again));
        spec_write(&filter_grammar, &again, second, sizeof second);
        require(strcmp(first, second) == 0 && strlen(first) < WEIR_SPEC_MAX - 1);
        require(memcmp(&p.shape, &again.shape, sizeof p.shape) == 0);
        require(p.shape.cells > 0 && p.shape.cells * p.shape.planes * p.shape.width <= MEMORY_MAX);
        if (p.config.memory <= OPENED_MAX)
            open_it(spec);
    }
    try_screen(spec);
    free(spec);
    return 0;
}
