/* handles.c - see handles.h. */
#include "value/handles.h"

#include "server/server.h"

static void *take(void *context, size_t size)
{
    (void)context;
    return server_take(size);
}

static void give(void *context, void *block)
{
    (void)context;
    server_give(block);
}

static struct weir_options within(uint64_t most)
{
    return (struct weir_options){sizeof(struct weir_options), {take, give, NULL}, most};
}

enum weir_status filter_open(weir_filter **out, const char *spec, uint64_t most,
                             struct weir_error *error)
{
    struct weir_options options = within(most);

    return weir_open_with(out, spec, &options, error);
}

enum weir_status filter_load(weir_filter **out, weir_source source, void *context, uint64_t most,
                             struct weir_error *error)
{
    struct weir_options options = within(most);

    return weir_load_stream(out, source, context, &options, error);
}

enum weir_status sketch_open(weir_sketch **out, const char *spec, uint64_t most,
                             struct weir_error *error)
{
    struct weir_options options = within(most);

    return weir_sketch_open_with(out, spec, &options, error);
}

enum weir_status sketch_load(weir_sketch **out, const void *data, size_t size, uint64_t most,
                             struct weir_error *error)
{
    struct weir_options options = within(most);

    return weir_sketch_load_buffer(out, data, size, NULL, &options, error);
}

uint64_t spec_seed(const char *spec)
{
    uint64_t seed = 0;

    return weir_spec_number(spec, "seed", &seed) ? seed : 0;
}
