/* units.c - see units.h. */
#include "cli/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir.h>

static bool digits(const char **at, uint64_t *out)
{
    const char *start = *at;

    *out = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(**at - '0'), out))
            return false;
    return *at > start;
}

bool read_whole(const char *word, uint64_t *out)
{
    return digits(&word, out) && !*word;
}

bool read_number(const char *word, uint32_t *out, uint32_t most)
{
    uint64_t n;

    if (!read_whole(word, &n) || n < 1 || n > most)
        return false;
    *out = (uint32_t)n;
    return true;
}

/* One reader for the command and for the parameters of filters: 64MB is the same in both. */
bool read_size(const char *word, uint64_t *bytes)
{
    return weir_parse_size(word, bytes);
}

bool read_count(const char *word, uint64_t *out)
{
    static const char letters[] = "kMGT";
    const char *letter;

    if (!digits(&word, out))
        return false;
    if (!*word)
        return true;
    letter = strchr(letters, *word == 'K' ? 'k' : *word);
    if (!letter || word[1])
        return false;
    for (const char *l = letters; l <= letter; l++)
        if (__builtin_mul_overflow(*out, 1000, out))
            return false;
    return true;
}

/* 1.1; not negative */
static bool read_real(const char *word, double *out)
{
    char *end;

    if (!(*word >= '0' && *word <= '9') && *word != '.')
        return false;
    *out = strtod(word, &end);
    return end > word && !*end && *out < 1e300;
}

bool read_seconds(const char *word, double *seconds)
{
    static const struct unit {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    size_t n = strspn(word, "0123456789.");
    char number[24];

    if (n >= sizeof number)
        return false;
    memcpy(number, word, n);
    number[n] = '\0';
    if (!read_real(number, seconds))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(word + n, units[i].name) == 0) {
            *seconds *= units[i].seconds;
            return true;
        }
    return false;
}

/* 1/100 */
static bool read_fraction(const char *word, const char *slash, double *out)
{
    char above[24];
    size_t n = (size_t)(slash - word);
    uint64_t part, whole;

    if (n >= sizeof above)
        return false;
    memcpy(above, word, n);
    above[n] = '\0';
    if (!read_whole(above, &part) || !read_whole(slash + 1, &whole) || part > whole || whole == 0)
        return false;
    *out = (double)part / (double)whole;
    return true;
}

bool read_rate(const char *word, double *out)
{
    const char *slash = strchr(word, '/');
    size_t n = strlen(word);
    char number[32];
    bool percent = n && word[n - 1] == '%';

    if (slash)
        return read_fraction(word, slash, out);
    if (n >= sizeof number)
        return false;
    memcpy(number, word, n - percent);
    number[n - percent] = '\0';
    if (!read_real(number, out))
        return false;
    *out /= percent ? 100 : 1;
    return *out <= 1;
}

static struct shown show(double n, double unit, const char *const *names)
{
    const char *const *first = names;
    struct shown s;

    while (n >= unit * 0.9995 && names[1]) {
        n /= unit;
        names++;
    }
    snprintf(s.text, sizeof s.text,
             names > first && n < 10    ? "%.2f%s"
             : names > first && n < 100 ? "%.1f%s"
                                        : "%.0f%s",
             n, *names);
    return s;
}

struct shown show_count(double n)
{
    static const char *const names[] = {"", "k", "M", "G", "T", NULL};

    return show(n, 1000, names);
}

struct shown show_bytes(double n)
{
    static const char *const names[] = {" B", " KiB", " MiB", " GiB", " TiB", NULL};

    return show(n, 1024, names);
}

struct shown show_chance(double p)
{
    struct shown s;

    if (p >= 0.0001 || p <= 0)
        snprintf(s.text, sizeof s.text, "%.3g %%", p * 100);
    else if (p < 1e-15)
        snprintf(s.text, sizeof s.text, "below 1 in 1000T");
    else
        snprintf(s.text, sizeof s.text, "1 in %.16s", show_count(1 / p).text);
    return s;
}

struct shown show_time(double seconds)
{
    struct shown s;
    unsigned long t = seconds < 359999 ? (unsigned long)(seconds + 0.5) : 359999;

    if (t >= 3600)
        snprintf(s.text, sizeof s.text, "%lu:%02lu:%02lu", t / 3600, t / 60 % 60, t % 60);
    else
        snprintf(s.text, sizeof s.text, "%lu:%02lu", t / 60, t % 60);
    return s;
}

struct shown show_duration(double seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"days", 86400}, {"hours", 3600}, {"minutes", 60}, {"s", 1}, {"ms", 1e-3}};
    size_t i = 0;
    struct shown s;

    while (i + 1 < sizeof units / sizeof *units && seconds < (i < 3 ? 2 : 1) * units[i].seconds)
        i++;
    snprintf(s.text, sizeof s.text, "%.*f %s", seconds < 100 * units[i].seconds ? 1 : 0,
             seconds / units[i].seconds, units[i].name);
    return s;
}
