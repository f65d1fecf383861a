/* handle.c - open, clone, merge, save and load a filter, a sketch or a screen.
 *
 * Loading accepts any bytes: the result is a usable handle or an error. The part's head is checked
 * first, by its checksum. Its spec is then read and completed as a user's spec is, and must give
 * the size that the head states. Only then is memory allocated. The data is verified by checksums,
 * and last by is_possible(), which checks that this version could have written it. */
#include "format/handle.h"

#include <string.h>

#include "spec/caller_struct.h"

/* ---- open and close ---- */

static uint64_t block_bytes(struct handle_size size)
{
    return size.head + size.data + size.spare;
}

uint64_t handle_bytes(const struct handle_kind *kind, const void *record)
{
    return memory_taken(block_bytes(kind->size(record)));
}

enum weir_status handle_no_memory(const struct handle_kind *kind, const void *record,
                                  const struct memory *memory, struct weir_error *error)
{
    return error_no_memory(error, kind->size(record).asked, handle_bytes(kind, record), memory);
}

struct handle *handle_new(const struct handle_kind *kind, const void *record,
                          const struct memory *memory, bool sparse)
{
    struct handle_size size = kind->size(record);
    uint64_t bytes = block_bytes(size), uses = 0;
    void *allocation;
    struct handle *handle = sparse && size.cells
                                ? memory_open_sparse(memory, bytes, &allocation, &uses)
                                : memory_open(memory, bytes, &allocation);

    if (!handle)
        return NULL;
    *handle = (struct handle){.kind = kind,
                              .allocation = allocation,
                              .bytes = (size_t)memory_taken(bytes),
                              .memory = *memory,
                              .data = (uint8_t *)handle + size.head,
                              .size = size.data,
                              .sparse = size.cells ? uses / size.cells : 0};
    kind->begin(handle, record);
    return handle;
}

enum weir_status handle_open(struct handle_request *r, const char *spec, struct weir_error *error)
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
    r->made = handle_new(kind, r->record, &memory, true);
    return r->made ? WEIR_OK : handle_no_memory(kind, r->record, &memory, error);
}

void handle_close(struct handle *handle)
{
    if (handle)
        memory_close(&handle->memory, handle->allocation);
}

void handle_use_sparse(struct handle *handle, size_t n)
{
    handle->sparse -= n < handle->sparse ? n : handle->sparse;
    if (handle->sparse == 0)
        memory_fill(handle, handle->bytes - CACHE_LINE, handle->is_used);
    handle->is_used = true;
}

/* ---- clone, clear, merge ---- */

void handle_copy_state(struct handle *to, const struct handle *from)
{
    const struct handle_kind *kind = to->kind;

    memcpy((char *)to + kind->state, (const char *)from + kind->state, kind->state_size);
    if (kind->copy)
        kind->copy(to, from);
}

void handle_copy(struct handle *to, const struct handle *from)
{
    memory_copy(to->data, from->data, from->size);
    handle_copy_state(to, from);
}

struct handle *handle_clone(const struct handle *handle, struct weir_error *error)
{
    if (handle->is_view) {
        error_say(error, WEIR_ERROR_READ_ONLY,
                  "a view cannot be cloned: its cells may be damaged; load it", NULL);
        return NULL;
    }
    struct handle *clone = handle_new(handle->kind, handle_record(handle), &handle->memory, false);
    if (clone)
        handle_copy(clone, handle);
    else
        handle_no_memory(handle->kind, handle_record(handle), &handle->memory, error);
    return clone;
}

void handle_clear(struct handle *handle)
{
    if (handle->is_view)
        return;
    handle->is_used = false;
    handle_use(handle, SIZE_MAX);
    memset(handle->data, 0, (size_t)handle->size);
    memset((char *)handle + handle->kind->state, 0, handle->kind->state_size);
    if (handle->kind->reset)
        handle->kind->reset(handle);
}

enum weir_status handle_check_alike(const struct handle *into, const struct handle *from,
                                    struct weir_error *error)
{
    const struct grammar *g = into->kind->grammar;
    char a[64], b[64];

    if (!spec_differ(g, handle_record(into), handle_record(from), a, b))
        return WEIR_OK;
    return error_say(error, spec_mismatch(a), "the ", g->noun, "s differ: ", a, " and ", b,
                     "; only ", g->noun, "s of one configuration and seed can be merged", NULL);
}

enum weir_status handle_merge(struct handle *into, const struct handle *from,
                              struct weir_error *error)
{
    if (into->is_view)
        return error_say(error, WEIR_ERROR_READ_ONLY,
                         "a view of a saved filter cannot be changed; load it to merge into it",
                         NULL);
    enum weir_status status = into->kind->check_merge(into, from, error);
    if (status == WEIR_OK)
        status = handle_check_alike(into, from, error);
    if (status == WEIR_OK && from->is_view)
        status = error_say(error, WEIR_ERROR_READ_ONLY,
                           "a view cannot be merged: its cells may be damaged; load it", NULL);
    return status == WEIR_OK ? into->kind->merge(into, from, error) : status;
}

/* ---- saving ---- */

/* The cells of a view were never checked, so they are saved with their stored checksums. */
static void head_of(const struct handle *handle, char spec[WEIR_SPEC_MAX], struct part_head *h)
{
    const struct handle_kind *kind = handle->kind;
    size_t length = spec_write(kind->grammar, handle_record(handle), spec, WEIR_SPEC_MAX);

    *h = (struct part_head){.kind = kind->parts[0],
                            .shards = 1,
                            .spec = spec,
                            .length = (uint32_t)length,
                            .cells = handle->size};
    if (handle->is_view)
        h->sums = handle->data + part_lines(handle->size);
    kind->save_words(handle, h);
}

static void put_data(const void *what, struct part_writer *out)
{
    const struct handle *handle = what;

    part_put(out, handle->data, (size_t)handle->size);
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
    return part_write(&h, handle->kind->put ? handle->kind->put : put_data, handle, sink, context,
                      error);
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
    return bad(kind, WEIR_ERROR_CONTRADICTORY, "the saved ", " is in an impossible state", error);
}

enum weir_status handle_plan_saved(const struct handle_kind *kind, const struct part_head *h,
                                   void *record, struct weir_error *error)
{
    char text[WEIR_SPEC_MAX];

    if (h->kind != kind->parts[0] && h->kind != kind->parts[1])
        return bad(kind, WEIR_ERROR_WRONG_KIND, "this part is not a ", "", error);
    const bool is_text = part_spec(h, text),
               is_own = is_text && spec_restore(kind->grammar, text, record);
    if (is_text && kind->is_outdated && kind->is_outdated(record, h))
        return bad(kind, WEIR_ERROR_OLD_FORMAT, "this ",
                   " was written by a version before 1.0; build it again", error);
    if (!is_own || (kind->is_part && !kind->is_part(record, h->kind)))
        return part_bad(error, WEIR_ERROR_BAD_DATA,
                        "the saved configuration is not one that this version of weir writes");
    if (!kind->fits(record, h))
        return bad(kind, WEIR_ERROR_CONTRADICTORY, "the saved ",
                   " does not have the size that its configuration implies", error);
    return WEIR_OK;
}

enum weir_status handle_load_planned(const struct handle_kind *kind, struct handle **out,
                                     const struct part_head *h, const void *record,
                                     struct part_input in, const struct memory *memory,
                                     struct weir_error *error)
{
    struct handle *made = *out = handle_new(kind, record, memory, false);
    enum weir_status status;

    if (!made)
        return handle_no_memory(kind, record, memory, error);
    if (kind->load) {
        status = kind->load(made, h, in, error);
    } else {
        kind->load_words(made, h);
        status = part_input_cells(in, h, made->data, error);
        if (status == WEIR_OK && !kind->is_possible(made))
            status = handle_impossible(kind, error);
    }
    if (status != WEIR_OK) {
        handle_close(made);
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
    uint8_t head[PART_HEAD_MAX];
    struct part_head h;
    struct memory memory;
    enum weir_status status = caller_memory(r->options, &memory, error);

    r->made = NULL;
    if (status == WEIR_OK)
        status = part_input_head(in, head, &h, error);
    return status == WEIR_OK ? load(r, &h, in, &memory, error) : status;
}
