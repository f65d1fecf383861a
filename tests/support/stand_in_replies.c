/* stand_in_replies.c - collects replies and checks their structure; see stand_in.h. */
#include "support/stand_in_inside.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- replies ---- */

static void write_reply(const char *format, ...)
{
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(stand.reply.text + stand.reply.n, sizeof stand.reply.text - stand.reply.n, format,
                  arguments);
    va_end(arguments);
    stand.reply.n += (size_t)n < sizeof stand.reply.text - stand.reply.n ? (size_t)n : 0;
}

static void element(void)
{
    while (stand.reply.depth > 0) {
        long *left = &stand.reply.left[stand.reply.depth - 1];

        if (*left < 0) {
            --*left;
            return;
        }
        if (--*left > 0)
            return;
        write_reply("]");
        stand.reply.depth--;
    }
    stand.reply.whole++;
}

static int reply_array(struct rm_ctx *ctx, long n)
{
    (void)ctx;
    assert(stand.reply.depth < DEPTH && n >= -1);
    write_reply(" [");
    stand.reply.left[stand.reply.depth++] = n;
    if (n == 0) {
        write_reply("]");
        stand.reply.depth--;
        element();
    }
    return RM_OK;
}

static int reply_map(struct rm_ctx *ctx, long n)
{
    return reply_array(ctx, 2 * n);
}

static void set_array_length(struct rm_ctx *ctx, long n)
{
    (void)ctx;
    assert(stand.reply.depth > 0 && stand.reply.left[stand.reply.depth - 1] == -1 - n);
    write_reply("]");
    stand.reply.depth--;
    element();
}

static int reply_number(struct rm_ctx *ctx, long long number)
{
    (void)ctx;
    write_reply(" %lld", number);
    element();
    return RM_OK;
}

static int reply_bool(struct rm_ctx *ctx, int yes)
{
    return reply_number(ctx, yes);
}

static int reply_double(struct rm_ctx *ctx, double number)
{
    (void)ctx;
    write_reply(" %g", number);
    element();
    return RM_OK;
}

static int reply_nil(struct rm_ctx *ctx)
{
    (void)ctx;
    write_reply(" nil");
    element();
    return RM_OK;
}

static int reply_simple(struct rm_ctx *ctx, const char *text)
{
    (void)ctx;
    assert(!strpbrk(text, "\r\n"));
    write_reply(" %s", text);
    element();
    return RM_OK;
}

static int reply_error(struct rm_ctx *ctx, const char *text)
{
    (void)ctx;
    assert(!strpbrk(text, "\r\n"));
    write_reply(" -%s", text);
    element();
    return RM_OK;
}

static struct {
    char data[1 << 14];
    size_t size;
} answered;

struct weir_bytes stand_in_last(void)
{
    return (struct weir_bytes){answered.data, answered.size};
}

static int reply_bytes(struct rm_ctx *ctx, const char *data, size_t size)
{
    (void)ctx;
    assert(data || size == 0);
    answered.size = size < sizeof answered.data ? size : sizeof answered.data;
    if (size > 0)
        memcpy(answered.data, data, answered.size);
    write_reply(" \"%.*s\"", size < 64 ? (int)size : 64, data);
    element();
    return RM_OK;
}

int stand_wrong_arity(struct rm_ctx *ctx)
{
    return reply_error(ctx, "ERR wrong number of arguments");
}

const struct stand_in_call stand_in_replies_calls[] = {
    STAND_IN_CALL(WrongArity, stand_wrong_arity),
    STAND_IN_CALL(ReplyWithError, reply_error),
    STAND_IN_CALL(ReplyWithLongLong, reply_number),
    STAND_IN_CALL(ReplyWithDouble, reply_double),
    STAND_IN_CALL(ReplyWithBool, reply_bool),
    STAND_IN_CALL(ReplyWithNull, reply_nil),
    STAND_IN_CALL(ReplyWithSimpleString, reply_simple),
    STAND_IN_CALL(ReplyWithStringBuffer, reply_bytes),
    STAND_IN_CALL(ReplyWithArray, reply_array),
    STAND_IN_CALL(ReplyWithMap, reply_map),
    STAND_IN_CALL(ReplySetArrayLength, set_array_length),
    {0},
};
