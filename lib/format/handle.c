/* handle.c - open, save and load a filter, a sketch or a screen.
 *
 * Loading is total: any bytes give a usable handle or an error. First the head with its checksum,
 * then the spec by the same reader and planner as a person's, then the sizes that it implies: all
 * of that before memory is taken. The cells are believed when their sums match, the state when
 * take() finds that it can be. */
#include "format/handle.h"

#include "spec/caller_struct.h"

enum weir_status handle_make(struct handle_request *r, const char *spec, struct weir_error *error)
{
    const struct handle_kind *kind = r->kind;
    struct memory memory;
    enum weir_status status = caller_memory(r->options, &memory, error);

    r->made = NULL;
    if (status == WEIR_OK)
        status = spec_complete(kind->grammar, spec, r->record, error);
    if (status == WEIR_OK && kind->check_open)
        status = kind->check_open(r->record, error);
    if (status != WEIR_OK)
        return status;
    r->made = kind->make(r->record, &memory, true);
    return r->made ? WEIR_OK : kind->no_memory(r->record, &memory, error);
}

void handle_close(struct handle *handle)
{
    if (handle)
        memory_close(&handle->memory, handle->allocation);
}

/* ---- saving ---- */

static void head_of(const struct handle *handle, char spec[WEIR_SPEC_MAX], struct part_head *h)
{
    const struct handle_kind *kind = handle->kind;
    size_t length =
        spec_write(kind->grammar, (const char *)handle + kind->record, spec, WEIR_SPEC_MAX);

    *h = (struct part_head){.shards = 1, .spec = spec, .length = (uint32_t)length};
    kind->head(handle, h);
}

size_t handle_saved_size(const struct handle *handle)
{
    struct part_head h;
    char spec[WEIR_SPEC_MAX];

    head_of(handle, spec, &h);
    return (size_t)part_size(&h);
}

enum weir_status handle_save(const struct handle *handle, uint32_t shard, uint32_t shards,
                             weir_sink sink, void *context, struct weir_error *error)
{
    struct part_head h;
    char spec[WEIR_SPEC_MAX];

    head_of(handle, spec, &h);
    h.shard = shard;
    h.shards = shards;
    return part_write(&h, handle->kind->put, handle, sink, context, error);
}

size_t handle_save_buffer(const struct handle *handle, void *buffer, size_t size,
                          struct weir_error *error)
{
    struct part_buffer out = {buffer};
    size_t needed = handle_saved_size(handle);

    if (!part_fits(needed, size, error) ||
        handle_save(handle, 0, 1, part_into_buffer, &out, error) != WEIR_OK)
        return 0;
    return needed;
}

/* ---- loading ---- */

static enum weir_status bad(const struct handle_kind *kind, enum weir_error_code code,
                            const char *before, const char *after, struct weir_error *error)
{
    return error_say(error, code, before, kind->grammar->noun, after, NULL);
}

enum weir_status handle_impossible(const struct handle_kind *kind, struct weir_error *error)
{
    return bad(kind, WEIR_ERROR_CONTRADICTORY, "the saved ", " is in a state that cannot be",
               error);
}

enum weir_status handle_plan_saved(const struct handle_kind *kind, const struct part_head *h,
                                   void *record, struct weir_error *error)
{
    char text[WEIR_SPEC_MAX];

    if (h->kind != kind->parts[0] && h->kind != kind->parts[1])
        return bad(kind, WEIR_ERROR_WRONG_KIND, "this part is not a ", "", error);
    if (!part_spec(h, text) || !spec_restore(kind->grammar, text, record) ||
        (kind->is_part && !kind->is_part(record, h->kind)))
        return part_bad(error, WEIR_ERROR_BAD_DATA,
                        "the saved configuration is not one that this version of weir writes");
    if (!kind->fits(record, h))
        return bad(kind, WEIR_ERROR_CONTRADICTORY, "the saved ",
                   " is not of the size that its configuration asks for", error);
    return WEIR_OK;
}

enum weir_status handle_load_planned(const struct handle_kind *kind, struct handle **out,
                                     const struct part_head *h, const void *record,
                                     struct part_input in, const struct memory *memory,
                                     struct weir_error *error)
{
    *out = kind->make(record, memory, false);
    if (!*out)
        return kind->no_memory(record, memory, error);
    enum weir_status status = kind->take(*out, h, in, error);
    if (status != WEIR_OK) {
        handle_close(*out);
        *out = NULL;
    }
    return status;
}

static enum weir_status load(struct handle_request *r, const struct part_head *h,
                             struct part_input in, const struct memory *memory,
                             struct weir_error *error)
{
    enum weir_status status = part_is_whole(h, error);

    if (status == WEIR_OK)
        status = handle_plan_saved(r->kind, h, r->record, error);
    return status == WEIR_OK
               ? handle_load_planned(r->kind, &r->made, h, r->record, in, memory, error)
               : status;
}

enum weir_status handle_load_buffer(struct handle_request *r, struct weir_bytes from, size_t *used,
                                    struct weir_error *error)
{
    struct part_memory rest;
    struct part_head h;
    struct memory memory;
    enum weir_status status = caller_memory(r->options, &memory, error);

    r->made = NULL;
    if (status == WEIR_OK)
        status = part_find(from.data, from.size, &h, error);
    if (status == WEIR_OK) {
        rest.at = (const uint8_t *)from.data + part_head_size(&h);
        status = load(r, &h, (struct part_input){part_from_memory, &rest}, &memory, error);
    }
    if (status == WEIR_OK && used)
        *used = (size_t)part_size(&h);
    return status;
}

enum weir_status handle_load_stream(struct handle_request *r, struct part_input in,
                                    struct weir_error *error)
{
    uint8_t head[PART_HEAD_MOST];
    struct part_head h;
    struct memory memory;
    enum weir_status status = caller_memory(r->options, &memory, error);

    r->made = NULL;
    if (status == WEIR_OK)
        status = part_input_head(in, head, &h, error);
    return status == WEIR_OK ? load(r, &h, in, &memory, error) : status;
}
