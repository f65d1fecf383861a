/* text.c - see text.h. */
#include "base/text.h"

#include <string.h>

#include "base/bits.h"

struct text text_in(char *buffer, size_t size)
{
    buffer[0] = '\0';
    return (struct text){buffer, buffer + size};
}

void text_add_span(struct text *t, const char *s, size_t n)
{
    size_t room = (size_t)(t->end - t->at) - 1;

    if (n > room)
        n = room;
    memcpy(t->at, s, n);
    t->at += n;
    *t->at = '\0';
}

void text_add(struct text *t, const char *s)
{
    text_add_span(t, s, strlen(s));
}

void text_copy(char *buffer, size_t size, const char *s)
{
    if (size == 0)
        return;
    struct text t = text_in(buffer, size);
    text_add(&t, s);
}

void text_add_u64(struct text *t, uint64_t n)
{
    char digits[20];
    size_t i = sizeof digits;

    do {
        digits[--i] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    text_add_span(t, digits + i, sizeof digits - i);
}

void text_add_rate(struct text *t, uint64_t billionths)
{
    char digits[9];
    size_t n = sizeof digits;
    uint64_t rest = billionths % 1000000000;

    text_add_u64(t, billionths / 1000000000);
    for (size_t i = n; i-- > 0; rest /= 10)
        digits[i] = (char)('0' + rest % 10);
    while (n > 0 && digits[n - 1] == '0')
        n--;
    if (n > 0) {
        text_add(t, ".");
        text_add_span(t, digits, n);
    }
}

void text_add_double(struct text *t, double rate)
{
    uint32_t exponent = 0;
    uint64_t unit = 1; /* billionths in the third digit */

    if (rate >= 1e-6 || rate <= 0) {
        uint64_t billionths = (uint64_t)(rate * 1e9);

        while (billionths / unit >= 1000)
            unit *= 10;
        text_add_rate(t, (billionths + unit - 1) / unit * unit);
        return;
    }
    for (; rate < 1; exponent++)
        rate *= 10;
    uint64_t hundredths = (uint64_t)(rate * 100 + 0.999);
    if (hundredths >= 1000) { /* 9.999 was rounded to 10 */
        hundredths = 100;
        exponent--;
    }
    text_add_rate(t, hundredths * 10000000);
    text_add(t, "e-");
    text_add_u64(t, exponent);
}

bool span_is(struct span a, const char *word)
{
    return strlen(word) == a.n && memcmp(a.s, word, a.n) == 0;
}

/* mantissa / 10^places, and the text after the digits. */
struct decimal {
    uint64_t mantissa;
    uint32_t places;
    struct span rest;
};

static bool is_digit(struct span a)
{
    return a.n > 0 && a.s[0] >= '0' && a.s[0] <= '9';
}

static struct span after(struct span a, size_t n)
{
    return (struct span){a.s + n, a.n - n};
}

static bool read_digits(struct span *a, uint64_t *value, uint32_t *digits)
{
    for (*digits = 0; is_digit(*a); ++*digits, *a = after(*a, 1)) {
        uint64_t digit = (uint64_t)(a->s[0] - '0');

        if (*value > (UINT64_MAX - digit) / 10)
            return false;
        *value = *value * 10 + digit;
    }
    return true;
}

static bool read_decimal(struct span a, struct decimal *d)
{
    uint32_t whole, places = 0;

    d->mantissa = 0;
    if (!read_digits(&a, &d->mantissa, &whole))
        return false;
    if (a.n > 0 && a.s[0] == '.') {
        a = after(a, 1);
        if (!read_digits(&a, &d->mantissa, &places) || places == 0)
            return false;
    }
    d->places = places;
    d->rest = a;
    return whole + places > 0;
}

/* mantissa * unit / 10^places, if the result is whole and below 2^64. */
static bool scale(const struct decimal *d, uint64_t unit, uint64_t *out)
{
    bits_u128 value = (bits_u128)d->mantissa * unit;

    for (uint32_t i = 0; i < d->places; i++) {
        if (value % 10)
            return false;
        value /= 10;
    }
    *out = (uint64_t)value;
    return value <= UINT64_MAX;
}

bool span_whole(struct span a, uint64_t *out)
{
    struct decimal d;

    return read_decimal(a, &d) && d.rest.n == 0 && scale(&d, 1, out);
}

/* The power of base that a unit letter stands for; 0 if it is none of these letters. */
static uint64_t unit_of(char letter, const char *letters, uint64_t base)
{
    uint64_t unit = 1;

    for (; *letters; letters++) {
        unit *= base;
        if (letter == *letters)
            return unit;
    }
    return 0;
}

static char raised(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

/* Valid suffixes after the letter of a size (0: no letter): B or iB; b or ib only after a lower-
 * case letter, because Mb often means megabits. */
static bool is_bytes(struct span a, char letter)
{
    if (letter && raised(letter) != letter && (span_is(a, "b") || span_is(a, "ib")))
        return true;
    return span_is(a, "B") || (letter && span_is(a, "iB"));
}

bool span_size(struct span a, uint64_t *bits)
{
    struct decimal d;
    uint64_t unit;
    char letter;

    if (!read_decimal(a, &d))
        return false;
    if (span_is(d.rest, "bit"))
        return scale(&d, 1, bits);
    letter = d.rest.n > 0 ? d.rest.s[0] : '\0';
    unit = unit_of(raised(letter), "KMGT", 1024);
    if (unit)
        d.rest = after(d.rest, 1);
    if (d.rest.n > 0 && !is_bytes(d.rest, unit ? letter : '\0'))
        return false;
    return scale(&d, unit ? unit * 8 : 8, bits);
}

bool span_count(struct span a, uint64_t *out)
{
    struct decimal d;
    uint64_t unit = 1;

    if (!read_decimal(a, &d) || d.rest.n > 1)
        return false;
    if (d.rest.n == 1)
        unit = unit_of(d.rest.s[0] == 'k' ? 'K' : d.rest.s[0], "KMGT", 1000);
    return unit != 0 && scale(&d, unit, out);
}

bool span_rate(struct span a, double *out)
{
    struct decimal d;
    uint64_t exponent = 0;
    uint32_t digits = 0;

    if (!read_decimal(a, &d))
        return false;
    if (d.rest.n > 2 && (d.rest.s[0] == 'e' || d.rest.s[0] == 'E') && d.rest.s[1] == '-') {
        d.rest = after(d.rest, 2);
        if (!read_digits(&d.rest, &exponent, &digits) || digits == 0 || exponent > 300)
            return false;
    }
    if (d.rest.n > 0) {
        if (!span_is(d.rest, "%"))
            return false;
        exponent += 2;
    }
    *out = (double)d.mantissa;
    for (uint64_t i = 0; i < d.places + exponent; i++)
        *out /= 10;
    return true;
}

bool span_time(struct span a, uint64_t *milliseconds)
{
    static const struct {
        const char *name;
        uint64_t unit;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    struct decimal d;

    if (!read_decimal(a, &d))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (span_is(d.rest, units[i].name))
            return scale(&d, units[i].unit, milliseconds);
    return false;
}
