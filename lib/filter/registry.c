/* registry.c - name -> filter. filter/list.h is the only list there is. */
#include "filter/registry.h"

#include "filter/filter.h"

#define FILTER(name) extern const struct weir_ops weir_filter_##name;
#include "filter/list.h"
#undef FILTER

static const struct weir_ops *const filters[] = {
#define FILTER(name) &weir_filter_##name,
#include "filter/list.h"
#undef FILTER
};

const struct weir_ops *registry_at(size_t i)
{
    return i < sizeof filters / sizeof *filters ? filters[i] : NULL;
}

const struct weir_ops *registry_find(struct span name)
{
    for (size_t i = 0; registry_at(i); i++)
        if (span_is(name, filters[i]->about.name))
            return filters[i];
    return NULL;
}

const struct weir_ops *registry_default(void)
{
    return &weir_filter_weir;
}

const struct weir_about *weir_about(size_t i)
{
    return registry_at(i) ? &filters[i]->about : NULL;
}
