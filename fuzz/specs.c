/* specs.c - any text given as a filter, sketch, screen or stream spec gives a value or one message;
 * a completed spec completes to itself.
 *
 * Uses only public functions, which open nothing. Input: a byte that selects the kind, then the
 * text. */
#include "fuzz.h"
#include <weir.h>
#define WEIR_UNSTABLE
#include <weir/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Printable, not empty, no full stop. */
static void require_spec(enum weir_status status, const struct weir_error *error)
{
    size_t n = strlen(error->text);

    require(status == WEIR_BAD_CONFIG && error->status == (int32_t)status);
    require(n > 0 && error->text[n - 1] != '.');
    for (size_t i = 0; i < n; i++)
        require(error->text[i] >= ' ' && error->text[i] <= '~');
}

static bool is_rate(double x)
{
    return x >= 0 && x <= 1;
}

static void try_stream(const char *text)
{
    struct weir_stream s;
    struct weir_error error = {0};
    enum weir_status status = weir_stream_read(&s, sizeof s, text, &error);

    if (status != WEIR_OK) {
        require_spec(status, &error);
        return;
    }
    require(s.kind <= WEIR_STREAM_ENDLESS && s.bias <= WEIR_BIAS_INVERSE);
    require(is_rate(s.distinct) && is_rate(s.fresh) && isfinite(s.alpha));
    require(!s.important || s.lo <= s.hi);
    require(is_rate(s.drift) && (s.drift == 0 || (s.drift_every > 0 && s.universe > 0)));
    double distinct = weir_stream_distinct(&s);
    require(s.drift > 0 ? isnan(distinct)
                        : distinct >= 0 && (s.n == 0 || distinct <= (double)s.n * (1 + 1e-9)));
}

/* All queries of a completed spec. */
static void ask(enum weir_kind kind, const char *spec)
{
    char value[WEIR_SPEC_MAX], part[WEIR_SPEC_MAX];
    uint64_t traits, number;
    const struct weir_parameter *parameter;

    require(weir_find_algorithm(kind, spec) != NULL);
    require(weir_spec_traits(kind, spec, &traits, NULL) == WEIR_OK);
    for (size_t i = 0; weir_algorithm_at(kind, i); i++)
        for (size_t j = 0; (parameter = weir_parameter_at(kind, i, j)); j++) {
            size_t n = weir_spec_get(spec, parameter->name, value, sizeof value);

            require(n < sizeof value && n == strlen(value));
            weir_spec_number(spec, parameter->name, &number);
        }
    if (kind == WEIR_KIND_FILTER && weir_shard_spec(spec, 3, part, sizeof part, NULL) == WEIR_OK)
        require(weir_spec_complete(kind, part, value, sizeof value, NULL) == WEIR_OK);
}

static void try_spec(enum weir_kind kind, const char *text)
{
    char first[WEIR_SPEC_MAX], second[WEIR_SPEC_MAX];
    struct weir_error error = {0};
    enum weir_status status = weir_spec_complete(kind, text, first, sizeof first, &error);

    weir_find_algorithm(kind, text);
    if (status != WEIR_OK) {
        require_spec(status, &error);
        return;
    }
    require(weir_spec_complete(kind, first, second, sizeof second, &error) == WEIR_OK);
    require(strcmp(first, second) == 0 && strlen(first) < WEIR_SPEC_MAX - 1);
    ask(kind, first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = strndup((const char *)data + 1, size - 1);

    require(text != NULL);
    if (data[0] % 4 == 3)
        try_stream(text);
    else
        try_spec((enum weir_kind)(data[0] % 4), text);
    free(text);
    return 0;
}
