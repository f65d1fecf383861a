/* view.c - a saved filter asked where it lies, say in a mapped file: the handle has
 * the words, the cells stay in the part.
 *
 * Whatever the cells hold, a view reads only them: places come from hashes and shape,
 * never from cells. What would change a cell is not there: observing answers as asking
 * does, forgetting and merging are refused, clearing and advancing do nothing.
 *
 * Price: each cell that is asked for may have to be read from disk first. */
#include "filter/filter.h"

#include <assert.h>

/* The filter, and its operations without those that write. */
struct filter_view {
    weir_filter filter;
    struct filter_ops ops;
};

/* A caller's bug. */
static inline void check_observing(void)
{
#ifdef WEIR_DEBUG
    assert(!"weir_observe() on a view");
#endif
}

static bool ask_instead(weir_filter *w, const struct weir_key *key)
{
    check_observing();
    return w->ops->ask(w, key);
}

static void ask_many_instead(weir_filter *w, const struct weir_key *keys, size_t n,
                             uint8_t *verdicts)
{
    check_observing();
    w->ops->ask_many(w, keys, n, verdicts);
}

static const char *refuse_merge(const struct config *c)
{
    (void)c;
    return "a view of a saved filter cannot be changed; load it to merge into it";
}

static struct filter_ops without_writing(const struct filter_ops *of)
{
    struct filter_ops ops = *of;

    ops.observe = ask_instead;
    ops.observe_many = ask_many_instead;
    ops.observe_picked = NULL;
    ops.forget = NULL;
    ops.advance = NULL;
    ops.merge = NULL;
    ops.unmergeable = refuse_merge;
    return ops;
}

uint64_t handle_view_bytes(void)
{
    return memory_taken(sizeof(struct filter_view));
}

weir_filter *handle_view(const struct planned *p, const uint8_t *cells, const struct memory *memory)
{
    void *allocation;
    struct filter_view *v = memory_open(memory, sizeof *v, &allocation);

    if (!v)
        return NULL;
    v->ops = without_writing(p->config.ops);
    v->filter = (weir_filter){.handle = {&filter_kind, allocation, handle_view_bytes(), *memory},
                              .ops = &v->ops,
                              .config = p->config,
                              .shape = p->shape,
                              .cells = (uint8_t *)(uintptr_t)cells,
                              .stride = shape_stride(&p->shape),
                              .is_view = true};
    return &v->filter;
}
