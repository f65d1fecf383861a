/* time_pattern.c - parse times by a strptime pattern (time_text.h).
 *
 * libc's strptime() depends on the locale and ignores zone names. This parser supports the
 * conversions that occur in logs: English names in any locale, a fraction (%f, as in Python), and
 * zones. A blank in the pattern matches any number of blanks; numbers may lack leading zeros. */
#include "pick/time_text.h"

#include <string.h>

struct pattern_reading {
    const char *at, *end;
    struct time_parts parts;
    uint32_t day_of_year; /* 0: not given */
    int half;             /* -1: not given; 0: AM, 1: PM */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool number(struct pattern_reading *r, uint32_t digits, uint32_t *out)
{
    return time_digits(&r->at, r->end, 1, digits, out);
}

static bool read_year(struct pattern_reading *r, uint32_t digits)
{
    uint32_t year;

    if (!time_digits(&r->at, r->end, digits, digits, &year))
        return false;
    if (digits == 2)
        year += year < 69 ? 2000 : 1900; /* POSIX */
    r->parts.year = year;
    return true;
}

static bool read_half(struct pattern_reading *r)
{
    if (r->end - r->at < 2 || (r->at[1] | 32) != 'm')
        return false;
    char c = (char)(*r->at | 32);

    r->half = c == 'p';
    r->at += 2;
    return c == 'a' || c == 'p';
}

/* UTC and GMT are the only unambiguous zone names. */
static bool read_zone(struct pattern_reading *r)
{
    if (r->end - r->at >= 3 && (memcmp(r->at, "UTC", 3) == 0 || memcmp(r->at, "GMT", 3) == 0)) {
        r->at += 3;
        return true;
    }
    return time_zone(&r->at, r->end, &r->parts);
}

static bool skip_blanks(struct pattern_reading *r)
{
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
    return true;
}

static bool read_pattern(struct pattern_reading *r, const char *pattern);

static bool read_letter(struct pattern_reading *r, char letter)
{
    struct time_parts *p = &r->parts;

    switch (letter) {
    case 'Y':
        return read_year(r, 4);
    case 'y':
        return read_year(r, 2);
    case 'm':
        return number(r, 2, &p->month);
    case 'b':
    case 'B':
    case 'h':
        return time_month(&r->at, r->end, &p->month);
    case 'e':
        return skip_blanks(r) && number(r, 2, &p->day);
    case 'd':
        return number(r, 2, &p->day);
    case 'j':
        return number(r, 3, &r->day_of_year) && r->day_of_year > 0;
    case 'a':
    case 'A':
        return time_weekday(&r->at, r->end);
    case 'I':
        return number(r, 2, &p->hour) && p->hour >= 1 && p->hour <= 12;
    case 'H':
        return number(r, 2, &p->hour);
    case 'p':
        return read_half(r);
    case 'M':
        return number(r, 2, &p->minute);
    case 'S':
        return number(r, 2, &p->second);
    case 'f':
        return time_fraction(&r->at, r->end, &p->microsecond);
    case 'z':
        return read_zone(r);
    case 'F':
        return read_pattern(r, "%Y-%m-%d");
    case 'T':
        return read_pattern(r, "%H:%M:%S");
    case 'R':
        return read_pattern(r, "%H:%M");
    case 'D':
        return read_pattern(r, "%m/%d/%y");
    case 'n':
    case 't':
        return skip_blanks(r);
    default: /* % itself */
        return r->at < r->end && *r->at++ == letter;
    }
}

static bool read_pattern(struct pattern_reading *r, const char *pattern)
{
    for (; *pattern; pattern++) {
        bool fine;

        if (*pattern == '%')
            fine = read_letter(r, *++pattern);
        else if (is_blank(*pattern))
            fine = skip_blanks(r);
        else
            fine = r->at < r->end && *r->at++ == *pattern;
        if (!fine)
            return false;
    }
    return true;
}

/* Day 60 of a year is 59 days after its first day. */
static bool join(struct pattern_reading *r, int64_t *microseconds)
{
    struct time_parts *p = &r->parts;
    uint32_t year_days = p->year % 4 == 0 && (p->year % 100 != 0 || p->year % 400 == 0) ? 366 : 365;

    if (r->half >= 0)
        p->hour = p->hour % 12 + 12 * (uint32_t)r->half;
    if (r->day_of_year > year_days)
        return false;
    if (r->day_of_year)
        p->month = p->day = 1;
    if (!time_join(p, microseconds))
        return false;
    if (r->day_of_year)
        *microseconds += (r->day_of_year - 1) * INT64_C(86400000000);
    return true;
}

bool time_pattern_read(const char *pattern, struct weir_bytes text, int64_t *microseconds)
{
    struct pattern_reading r = {
        .at = text.data, .end = (const char *)text.data + text.size, .half = -1};

    return read_pattern(&r, pattern) && r.at == r.end && join(&r, microseconds);
}

/* ---- is it a pattern? ---- */

static bool has(const char *pattern, const char *letters)
{
    for (; (pattern = strchr(pattern, '%')); pattern += 2)
        if (strchr(letters, pattern[1]))
            return true;
    return false;
}

const char *time_pattern_check(const char *pattern)
{
    for (const char *at = pattern; (at = strchr(at, '%')); at += 2)
        if (!at[1] || !strchr("YymdejHIpMSfbBhaAzFTRDnt%", at[1]))
            return "unsupported letter after %";
    bool month = has(pattern, "mbBh") && has(pattern, "de");
    bool day = has(pattern, "FD") || (has(pattern, "Yy") && (month || has(pattern, "j")));
    if (!day)
        return "it takes s, ms, us, rfc3339, clf, or a pattern with year, month and day, such as "
               "%Y-%m-%d %H:%M:%S";
    if (has(pattern, "I") != has(pattern, "p"))
        return "%I requires %p, and %p requires %I";
    return NULL;
}
