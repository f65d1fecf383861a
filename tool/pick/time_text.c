/* time_text.c - see time_text.h.
 *
 * Dates become days by the arithmetic of Hinnant ("chrono-compatible low-level
 * date algorithms", 2013): years begin in March, so that the leap day is the last,
 * and a cycle of 400 years has 146097 days. A standard form takes a third of the time
 * of strptime() and timegm(), the common log format less than a tenth.
 *
 * libc's strptime() depends on the locale and ignores zone names. The parser of patterns supports
 * the conversions that occur in logs: English names in any locale, a fraction (%f, as in Python),
 * and zones. A blank in the pattern matches any number of blanks; numbers may lack leading zeros.
 */
#include "pick/time_text.h"

#include <string.h>

#define MICROS INT64_C(1000000)
#define DAY INT64_C(86400)

/* ---- arithmetic ---- */

struct time_parts {
    int64_t year;
    uint32_t month, day, hour, minute, second, microsecond;
    int64_t offset; /* of the zone, in seconds east */
    bool zoned;
};

static int64_t days_before(int64_t year, uint32_t month, uint32_t day)
{
    year -= month <= 2;
    int64_t cycle = (year >= 0 ? year : year - 399) / 400;
    int64_t of_cycle = year - cycle * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return cycle * 146097 + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + of_year - 719468;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static uint32_t days_of(int64_t year, uint32_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month - 1] + (month == 2 && is_leap(year));
}

static bool join_parts(const struct time_parts *p, int64_t *microseconds)
{
    if (p->month - 1 > 11 || p->day - 1 >= days_of(p->year, p->month) || p->hour > 23 ||
        p->minute > 59 || p->second > 60)
        return false;
    int64_t seconds = days_before(p->year, p->month, p->day) * DAY + p->hour * INT64_C(3600) +
                      p->minute * INT64_C(60) + p->second - p->offset;
    *microseconds = seconds * MICROS + p->microsecond;
    return true;
}

/* ---- pieces ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* These functions parse at *at, before end, and advance *at, or return false. */
static bool read_digits(const char **at, const char *end, uint32_t least, uint32_t most,
                        uint32_t *out)
{
    uint32_t n = 0, value = 0;

    for (; n < most && *at + n < end && is_digit((*at)[n]); n++)
        value = value * 10 + (uint32_t)((*at)[n] - '0');
    *at += n;
    *out = value;
    return n >= least;
}

/* To the microsecond; further digits are dropped. */
static bool read_fraction(const char **at, const char *end, uint32_t *microsecond)
{
    const char *start = *at;
    uint32_t scale = 100000;

    for (*microsecond = 0; *at < end && is_digit(**at); (*at)++, scale /= 10)
        *microsecond += scale * (uint32_t)(**at - '0');
    return *at > start;
}

static bool take(const char **at, const char *end, char c)
{
    bool is = *at < end && **at == c;

    *at += is;
    return is;
}

/* Two digits at a fixed position, the most common number; *bad becomes 1 if they are not digits. */
static uint32_t pair(const char *at, uint32_t *bad)
{
    uint32_t tens = (uint32_t)(uint8_t)at[0] - '0', ones = (uint32_t)(uint8_t)at[1] - '0';

    *bad |= (tens > 9) | (ones > 9);
    return tens * 10 + ones;
}

/* Z, +hhmm or +hh:mm. */
static bool read_offset(const char **at, const char *end, struct time_parts *p)
{
    bool west = *at < end && **at == '-';
    uint32_t hours, minutes;

    p->zoned = true;
    p->offset = 0;
    if (take(at, end, 'Z') || take(at, end, 'z'))
        return true;
    if (!take(at, end, '-') && !take(at, end, '+'))
        return false;
    if (!read_digits(at, end, 2, 2, &hours))
        return false;
    take(at, end, ':');
    if (!read_digits(at, end, 2, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    p->offset = (int64_t)(hours * 3600 + minutes * 60) * (west ? -1 : 1);
    return true;
}

static uint32_t three_letters(const char *at)
{
    return ((uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | (uint32_t)at[2]) | 0x202020;
}

/* Three letters identify a month or a day of the week; the rest of the whole name may follow. */
static uint32_t find_name(const char **at, const char *end, const char *const *names, uint32_t n)
{
    size_t left = (size_t)(end - *at);
    uint32_t i = 0, wanted = left >= 3 ? three_letters(*at) : 0;

    while (i < n && three_letters(names[i]) != wanted)
        i++;
    if (i == n)
        return 0;
    size_t whole = strlen(names[i]);
    *at += left >= whole && strncasecmp(*at, names[i], whole) == 0 ? whole : 3;
    return i + 1;
}

static bool read_month(const char **at, const char *end, uint32_t *month)
{
    static const char *const names[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

    *month = find_name(at, end, names, 12);
    return *month > 0;
}

static bool read_weekday(const char **at, const char *end)
{
    static const char *const names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};

    return find_name(at, end, names, 7) > 0;
}

/* ---- forms ---- */

/* A number of units of `unit` microseconds, with an optional fraction. */
static bool read_number(struct weir_bytes text, int64_t unit, int64_t *microseconds)
{
    const char *at = text.data, *end = at + text.size;
    bool negative = take(&at, end, '-');
    int64_t value = 0, scale = unit;
    const char *start = at;

    for (; at < end && is_digit(*at); at++) {
        if (value > INT64_MAX / unit / 10 - 1)
            return false;
        value = value * 10 + (*at - '0');
    }
    if (at == start)
        return false;
    value *= unit;
    if (take(&at, end, '.')) {
        start = at;
        for (; at < end && is_digit(*at); at++)
            value += (scale /= 10) * (*at - '0');
        if (at == start)
            return false;
    }
    *microseconds = negative ? -value : value;
    return at == end;
}

/* hh:mm:ss */
static bool read_clock(const char **at, const char *end, struct time_parts *p)
{
    const char *c = *at;
    uint32_t bad = 0;

    if (end - c < 8)
        return false;
    p->hour = pair(c, &bad);
    p->minute = pair(c + 3, &bad);
    p->second = pair(c + 6, &bad);
    *at += 8;
    return !bad && c[2] == ':' && c[5] == ':';
}

/* yyyy-mm-dd, and the separator between date and time. */
static bool read_date(const char **at, const char *end, struct time_parts *p)
{
    const char *c = *at;
    uint32_t bad = 0;

    if (end - c < 11)
        return false;
    p->year = pair(c, &bad) * 100 + pair(c + 2, &bad);
    p->month = pair(c + 5, &bad);
    p->day = pair(c + 8, &bad);
    *at += 11;
    return !bad && c[4] == '-' && c[7] == '-' && (c[10] == 'T' || c[10] == ' ' || c[10] == 't');
}

/* The optional zone, here or in the next field, and a closing bracket if there was an opening
 * one. */
static bool read_rest(const char *at, const char *end, struct weir_bytes next, bool bracket,
                      struct time_parts *p)
{
    bool blank = take(&at, end, ' ');

    if (at < end && *at != ']' && !read_offset(&at, end, p))
        return false;
    if (at == end && !blank && !p->zoned && next.size > 0) {
        struct time_parts zone = {0};
        const char *from = next.data, *to = from + next.size;

        if (read_offset(&from, to, &zone) && (from == to || (bracket && take(&from, to, ']'))) &&
            from == to) {
            p->offset = zone.offset;
            bracket = false;
        }
    }
    if (bracket)
        take(&at, end, ']');
    return at == end && (!blank || p->zoned);
}

static bool read_rfc3339(struct weir_bytes text, struct weir_bytes next, int64_t *microseconds)
{
    const char *at = text.data, *end = at + text.size;
    struct time_parts p = {0};

    if (!read_date(&at, end, &p) || !read_clock(&at, end, &p))
        return false;
    if ((take(&at, end, '.') || take(&at, end, ',')) && !read_fraction(&at, end, &p.microsecond))
        return false;
    return read_rest(at, end, next, false, &p) && join_parts(&p, microseconds);
}

static bool read_common_log(struct weir_bytes text, struct weir_bytes next, int64_t *microseconds)
{
    const char *at = text.data, *end = at + text.size;
    struct time_parts p = {0};
    bool bracket = take(&at, end, '[');
    uint32_t year;

    if (!read_digits(&at, end, 2, 2, &p.day) || !take(&at, end, '/') ||
        !read_month(&at, end, &p.month) || !take(&at, end, '/') ||
        !read_digits(&at, end, 4, 4, &year) || !take(&at, end, ':') || !read_clock(&at, end, &p))
        return false;
    p.year = year;
    return read_rest(at, end, next, bracket, &p) && join_parts(&p, microseconds);
}

/* ---- patterns of strptime ---- */

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
    return read_digits(&r->at, r->end, 1, digits, out);
}

static bool read_year(struct pattern_reading *r, uint32_t digits)
{
    uint32_t year;

    if (!read_digits(&r->at, r->end, digits, digits, &year))
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
    return read_offset(&r->at, r->end, &r->parts);
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
        return read_month(&r->at, r->end, &p->month);
    case 'e':
        return skip_blanks(r) && number(r, 2, &p->day);
    case 'd':
        return number(r, 2, &p->day);
    case 'j':
        return number(r, 3, &r->day_of_year) && r->day_of_year > 0;
    case 'a':
    case 'A':
        return read_weekday(&r->at, r->end);
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
        return read_fraction(&r->at, r->end, &p->microsecond);
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
    uint32_t year_days = is_leap(p->year) ? 366 : 365;

    if (r->half >= 0)
        p->hour = p->hour % 12 + 12 * (uint32_t)r->half;
    if (r->day_of_year > year_days)
        return false;
    if (r->day_of_year)
        p->month = p->day = 1;
    if (!join_parts(p, microseconds))
        return false;
    if (r->day_of_year)
        *microseconds += (r->day_of_year - 1) * INT64_C(86400000000);
    return true;
}

static bool read_by_pattern(const char *pattern, struct weir_bytes text, int64_t *microseconds)
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

static const char *check_pattern(const char *pattern)
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

/* ---- numbers ---- */

/* Today has 10 digits of seconds, 13 of milliseconds, 16 of microseconds. */
static bool guess_number(size_t digits, enum time_form *form)
{
    if (digits != 9 && digits != 10 && digits != 12 && digits != 13 && digits != 15 && digits != 16)
        return false;
    *form = digits <= 10 ? TIME_SECONDS : digits <= 13 ? TIME_MILLISECONDS : TIME_MICROSECONDS;
    return true;
}

static size_t leading_digits(struct weir_bytes text)
{
    const char *at = text.data, *end = at + text.size;

    while (at < end && is_digit(*at))
        at++;
    return text.size - (size_t)(end - at);
}

/* The form was detected in another record. Seconds there and milliseconds here would both be read
 * as seconds, unnoticed. An ambiguous number is malformed too: in the first record it would have
 * been rejected. */
static bool is_other_number(const struct time_format *f, struct weir_bytes text)
{
    enum time_form form;

    return f->guessed && (!guess_number(leading_digits(text), &form) || form != f->form);
}

bool time_read(const struct time_format *f, struct weir_bytes text, struct weir_bytes next,
               int64_t *microseconds)
{
    if (f->form <= TIME_MICROSECONDS && is_other_number(f, text))
        return false;
    switch (f->form) {
    case TIME_SECONDS:
        return read_number(text, MICROS, microseconds);
    case TIME_MILLISECONDS:
        return read_number(text, 1000, microseconds);
    case TIME_MICROSECONDS:
        return read_number(text, 1, microseconds);
    case TIME_RFC3339:
        return read_rfc3339(text, next, microseconds);
    case TIME_COMMON_LOG:
        return read_common_log(text, next, microseconds);
    default:
        return read_by_pattern(f->pattern, text, microseconds);
    }
}

/* ---- which form ---- */

static const struct {
    const char *name, *words;
} forms[] = {
    [TIME_SECONDS] = {"s", "seconds since 1970"},
    [TIME_MILLISECONDS] = {"ms", "milliseconds since 1970"},
    [TIME_MICROSECONDS] = {"us", "microseconds since 1970"},
    [TIME_RFC3339] = {"rfc3339", "RFC 3339"},
    [TIME_COMMON_LOG] = {"clf", "the common log format"},
};

const char *time_format_read(const char *text, struct time_format *f)
{
    for (int form = TIME_SECONDS; form < TIME_PATTERN; form++)
        if (strcmp(text, forms[form].name) == 0) {
            *f = (struct time_format){.form = (enum time_form)form};
            return NULL;
        }
    *f = (struct time_format){.form = TIME_PATTERN, .pattern = text};
    return check_pattern(text);
}

const char *time_format_words(const struct time_format *f)
{
    return f->form == TIME_PATTERN ? f->pattern : forms[f->form].words;
}

static bool guess(struct weir_bytes text, struct time_format *f)
{
    const struct weir_bytes none = {NULL, 0};
    int64_t microseconds;

    *f = (struct time_format){.form = TIME_RFC3339};
    if (time_read(f, text, none, &microseconds))
        return true;
    f->form = TIME_COMMON_LOG;
    if (time_read(f, text, none, &microseconds))
        return true;
    return guess_number(leading_digits(text), &f->form) && time_read(f, text, none, &microseconds);
}

bool time_guess(struct weir_bytes text, struct time_format *f)
{
    bool found = guess(text, f);

    f->guessed = found;
    return found;
}
