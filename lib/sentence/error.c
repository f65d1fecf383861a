/* error.c - putting one sentence together. */
#include "sentence/error.h"

#include <stdarg.h>

#include "base/text.h"

enum weir_status error_say(struct weir_error *error, enum weir_status status, ...)
{
    va_list pieces;
    const char *piece;

    if (!error)
        return status;
    error->status = status;
    struct text t = text_in(error->text, sizeof error->text);
    va_start(pieces, status);
    while ((piece = va_arg(pieces, const char *)))
        text_add(&t, piece);
    va_end(pieces);
    return status;
}

enum weir_status error_no_memory(struct weir_error *error, uint64_t bytes)
{
    char size[24];
    struct text t = text_in(size, sizeof size);

    text_add_u64(&t, bytes);
    return error_say(error, WEIR_NO_MEMORY, "memory=", size,
                     ": the system does not give that much; ask for less", NULL);
}
