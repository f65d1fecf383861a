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
    return error_say(error, WEIR_ERROR_MAX_BYTES, "it takes ", size, " bytes, and ", allowed,
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
    return error_say(error, WEIR_ERROR_NO_MEMORY, "memory=", size, ": the ",
                     from->allocate ? "program's allocator" : "system",
                     " does not give that much; ask for less", NULL);
}

const char *weir_error_name(int32_t code)
{
    switch ((enum weir_error_code)code) {
    case WEIR_ERROR_NONE:
        return "none";
    case WEIR_ERROR_BAD_CONFIG:
        return "bad-config";
    case WEIR_ERROR_UNKNOWN_ALGORITHM:
        return "unknown-algorithm";
    case WEIR_ERROR_UNKNOWN_PARAMETER:
        return "unknown-parameter";
    case WEIR_ERROR_INVALID_VALUE:
        return "invalid-value";
    case WEIR_ERROR_REPEATED_PARAMETER:
        return "repeated-parameter";
    case WEIR_ERROR_CONFLICTING_PARAMETERS:
        return "conflicting-parameters";
    case WEIR_ERROR_LIMIT_UNREACHABLE:
        return "limit-unreachable";
    case WEIR_ERROR_MEMORY_TOO_SMALL:
        return "memory-too-small";
    case WEIR_ERROR_INVALID_ARGUMENT:
        return "invalid-argument";
    case WEIR_ERROR_NO_MEMORY:
        return "no-memory";
    case WEIR_ERROR_MAX_BYTES:
        return "max-bytes";
    case WEIR_ERROR_BAD_DATA:
        return "bad-data";
    case WEIR_ERROR_NOT_WEIR:
        return "not-weir";
    case WEIR_ERROR_TRUNCATED:
        return "truncated";
    case WEIR_ERROR_CHECKSUM:
        return "checksum";
    case WEIR_ERROR_CONTRADICTORY:
        return "contradictory";
    case WEIR_ERROR_OLD_FORMAT:
        return "old-format";
    case WEIR_ERROR_NEWER_FORMAT:
        return "newer-format";
    case WEIR_ERROR_WRONG_KIND:
        return "wrong-kind";
    case WEIR_ERROR_ONE_SHARD:
        return "one-shard";
    case WEIR_ERROR_BAD_SHARDS:
        return "bad-shards";
    case WEIR_ERROR_MISMATCH:
        return "mismatch";
    case WEIR_ERROR_SPEC_MISMATCH:
        return "spec-mismatch";
    case WEIR_ERROR_SEED_MISMATCH:
        return "seed-mismatch";
    case WEIR_ERROR_UNSUPPORTED:
        return "unsupported";
    case WEIR_ERROR_READ_ONLY:
        return "read-only";
    case WEIR_ERROR_NO_MODEL:
        return "no-model";
    case WEIR_ERROR_NEEDS_BUILDER:
        return "needs-builder";
    case WEIR_ERROR_OUT_OF_RANGE:
        return "out-of-range";
    case WEIR_ERROR_WRITE_FAILED:
        return "write-failed";
    case WEIR_ERROR_BUFFER_TOO_SMALL:
        return "buffer-too-small";
    case WEIR_ERROR_FULL:
        return "full";
    case WEIR_ERROR_UNEVEN_KEYS:
        return "uneven-keys";
    case WEIR_ERROR_READ_FAILED:
        return "read-failed";
    case WEIR_ERROR_FILE_NOT_FOUND:
        return "file-not-found";
    }
    return NULL;
}
