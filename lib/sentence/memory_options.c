/* memory_options.c - see memory_options.h. */
#include "sentence/memory_options.h"

#include "sentence/error.h"

/* A program of a later version may say what is not known here, if it is nothing. */
static bool says_more(const struct weir_options *options)
{
    const uint8_t *bytes = (const uint8_t *)options;

    for (size_t i = sizeof *options; i < options->size; i++)
        if (bytes[i])
            return true;
    return false;
}

enum weir_status options_read(const struct weir_options *options, struct memory *memory,
                              struct weir_error *error)
{
    *memory = (struct memory){0};
    if (!options)
        return WEIR_OK;
    if (options->size < sizeof *options)
        return error_say(error, WEIR_BAD_CONFIG,
                         "size in the options is not sizeof(struct weir_options)", NULL);
    if (says_more(options))
        return error_say(error, WEIR_UNSUPPORTED,
                         "the options ask for what only a later version of libweir has", NULL);
    if (!options->memory.take != !options->memory.give)
        return error_say(error, WEIR_BAD_CONFIG,
                         "memory in the options needs both, take and give, or neither", NULL);
    *memory = (struct memory){options->memory.take, options->memory.give, options->memory.context,
                              options->most};
    return WEIR_OK;
}
