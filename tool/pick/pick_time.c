/* pick_time.c - see pick.h. */
#include "pick/pick.h"

#include <string.h>

#include "cli/units.h"
#include "pick/json.h"

#define SHOWN 60 /* bytes of a text in a message */

/* ---- the text ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next field, if fields are separated by blanks or delimiters: in the common log format it
 * contains the zone. */
static struct weir_bytes field_behind(const struct picker *p, struct weir_bytes field,
                                      const char *end)
{
    const char *at = (const char *)field.data + field.size, *to;

    if (p->way == PICK_BLANKS)
        while (at < end && is_blank(*at))
            at++;
    else
        at += at < end;
    for (to = at; to < end && (p->way == PICK_BLANKS ? !is_blank(*to) : *to != p->delimiter);)
        to++;
    return (struct weir_bytes){at, (size_t)(to - at)};
}

/* The text of the time, and of the field after it. False if out of memory. */
static bool text_of(const struct picker *p, struct batch *b, uint32_t i,
                    const struct weir_bytes *field, struct weir_bytes *text,
                    struct weir_bytes *next)
{
    const struct weir_bytes *first = field + p->keys + p->important + p->has_ttl;

    *text = *first;
    *next = (struct weir_bytes){NULL, 0};
    if (p->way == PICK_BLANKS || p->way == PICK_CHAR)
        *next = field_behind(p, first[p->times - 1], b->data + record_end(b, i));
    return p->times == 1 || pick_join(&b->arena, first, p->times, ' ', text);
}

/* ---- a record ---- */

static bool read_time(const struct time_format *f, struct weir_bytes text, struct weir_bytes next,
                      uint64_t *milliseconds)
{
    int64_t microseconds;

    if (!time_read(f, text, next, &microseconds) || microseconds < 0)
        return false;
    *milliseconds = (uint64_t)microseconds / 1000;
    return true;
}

static bool is_number(struct weir_bytes text)
{
    const struct time_format seconds = {.form = TIME_SECONDS};
    int64_t microseconds;

    return time_read(&seconds, text, (struct weir_bytes){NULL, 0}, &microseconds);
}

/* Formats that a text may have. */
static const char *choices_for(struct weir_bytes text)
{
    const char *c = text.data;

    if (is_number(text))
        return "s, ms or us";
    if (text.size == 10 && c[4] == '-' && c[7] == '-')
        return "%Y-%m-%d; or name the field of the time of day too, as in --time 1,2";
    if (text.size >= 8 && (c[2] == '/' || c[1] == '/'))
        return "%d/%m/%Y %H:%M:%S or %m/%d/%Y %H:%M:%S, whichever it is";
    return "s, ms, us, rfc3339, clf, or a pattern such as '%d.%m.%Y %H:%M:%S'";
}

static void refuse(const struct picker *p, struct batch *b, uint32_t i, struct weir_bytes text)
{
    int shown = (int)(text.size < SHOWN ? text.size : SHOWN);
    int64_t microseconds;

    if (!b->event.format)
        batch_fault(b, i, p->skip, "unknown format of the time '%.*s'; add --time-format %s", shown,
                    (const char *)text.data, choices_for(text));
    else if (time_read(b->event.format, text, (struct weir_bytes){NULL, 0}, &microseconds))
        batch_fault(b, i, p->skip, "the time '%.*s' is before 1970", shown,
                    (const char *)text.data);
    else
        batch_fault(b, i, p->skip, "the time '%.*s' is not %s; --time-format sets another format",
                    shown, (const char *)text.data, time_format_words(b->event.format));
}

/* A blank record has no time and gets the current time. */
static bool is_empty(const struct batch *b, uint32_t i)
{
    const char *at = b->data + record_begin(b, i), *end = b->data + record_end(b, i);

    while (at < end && is_blank(*at))
        at++;
    return at == end;
}

/* An empty field, or null in JSON, is no time. */
static bool is_missing(const struct picker *p, struct weir_bytes text)
{
    const char *at = text.data, *end = at + text.size;

    if (p->way == PICK_JSON && text.size == 4 && memcmp(at, "null", 4) == 0)
        return true;
    while (at < end && is_blank(*at))
        at++;
    return at == end;
}

void pick_time(const struct picker *p, struct batch *b, uint32_t i, const struct weir_bytes *field)
{
    struct weir_bytes text, next;

    if (!text_of(p, b, i, field, &text, &next))
        batch_fault(b, i, false, "out of memory");
    else if (text.size == 0 && is_empty(b, i))
        b->event.time[i] = NO_TIME;
    else if (is_missing(p, text) && p->pass_missing)
        batch_keyless(b, i);
    else if (is_missing(p, text)) {
        batch_fault(b, i, p->skip_missing,
                    "the time is empty; --on-missing skip drops such "
                    "records, --on-missing pass keeps them");
        batch_blame(b, i, BAD_MISSING);
    } else if (!b->event.format || !read_time(b->event.format, text, next, &b->event.time[i]))
        refuse(p, b, i, text);
}

/* ---- the TTL ---- */

#define TTL_TEXT 40   /* bytes */
#define TTL_MOST 1e15 /* seconds; longer ones become the longest of the filter */

/* Seconds, or a number with a unit. */
static bool read_ttl(struct weir_bytes text, uint64_t *milliseconds)
{
    const char *at = text.data, *end = at + text.size;
    char word[TTL_TEXT + 2];
    double seconds;

    while (at < end && is_blank(*at))
        at++;
    while (end > at && is_blank(end[-1]))
        end--;
    size_t size = (size_t)(end - at);
    if (size > TTL_TEXT)
        return false;
    memcpy(word, at, size);
    word[size] = '\0';
    if (strspn(word, "0123456789.") == size)
        strcpy(word + size, "s");
    if (!read_seconds(word, &seconds))
        return false;
    *milliseconds = seconds < TTL_MOST ? (uint64_t)(seconds * 1000 + 0.5) : WEIR_TTL_LONGEST;
    return true;
}

bool pick_ttl(const struct picker *p, struct batch *b, uint32_t i, struct weir_bytes text)
{
    b->event.ttl[i] = WEIR_TTL_LONGEST;
    if (!text.data || is_missing(p, text) || read_ttl(text, &b->event.ttl[i]))
        return true;
    batch_fault(b, i, p->skip,
                "the TTL '%.*s' is not a time; use seconds, or a unit as in 500ms, 90s or 2h",
                (int)(text.size < SHOWN ? text.size : SHOWN), (const char *)text.data);
    return false;
}

/* ---- before it is picked ---- */

enum finding { TIME_FOUND, TIME_MISSING, TIME_UNREADABLE };

static enum finding find_text(const struct picker *p, struct batch *b, uint32_t i,
                              struct weir_bytes *text, struct weir_bytes *next)
{
    struct weir_bytes field[COLUMNS_MAX + 1];
    const char *record = b->data + record_begin(b, i);
    size_t size = record_end(b, i) - record_begin(b, i);
    struct json_fault fault;

    if (b->bads && b->bad[i])
        return TIME_UNREADABLE;
    if (p->way != PICK_JSON && fields_of(p, &b->arena, record, size, field) < p->widest)
        return TIME_MISSING;
    if (p->way == PICK_JSON &&
        json_fields(&p->json, &b->arena, record, size, field, &fault) != JSON_FINE)
        return TIME_UNREADABLE;
    for (uint32_t c = 0; p->way == PICK_JSON && c < p->columns; c++)
        if (!field[c].data && !pick_is_optional(p, c))
            return TIME_MISSING;
    if (!text_of(p, b, i, field, text, next))
        return TIME_UNREADABLE;
    return is_missing(p, *text) ? TIME_MISSING : TIME_FOUND;
}

uint64_t pick_time_early(const struct picker *p, struct batch *b, uint32_t i,
                         const struct time_format *f)
{
    struct weir_bytes text, next;
    uint64_t time;

    if (!f || find_text(p, b, i, &text, &next) != TIME_FOUND || !read_time(f, text, next, &time))
        return NO_TIME;
    return time;
}

bool pick_time_format(const struct picker *p, struct batch *b, struct time_format *f)
{
    struct weir_bytes text, next;

    for (uint32_t i = 0; i < b->n; i++) {
        enum finding found = find_text(p, b, i, &text, &next);

        if (found == TIME_FOUND && time_guess(text, f))
            return true;
        bool stops = found == TIME_MISSING ? !p->skip_missing && !p->pass_missing : !p->skip;
        if (stops && !is_empty(b, i))
            return false;
    }
    return false;
}
