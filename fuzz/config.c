/* config.c - any text given as a configuration ends in a filter, or a screen, or
 * in one sentence; what is planned can be written, read and planned again.
 *
 * Planned by the insides, so that huge memories can be tried without having
 * them; what is small enough is opened too. */
#include "filter/handle.h"
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

static bool plan(const char *sentence, struct config *config, struct shape *shape)
{
    struct weir_error error = {0};
    bool planned =
        config_read(sentence, config, &error) && config->ops->plan(config, shape, &error);

    if (!planned)
        require_sentence(&error);
    return planned;
}

static void open_it(const char *sentence)
{
    uint64_t key = 1;
    weir *w;

    require(weir_open(&w, sentence, NULL) == WEIR_OK);
    weir_observe(w, weir_hash(w, &key, sizeof key));
    require(weir_stats(w).shown == 1);
    weir_close(w);
}

/* ---- screens ---- */

static bool plan_screen(const char *sentence, struct screen_config *config,
                        struct screen_shape *shape)
{
    struct weir_error error = {0};
    bool planned =
        screen_config_read(sentence, config, &error) && config->ops->plan(config, shape, &error);

    if (!planned)
        require_sentence(&error);
    return planned;
}

static void open_screen(const char *sentence)
{
    weir_screen *s;

    require(weir_screen_open(&s, sentence, NULL) == WEIR_OK);
    require(weir_screen_stats(s).checked == 0);
    weir_screen_close(s);
}

static void try_screen(const char *sentence)
{
    struct screen_config config, again;
    struct screen_shape shape = {0}, same = {0};
    char first[CONFIG_SIZE], second[CONFIG_SIZE];

    if (!plan_screen(sentence, &config, &shape))
        return;
    screen_config_write(&config, first, sizeof first);
    require(plan_screen(first, &again, &same));
    screen_config_write(&again, second, sizeof second);
    require(strcmp(first, second) == 0 && strlen(first) < CONFIG_SIZE - 1);
    require(memcmp(&shape, &same, sizeof shape) == 0);
    for (uint32_t i = 0; i < shape.filters; i++)
        require(shape.filter[i].cells > 0 && shape.filter[i].k <= K_MAX);
    if (config.memory <= OPENED_MOST)
        open_screen(sentence);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config config, again;
    struct shape shape = {0}, same = {0};
    char first[CONFIG_SIZE], second[CONFIG_SIZE];
    char *sentence = malloc(size + 1);

    memcpy(sentence, data, size);
    sentence[size] = '\0';
    if (plan(sentence, &config, &shape)) {
        config_write(&config, first, sizeof first);
        require(plan(first, &again, &same));
        config_write(&again, second, sizeof second);
        require(strcmp(first, second) == 0 && strlen(first) < CONFIG_SIZE - 1);
        require(memcmp(&shape, &same, sizeof shape) == 0);
        require(shape.cells > 0 && shape.cells * shape.planes * shape.width <= MEMORY_MAX);
        if (config.memory <= OPENED_MOST)
            open_it(sentence);
    }
    try_screen(sentence);
    free(sentence);
    return 0;
}
