/* error.c - see error.h. */
#include "spec/error.h"

#include <stdarg.h>

#include "base/text.h"

static void say(struct weir_error *error, enum weir_error_code code, va_list pieces)
{
    const char *piece;

    if (!error)
        return;
    error->status = (int32_t)code / 100;
    error->code = (int32_t)code;
    struct text t = text_in(error->text, sizeof error->text);
    while ((piece = va_arg(pieces, const char *)))
        text_add(&t, piece);
}

enum weir_status error_say(struct weir_error *error, enum weir_error_code code, ...)
{
    va_list pieces;

    va_start(pieces, code);
    say(error, code, pieces);
    va_end(pieces);
    return (enum weir_status)(code / 100);
}

bool error_refuse(struct weir_error *error, enum weir_error_code code, ...)
{
    va_list pieces;

    va_start(pieces, code);
    say(error, code, pieces);
    va_end(pieces);
    return false;
}

static enum weir_status too_large(struct weir_error *error, uint64_t handle, uint64_t most)
{
    char size[24], allowed[24];
    struct text t = text_in(size, sizeof size), a = text_in(allowed, sizeof allowed);

    text_add_u64(&t, handle);
    text_add_u64(&a, most);
    return error_say(error, WEIR_ERROR_MAX_BYTES, "the handle needs ", size,
                     " bytes, but max_bytes is ", allowed, "; use less memory or a higher limit",
                     NULL);
}

enum weir_status error_no_memory(struct weir_error *error, uint64_t bytes, uint64_t handle,
                                 const struct memory *from)
{
    char size[24];
    struct text t = text_in(size, sizeof size);

    if (from->max_bytes && handle > from->max_bytes)
        return too_large(error, handle, from->max_bytes);
    text_add_u64(&t, bytes);
    return error_say(error, WEIR_ERROR_NO_MEMORY, "memory=", size, ": the ",
                     from->allocate ? "program's allocator" : "system",
                     " does not provide that much; use less", NULL);
}

const char *weir_error_name(int32_t code)
{
    static const struct {
        enum weir_error_code code;
        const char *name;
    } names[] = {
        {WEIR_ERROR_NONE, "none"},
        {WEIR_ERROR_BAD_CONFIG, "bad-config"},
        {WEIR_ERROR_UNKNOWN_ALGORITHM, "unknown-algorithm"},
        {WEIR_ERROR_UNKNOWN_PARAMETER, "unknown-parameter"},
        {WEIR_ERROR_INVALID_VALUE, "invalid-value"},
        {WEIR_ERROR_REPEATED_PARAMETER, "repeated-parameter"},
        {WEIR_ERROR_CONFLICTING_PARAMETERS, "conflicting-parameters"},
        {WEIR_ERROR_LIMIT_UNREACHABLE, "limit-unreachable"},
        {WEIR_ERROR_MEMORY_TOO_SMALL, "memory-too-small"},
        {WEIR_ERROR_INVALID_ARGUMENT, "invalid-argument"},
        {WEIR_ERROR_NO_MEMORY, "no-memory"},
        {WEIR_ERROR_MAX_BYTES, "max-bytes"},
        {WEIR_ERROR_BAD_DATA, "bad-data"},
        {WEIR_ERROR_NOT_WEIR, "not-weir"},
        {WEIR_ERROR_TRUNCATED, "truncated"},
        {WEIR_ERROR_CHECKSUM, "checksum"},
        {WEIR_ERROR_CONTRADICTORY, "contradictory"},
        {WEIR_ERROR_OLD_FORMAT, "old-format"},
        {WEIR_ERROR_NEWER_FORMAT, "newer-format"},
        {WEIR_ERROR_WRONG_KIND, "wrong-kind"},
        {WEIR_ERROR_ONE_SHARD, "one-shard"},
        {WEIR_ERROR_BAD_SHARDS, "bad-shards"},
        {WEIR_ERROR_MISMATCH, "mismatch"},
        {WEIR_ERROR_SPEC_MISMATCH, "spec-mismatch"},
        {WEIR_ERROR_SEED_MISMATCH, "seed-mismatch"},
        {WEIR_ERROR_UNSUPPORTED, "unsupported"},
        {WEIR_ERROR_READ_ONLY, "read-only"},
        {WEIR_ERROR_NO_MODEL, "no-model"},
        {WEIR_ERROR_NEEDS_BUILDER, "needs-builder"},
        {WEIR_ERROR_OUT_OF_RANGE, "out-of-range"},
        {WEIR_ERROR_WRITE_FAILED, "write-failed"},
        {WEIR_ERROR_BUFFER_TOO_SMALL, "buffer-too-small"},
        {WEIR_ERROR_FULL, "full"},
        {WEIR_ERROR_UNEVEN_KEYS, "uneven-keys"},
        {WEIR_ERROR_READ_FAILED, "read-failed"},
        {WEIR_ERROR_FILE_NOT_FOUND, "file-not-found"},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((int32_t)names[i].code == code)
            return names[i].name;
    return NULL;
}
