/* error.c - putting one sentence together. */
#include "error.h"

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
