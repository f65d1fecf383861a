/* reply.c - see reply.h. */
#include "server/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/server.h"

int reply_ok(struct rm_ctx *ctx)
{
    return rm.ReplyWithSimpleString(ctx, "OK");
}

int reply_wrong_type(struct rm_ctx *ctx)
{
    return rm.ReplyWithError(ctx, RM_WRONG_TYPE);
}

#define CODE_NAME(code, meaning) [code] = #code,
#define CODE_MEANING(code, meaning) [code] = meaning,
static const char *const names[] = {REPLY_CODES(CODE_NAME)};
static const char *const meanings[] = {REPLY_CODES(CODE_MEANING)};

/* `words`: the code and the numbers that belong to it. */
static int send_error(struct rm_ctx *ctx, const char *words, const char *text)
{
    char line[512];

#ifdef WEIR_TEST_CODES_ONLY /* clients are tested against this: see tests/module/meson.build */
    text = "x";
#endif
    snprintf(line, sizeof line, "%s %s", words, text);
    for (char *p = line; *p; p++) /* a line break would end the reply */
        if (*p == '\n' || *p == '\r')
            *p = ' ';
    return rm.ReplyWithError(ctx, line);
}

int reply_error(struct rm_ctx *ctx, enum reply_code code, const char *format, ...)
{
    char text[480];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return send_error(ctx, names[code], text);
}

int reply_code(struct rm_ctx *ctx, enum reply_code code)
{
    return send_error(ctx, names[code], meanings[code]);
}

int reply_failure(struct rm_ctx *ctx, const struct weir_error *error)
{
    switch (error->status) {
    case WEIR_BAD_CONFIG:
        return send_error(ctx, names[WEIRSPEC], error->text);
    case WEIR_NO_MEMORY:
        return send_error(ctx, names[WEIRMEMORY], error->text);
    case WEIR_MISMATCH:
        return send_error(ctx, names[WEIRMISMATCH], error->text);
    case WEIR_UNSUPPORTED:
        return send_error(ctx, names[WEIRUNSUPPORTED], error->text);
    default:
        return send_error(ctx, names[WEIRDATA], error->text);
    }
}

int reply_gone(struct rm_ctx *ctx, uint64_t last)
{
    char words[48];

    snprintf(words, sizeof words, "%s %llu", names[WEIRGONE], (unsigned long long)last);
    return send_error(ctx, words, meanings[WEIRGONE]);
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
