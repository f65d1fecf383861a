/* reply.c - see reply.h. */
#include "server/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/settings.h"

int reply_ok(struct rm_ctx *ctx)
{
    return rm.ReplyWithSimpleString(ctx, "OK");
}

int reply_wrong_type(struct rm_ctx *ctx)
{
    return rm.ReplyWithError(ctx, RM_WRONG_TYPE);
}

int reply_error(struct rm_ctx *ctx, const char *format, ...)
{
    char text[512] = "ERR ";
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + 4, sizeof text - 4, format, arguments);
    va_end(arguments);
    for (char *p = text; *p; p++) /* what ends a line would end the reply */
        if (*p == '\n' || *p == '\r')
            *p = ' ';
    return rm.ReplyWithError(ctx, text);
}

void reply_bool(struct rm_ctx *ctx, bool yes)
{
    if (settings_valkey())
        rm.ReplyWithLongLong(ctx, yes);
    else
        rm.ReplyWithBool(ctx, yes);
}

void reply_text(struct rm_ctx *ctx, const char *text)
{
    rm.ReplyWithStringBuffer(ctx, text, strlen(text));
}

void reply_field(struct rm_ctx *ctx, const char *name, long long number)
{
    rm.ReplyWithSimpleString(ctx, name);
    rm.ReplyWithLongLong(ctx, number);
}
