/* given.c - see given.h. */
#include "sentence/given.h"

#include <string.h>

#include "sentence/error.h"

static bool is_zero(const uint8_t *bytes, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (bytes[i])
            return false;
    return true;
}

enum weir_status given_struct(void *to, size_t size, const void *from, const char *name,
                              struct weir_error *error)
{
    size_t given = *(const size_t *)from;

    if (given < size)
        return error_say(error, WEIR_BAD_CONFIG, "size in struct ", name, " is not its sizeof",
                         NULL);
    if (!is_zero(from, size, given))
        return error_say(error, WEIR_UNSUPPORTED, "struct ", name,
                         " says what only a later version of libweir understands", NULL);
    memcpy(to, from, size);
    return WEIR_OK;
}

enum weir_status given_memory(const struct weir_options *options, struct memory *memory,
                              struct weir_error *error)
{
    struct weir_options o = {0};
    enum weir_status status =
        options ? given_struct(&o, sizeof o, options, "weir_options", error) : WEIR_OK;

    if (status != WEIR_OK)
        return status;
    if (!o.memory.take != !o.memory.give)
        return error_say(error, WEIR_BAD_CONFIG,
                         "memory in the options needs both, take and give, or neither", NULL);
    *memory = (struct memory){o.memory.take, o.memory.give, o.memory.context, o.most};
    return WEIR_OK;
}
