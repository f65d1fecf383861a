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

enum weir_status given_struct(void *to, struct given what, const void *from,
                              struct weir_error *error)
{
    size_t given = *(const size_t *)from;

    if (given < what.first)
        return error_say(error, WEIR_BAD_CONFIG, "size in struct ", what.name, " is not its sizeof",
                         NULL);
    if (!is_zero(from, what.size, given))
        return error_say(error, WEIR_UNSUPPORTED, "struct ", what.name,
                         " says what only a later version of libweir understands", NULL);
    memset(to, 0, what.size);
    memcpy(to, from, given < what.size ? given : what.size);
    return WEIR_OK;
}

enum weir_status given_memory(const struct weir_options *options, struct memory *memory,
                              struct weir_error *error)
{
    struct weir_options o = {0};
    struct given what = {"weir_options", sizeof o, GIVEN_UP_TO(struct weir_options, most)};
    enum weir_status status = options ? given_struct(&o, what, options, error) : WEIR_OK;

    if (status != WEIR_OK)
        return status;
    if (!o.memory.take != !o.memory.give)
        return error_say(error, WEIR_BAD_CONFIG,
                         "memory in the options needs both, take and give, or neither", NULL);
    *memory = (struct memory){o.memory.take, o.memory.give, o.memory.context, o.most};
    return WEIR_OK;
}
