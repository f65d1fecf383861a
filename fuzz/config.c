/* config.c - any text given as a configuration ends in a filter, or a screen, or
 * in one sentence; what is planned can be written, read and planned again.
 *
 * Planned by the insides, so that huge memories can be tried without having
 * them; what is small enough is opened too. */
#include "filter/filter.h"
#include "screen/screen.h"

#include <stdlib.h>
#include <string.h>

#define OPENED_MOST (UINT64_C(1) << 20) /* bits */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* Printable, not empty, no full stop. */
static void require_sentence(const struct weir_error *error)
{
    size_t n = strlen(error->text);

    require(error->status == WEIR_BAD_CONFIG && n > 0 && error->text[n - 1] != '.');
    for (size_t i = 0; i < n; i++)
        require(error->text[i] >= ' ' && error->text[i] <= '~');
}

/* Read and completed, but for a seed. */
static bool plan(const struct grammar *g, const char *sentence, void *record)
{
    struct weir_error error = {0};
    bool planned = sentence_read(g, sentence, record, &error) && g->plan(record, &error);

    if (!planned)
        require_sentence(&error);
    return planned;
}

static void open_it(const char *sentence)
{
    uint64_t key = 1, traits;
    weir *w;

    require(weir_traits(WEIR_KIND_FILTER, sentence, &traits, NULL) == WEIR_OK);
    if (!(traits & WEIR_CAN_LEARN)) /* is built, not opened */
        return;
    require(weir_open(&w, sentence, NULL) == WEIR_OK);
    weir_observe(w, weir_hash(w, &key, sizeof key));
    require(weir_stats_of(w).shown == 1);
    weir_close(w);
}

/* ---- screens ---- */

static void open_screen(const char *sentence)
{
    weir_screen *s;

    require(weir_screen_open(&s, sentence, NULL) == WEIR_OK);
    require(weir_screen_stats_of(s).checked == 0);
    weir_screen_close(s);
}

static void try_screen(const char *sentence)
{
    struct screen_config c, again;
    char first[WEIR_SENTENCE], second[WEIR_SENTENCE];

    if (!plan(&screen_grammar, sentence, &c))
        return;
    sentence_write(&screen_grammar, &c, first, sizeof first);
    require(plan(&screen_grammar, first, &again));
    sentence_write(&screen_grammar, &again, second, sizeof second);
    require(strcmp(first, second) == 0 && strlen(first) < WEIR_SENTENCE - 1);
    require(memcmp(&c.shape, &again.shape, sizeof c.shape) == 0);
    for (uint32_t i = 0; i < c.shape.areas; i++)
        require(c.shape.area[i].cells > 0);
    require(c.k <= K_MAX && c.k_set <= K_MAX);
    if (c.memory <= OPENED_MOST)
        open_screen(sentence);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct planned p, again;
    char first[WEIR_SENTENCE], second[WEIR_SENTENCE];
    char *sentence = malloc(size + 1);

    memcpy(sentence, data, size);
    sentence[size] = '\0';
    if (plan(&filter_grammar, sentence, &p)) {
        sentence_write(&filter_grammar, &p, first, sizeof first);
        require(plan(&filter_grammar, first, &again));
        sentence_write(&filter_grammar, &again, second, sizeof second);
        require(strcmp(first, second) == 0 && strlen(first) < WEIR_SENTENCE - 1);
        require(memcmp(&p.shape, &again.shape, sizeof p.shape) == 0);
        require(p.shape.cells > 0 && p.shape.cells * p.shape.planes * p.shape.width <= MEMORY_MAX);
        if (p.config.memory <= OPENED_MOST)
            open_it(sentence);
    }
    try_screen(sentence);
    free(sentence);
    return 0;
}
