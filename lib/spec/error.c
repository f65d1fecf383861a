/* error.c - putting one message together. */
#include "spec/error.h"

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

static enum weir_status too_large(struct weir_error *error, uint64_t handle, uint64_t most)
{
    char size[24], allowed[24];
    struct text t = text_in(size, sizeof size), a = text_in(allowed, sizeof allowed);

    text_add_u64(&t, handle);
    text_add_u64(&a, most);
    return error_say(error, WEIR_NO_MEMORY, "it takes ", size, " bytes, and ", allowed,
                     " are allowed; ask for less memory or allow more", NULL);
}

enum weir_status error_no_memory(struct weir_error *error, uint64_t bytes, uint64_t handle,
                                 const struct memory *from)
{
    char size[24];
    struct text t = text_in(size, sizeof size);

    if (from->max_bytes && handle > from->max_bytes)
        return too_large(error, handle, from->max_bytes);
    text_add_u64(&t, bytes);
    return error_say(error, WEIR_NO_MEMORY, "memory=", size, ": the ",
                     from->allocate ? "program's allocator" : "system",
                     " does not give that much; ask for less", NULL);
}
