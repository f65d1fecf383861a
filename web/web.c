/* web.c - the library for a web page: plans, and filters whose memory is drawn.
 *
 * Strings and bytes are passed in memory from web_take(); answers are JSON in web_answer(). A
 * call that returns a status returns 0 if it succeeded; otherwise the answer is {"error": ...}. */
#include "web.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define WEIR_UNSTABLE
#include <weir.h>
#include <weir/plan.h>

static char text[1 << 16];
static size_t used;

/* ---- answers ---- */

void answer_begin(void)
{
    used = 0;
    text[0] = 0;
}

void answer(const char *format, ...)
{
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    if (n > 0)
        used = used + (size_t)n < sizeof text ? used + (size_t)n : sizeof text - 1;
}

void answer_number(const char *name, double value)
{
    if (isfinite(value))
        answer("\"%s\":%.9g,", name, value);
    else
        answer("\"%s\":null,", name);
}

void answer_text(const char *name, const char *value)
{
    answer("\"%s\":\"", name);
    for (; *value; value++)
        if ((unsigned char)*value < ' ' || *value == '"' || *value == '\\')
            answer("\\u%04x", (unsigned char)*value);
        else
            answer("%c", *value);
    answer("\",");
}

void answer_close(char bracket)
{
    if (used && text[used - 1] == ',')
        used--;
    answer("%c", bracket);
}

int answer_error(const char *why)
{
    answer_begin();
    answer("{");
    answer_text("error", why);
    answer_close('}');
    return 1;
}

EXPORT(web_answer) const char *web_answer(void)
{
    return text;
}

EXPORT(web_take) void *web_take(size_t size)
{
    return malloc(size);
}

EXPORT(web_give) void web_give(void *memory)
{
    free(memory);
}

/* ---- plans ---- */

static void add_row(const char *name, const struct weir_prediction *p)
{
    answer("{");
    answer_text("name", name);
    answer_text("spec", p->config);
    answer_number("memory", (double)p->memory);
    answer_number("fpr", p->fpr);
    answer_number("fnr", p->fnr);
    answer_number("stable", p->stable);
    answer_number("remembered", p->remembered);
    answer_number("rank", p->rank);
    answer_close('}');
    answer(",");
}

/* All filters ("" as `only`) or one, each with its best parameters for this stream. memory 0: the
 * least memory within the maximum rates. Filters without a plan are left out. */
EXPORT(web_plan)
int web_plan(const char *only, const char *stream, double memory, double fpr, double fnr)
{
    struct weir_plan_request request = {sizeof request, (uint64_t)memory, fpr, fnr};
    static struct weir_prediction p;
    const struct weir_algorithm *about;
    struct weir_stream s;
    struct weir_error error;

    if (weir_stream_read(&s, sizeof s, stream, &error) != WEIR_OK)
        return answer_error(error.text);
    answer_begin();
    answer("[");
    for (size_t i = 0; (about = weir_algorithm_at(WEIR_KIND_FILTER, i)); i++) {
        enum weir_status status = WEIR_UNSUPPORTED;

        if ((*only && strcmp(only, about->name) != 0) || about->traits & WEIR_FOR_TABLES ||
            !(about->traits & WEIR_CAN_OBSERVE))
            continue;
        status = (memory > 0 ? weir_choose : weir_min_memory)(&p, sizeof p, about->name, &s,
                                                              &request, &error);
        if (status == WEIR_OK)
            add_row(about->name, &p);
    }
    answer_close(']');
    return 0;
}

/* ---- filters ---- */

/* NULL after an error. */
EXPORT(web_open) weir_filter *web_open(const char *spec)
{
    struct weir_error error;
    weir_filter *filter;

    if (strstr(spec, "hash=sip"))
        answer_error("this page has no hash=sip");
    else if (weir_open(&filter, spec, &error) == WEIR_OK)
        return filter;
    else
        answer_error(error.text);
    return NULL;
}

EXPORT(web_close) void web_close(weir_filter *filter)
{
    weir_close(filter);
}

/* 0: the key is new; 1: seen. */
EXPORT(web_observe) int web_observe(weir_filter *filter, const void *key, size_t size)
{
    return weir_observe_bytes(filter, key, size);
}

/* Save the filter: the length of the bytes in *to. 0 if they need more than `room`. */
EXPORT(web_save) size_t web_save(const weir_filter *filter, void *to, size_t room)
{
    size_t size = weir_saved_size(filter);

    return size <= room && weir_save_buffer(filter, to, room, NULL) ? size : 0;
}
