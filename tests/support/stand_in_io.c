/* stand_in_io.c - RDB, AOF, digests and defragmentation; see stand_in.h. */
#include "support/stand_in_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- RDB, AOF, digests, defragmentation ---- */

void stand_save_string(struct rm_io *io, const char *data, size_t size)
{
    stand_add_word(&io->strings, stand_string(data, size));
}

static char *load_string(struct rm_io *io, size_t *size)
{
    char *data;

    if (io->read == io->strings.n) {
        io->failed = true;
        return NULL;
    }
    *size = io->strings.list[io->read]->size;
    data = stand_take(*size ? *size : 1);
    memcpy(data, io->strings.list[io->read++]->data, *size);
    return data;
}

static void save_unsigned(struct rm_io *io, uint64_t number)
{
    stand_save_string(io, (const char *)&number, sizeof number);
}

static uint64_t load_unsigned(struct rm_io *io)
{
    uint64_t number = 0;
    struct rm_string *from = io->read < io->strings.n ? io->strings.list[io->read] : NULL;

    if (from && from->size == sizeof number)
        memcpy(&number, io->strings.list[io->read++]->data, sizeof number);
    else
        io->failed = true;
    return number;
}

static void save_double(struct rm_io *io, double number)
{
    stand_save_string(io, (const char *)&number, sizeof number);
}

static double load_double(struct rm_io *io)
{
    uint64_t bits = load_unsigned(io);
    double number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

static int is_io_error(struct rm_io *io)
{
    return io->failed;
}

static void emit_aof(struct rm_io *io, const char *command, const char *format, ...)
{
    va_list arguments;

    io->commands = realloc(io->commands, (io->commands_n + 1) * sizeof *io->commands);
    assert(io->commands);
    io->commands[io->commands_n] = (struct words){0};
    va_start(arguments, format);
    stand_format_words(&io->commands[io->commands_n++], command, format, arguments);
    va_end(arguments);
}

static void digest_bytes(struct rm_digest *digest, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        digest->sum = (digest->sum ^ (uint8_t)data[i]) * UINT64_C(0x100000001b3);
}

static void digest_end(struct rm_digest *digest)
{
    digest->sum += 1;
}

static void *defrag_alloc(struct rm_defrag *ctx, void *block)
{
    void *moved;

    if (ctx->moved++ % 3 == 2) /* some are not moved */
        return NULL;
    moved = stand_take(stand_size_of(block));
    memcpy(moved, block, stand_size_of(block));
    stand_give(block);
    return moved;
}

static int defrag_should_stop(struct rm_defrag *ctx)
{
    return ctx->moved % 2;
}

static int defrag_cursor_set(struct rm_defrag *ctx, unsigned long cursor)
{
    ctx->cursor = cursor;
    return RM_OK;
}

static int defrag_cursor_get(struct rm_defrag *ctx, unsigned long *cursor)
{
    *cursor = ctx->cursor;
    return RM_OK;
}

const struct stand_in_call stand_in_io_calls[] = {
    STAND_IN_CALL(SaveStringBuffer, stand_save_string),
    STAND_IN_CALL(LoadStringBuffer, load_string),
    STAND_IN_CALL(SaveUnsigned, save_unsigned),
    STAND_IN_CALL(LoadUnsigned, load_unsigned),
    STAND_IN_CALL(SaveDouble, save_double),
    STAND_IN_CALL(LoadDouble, load_double),
    STAND_IN_CALL(IsIOError, is_io_error),
    STAND_IN_CALL(EmitAOF, emit_aof),
    STAND_IN_CALL(DigestAddStringBuffer, digest_bytes),
    STAND_IN_CALL(DigestEndSequence, digest_end),
    STAND_IN_CALL(DefragAlloc, defrag_alloc),
    STAND_IN_CALL(DefragShouldStop, defrag_should_stop),
    STAND_IN_CALL(DefragCursorSet, defrag_cursor_set),
    STAND_IN_CALL(DefragCursorGet, defrag_cursor_get),
    {0},
};
