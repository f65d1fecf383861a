/* caller_struct.c - see caller_struct.h. */
#include "spec/caller_struct.h"

#include "spec/error.h"

static bool is_zero(const uint8_t *bytes, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (bytes[i])
            return false;
    return true;
}

enum weir_status caller_struct_copy(void *to, struct caller_struct what, const void *from,
                                    struct weir_error *error)
{
    size_t from_size = *(const size_t *)from;

    if (from_size < what.first)
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT, "struct ", what.name,
                         ": invalid size; set its first field to its sizeof", NULL);
    if (!is_zero(from, what.size, from_size))
        return error_say(
            error, WEIR_ERROR_UNSUPPORTED, "struct ", what.name,
            ": it sets a field that this version of libweir does not have; set it to 0 "
            "or update libweir",
            NULL);
    memset(to, 0, what.size);
    memcpy(to, from, from_size < what.size ? from_size : what.size);
    return WEIR_OK;
}

enum weir_status caller_memory(const struct weir_options *options, struct memory *memory,
                               struct weir_error *error)
{
    struct weir_options o = {0};
    struct caller_struct what = {"weir_options", sizeof o,
                                 UP_TO_MEMBER(struct weir_options, max_bytes)};
    enum weir_status status = options ? caller_struct_copy(&o, what, options, error) : WEIR_OK;

    if (status != WEIR_OK)
        return status;
    if (!o.allocator.allocate != !o.allocator.free)
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                         "the allocator in the options needs both allocate and free, or neither",
                         NULL);
    *memory =
        (struct memory){o.allocator.allocate, o.allocator.free, o.allocator.context, o.max_bytes};
    return WEIR_OK;
}
