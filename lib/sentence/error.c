/* error.c - putting one sentence together. */
#include "sentence/error.h"

#include <stdarg.h>

#include "base/text.h"

static void say(struct weir_error *error, enum weir_status status, va_list pieces)
{
    const char *piece;

    if (!error)
        return;
    error->status = status;
    struct text t = text_in(error->text, sizeof error->text);
    while ((piece = va_arg(pieces, const char *)))
        text_add(&t, piece);
}

enum weir_status error_say(struct weir_error *error, enum weir_status status, ...)
{
    va_list pieces;

    va_start(pieces, status);
    say(error, status, pieces);
    va_end(pieces);
    return status;
}

bool error_refuse(struct weir_error *error, ...)
{
    va_list pieces;

    va_start(pieces, error);
    say(error, WEIR_BAD_CONFIG, pieces);
    va_end(pieces);
    return false;
}

enum weir_status error_no_memory(struct weir_error *error, uint64_t bytes)
{
    char size[24];
    struct text t = text_in(size, sizeof size);

    text_add_u64(&t, bytes);
    return error_say(error, WEIR_NO_MEMORY, "memory=", size,
                     ": the system does not give that much; ask for less", NULL);
}
