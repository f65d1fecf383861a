/* progress.c - see progress.h. */
#include "cli/progress.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/units.h"

#define EVERY 0.1 /* seconds between two drawings */
#define BAR 20

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t milliseconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t time_of_day(void)
{
    return milliseconds(CLOCK_REALTIME);
}

uint64_t steady_time(void)
{
    static _Atomic uint64_t booted; /* time of the boot, by the clock at the first call */
    uint64_t since = milliseconds(CLOCK_BOOTTIME), unset = 0;

    if (!booted)
        atomic_compare_exchange_strong(&booted, &unset, time_of_day() - since);
    return booted + since;
}

void progress_open(struct progress *p, bool quiet, uint64_t total)
{
    *p = (struct progress){.started = now(), .total = total, .seen = "seen", .filled = "filter"};
    p->bar = !quiet && isatty(2);
    p->drawn = p->started;
}

bool progress_due(const struct progress *p)
{
    return p->bar && now() - p->drawn >= EVERY;
}

static unsigned columns(void)
{
    struct winsize size;

    return ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* "[#####     ]  25%  0:03 left" if the size is known, else the elapsed time. */
static void draw_share(const struct progress *p, uint64_t bytes, double seconds, char *out,
                       size_t size)
{
    double done = (double)(p->start + bytes);

    if (p->total == 0 || done <= 0) {
        snprintf(out, size, "%s", show_time(seconds).text);
        return;
    }
    double share = done < (double)p->total ? done / (double)p->total : 1;
    double left = bytes ? seconds * ((double)p->total - done) / (double)bytes : 0;
    int full = (int)(share * BAR);
    snprintf(out, size, "[%.*s%*s] %3.0f%% %s left", full, "####################", BAR - full, "",
             share * 100, show_time(left > 0 ? left : 0).text);
}

void progress_draw(struct progress *p, const struct tally *t, double fill)
{
    double at = now(), seconds = at - p->started;
    char share[96], line[512];
    int n;

    p->drawn = at;
    draw_share(p, t->bytes, seconds, share, sizeof share);
    n = snprintf(line, sizeof line, "%s  %s records  %s/s  %s/s  %.1f%% %s", share,
                 show_count((double)t->records).text,
                 show_count((double)t->records / (seconds + 1e-9)).text,
                 show_bytes((double)t->bytes / (seconds + 1e-9)).text,
                 t->records ? 100.0 * (double)t->seen / (double)t->records : 0, p->seen);
    if (fill >= 0)
        n += snprintf(line + n, sizeof line - (size_t)n, "  %s %.1f%% full", p->filled, fill * 100);
    if (n >= (int)columns())
        n = (int)columns() - 1;
    fprintf(stderr, "\r%.*s\033[K", n, line);
    p->width = (unsigned)n;
}

void progress_clear(struct progress *p)
{
    if (p->bar && p->width)
        fputs("\r\033[K", stderr);
    p->width = 0;
}

void tell_skipped(const struct tally *t, const struct verbosity *v, bool several_files)
{
    if (v->quiet || stats_style(v) == STATS_JSON)
        return;
    if (t->skipped)
        note("%llu of %llu records skipped, first at line %llu%s%s", (unsigned long long)t->skipped,
             (unsigned long long)(t->records + t->skipped + t->keyless),
             (unsigned long long)t->skipped_line, several_files ? " of " : "",
             several_files ? t->skipped_in : "");
    if (t->unparsed)
        note("%llu value%s could not be parsed by --key-as and %s used unchanged; --on-error skip "
             "drops such records",
             (unsigned long long)t->unparsed, t->unparsed == 1 ? "" : "s",
             t->unparsed == 1 ? "was" : "were");
    if (t->masked)
        note("%llu network%s had bits after the prefix, which were cleared, first at line %llu of "
             "%s",
             (unsigned long long)t->masked, t->masked == 1 ? "" : "s",
             (unsigned long long)t->masked_line, t->masked_in);
    if (t->keyless)
        note("%llu of %llu records lack a required field and were passed",
             (unsigned long long)t->keyless,
             (unsigned long long)(t->records + t->skipped + t->keyless));
}

enum stats_style stats_style(const struct verbosity *v)
{
    if (v->stats != STATS_DEFAULT)
        return v->stats;
    return isatty(2) && !v->quiet ? STATS_LINE : STATS_NONE;
}
