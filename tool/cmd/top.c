/* top.c - weir top: the most frequent keys. On a terminal, a table that is refreshed in place;
 * otherwise, or with --format, rows at the end. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/print.h"
#include "cli/signals.h"
#include "cli/units.h"
#include "cmd/run.h"
#include "state/files.h"
#include "verdict/by_sketch.h"

#define REFRESH 0.5 /* seconds */
#define NUMBER 20   /* keys, by default */

struct board {
    const struct options *options;
    struct counting counting;
    struct weir_heavy *list;
    size_t room, keys; /* keys requested, and max keys stored */
    bool live;         /* it is drawn on a terminal */
    unsigned lines;    /* there now */
    double drawn, started;
    bool fades;       /* counts do */
    double half_life; /* seconds of the records' times, if these are used */
    uint64_t arrived; /* records or weights of this run */
    uint64_t before;  /* the total of earlier ones */
};

static double share_of(const struct weir_heavy *h, const struct weir_sketch_stats *stats)
{
    return stats->total ? (double)h->count / (double)stats->total : 0;
}

/* The keys to print: a number of them, or all with at least a share. */
static size_t find(const struct board *b, const struct weir_sketch_stats *stats)
{
    size_t n = weir_sketch_top(b->counting.sketch, b->list, b->room), wanted = 0;

    if (b->options->count.share == 0)
        return n;
    while (wanted < n && share_of(&b->list[wanted], stats) >= b->options->count.share)
        wanted++;
    return wanted;
}

/* ---- on a terminal ---- */

#define FIGURE 8      /* columns of a figure, with the blank before it */
#define ERROR_FROM 60 /* columns of a terminal from which on errors fit */
#define KEY_LEAST 8   /* columns that a key gets at least */
#define KEY_USUAL 24  /* if the terminal has them and no key is longer */
#define COLUMNS_LEAST 32

static void erase(struct board *b)
{
    if (b->lines)
        printf("\033[%uA\r\033[J", b->lines);
    b->lines = 0;
}

/* As many characters as fit; invalid bytes become question marks. */
static void draw_key(struct weir_bytes key, unsigned width)
{
    unsigned used = 0;

    for (size_t i = 0; i < key.size; i++) {
        char c = ((const char *)key.data)[i];
        bool inside = ((unsigned char)c & 0xc0) == 0x80; /* a character that has been counted */

        if (!inside && used == width)
            break;
        used += !inside;
        putchar(c == KEY_JOINT || c == '\t' ? ' ' : (unsigned char)c < ' ' || c == 127 ? '?' : c);
    }
    printf("%*s", (int)(width - used), "");
}

/* The rate per second, on average of this run. With decaying counts the total is not a sum: at a
 * steady rate, it equals that of half-life / ln 2, also by the times of records. */
static double rate_of(const struct board *b, const struct weir_sketch_stats *stats)
{
    if (b->counting.timed)
        return (double)stats->total * M_LN2 / b->half_life;
    double added = b->fades ? (double)b->arrived : (double)stats->total - (double)b->before;

    return added / (now() - b->started + 1e-9);
}

/* Logs may have less than one record per second. */
static struct shown show_rate(double rate)
{
    struct shown s = show_count(rate);

    if (rate > 0 && rate < 9.995)
        snprintf(s.text, sizeof s.text, "%.*f", rate < 0.1 ? 4 : 2, rate);
    return s;
}

static void draw_head(unsigned width, bool errors)
{
    printf("%-*s%*s%*s%*s", (int)width, "key", FIGURE, "count", FIGURE, "per s", FIGURE, "share");
    if (errors)
        printf("%*s", FIGURE, "error");
    putchar('\n');
}

static void draw_row(const struct weir_heavy *h, double share, double rate, unsigned width,
                     bool errors)
{
    draw_key(h->key, width);
    printf("%*s%*s%*.*f%%", FIGURE, show_count((double)h->count).text, FIGURE,
           show_rate(share * rate).text, FIGURE - 1, share < 0.001 ? 4 : 2, share * 100);
    if (errors && h->error == WEIR_NO_BOUND)
        printf("%*s", FIGURE, "-");
    else if (errors)
        printf("%*s", FIGURE, show_count((double)h->error).text);
    putchar('\n');
}

/* The list with a header above and a summary line below: three more lines. */
static void draw(const struct board *b, const struct weir_sketch_stats *stats, size_t n,
                 unsigned columns)
{
    bool errors = columns >= ERROR_FROM;
    unsigned figures = FIGURE * (errors ? 4 : 3);
    unsigned width = columns > figures + KEY_LEAST ? columns - figures - 1 : KEY_LEAST;
    size_t longest = KEY_USUAL;
    double rate = rate_of(b, stats);

    for (size_t i = 0; i < n; i++)
        longest = b->list[i].key.size > longest ? b->list[i].key.size : longest;
    width = width > longest ? (unsigned)longest : width;
    draw_head(width, errors);
    for (size_t i = 0; i < n; i++)
        draw_row(&b->list[i], share_of(&b->list[i], stats), rate, width, errors);
    printf("%s counted, %s/s\n", show_count((double)stats->total).text, show_rate(rate).text);
}

static struct winsize terminal(void)
{
    struct winsize size;

    if (ioctl(1, TIOCGWINSZ, &size) != 0 || size.ws_row < 5 || size.ws_col < COLUMNS_LEAST)
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    return size;
}

static bool take(void *context, struct batch *batch)
{
    struct board *b = context;

    for (uint32_t i = 0; i < batch->n; i++)
        if (!batch->bads || !batch->bad[i])
            b->arrived += batch->important ? batch->importance[i] : 1;
    return counting_take(&b->counting, batch);
}

static void refresh(void *context)
{
    struct board *b = context;
    struct weir_sketch_stats stats;
    struct winsize size = terminal();
    double at = now();

    if (at - b->drawn < REFRESH)
        return;
    b->drawn = at;
    if (!b->counting.timed) /* counts fade while nothing comes */
        weir_sketch_advance(b->counting.sketch, steady_time());
    stats = weir_sketch_stats_of(b->counting.sketch);
    size_t n = find(b, &stats);
    if (n + 4 > size.ws_row)
        n = (size_t)size.ws_row - 4;
    erase(b);
    draw(b, &stats, n, size.ws_col);
    fflush(stdout);
    b->lines = (unsigned)n + 2;
}

/* ---- at the end ---- */

static void tell_bound(const struct board *b, const struct weir_sketch_stats *stats)
{
    const struct options *o = b->options;

    if (stats->error == WEIR_NO_BOUND)
        note("%llu counted in all; counts are estimates, mostly a little low, without a bound",
             (unsigned long long)stats->total);
    else
        note("%llu counted in all; a key that is not stored occurred at most %llu times",
             (unsigned long long)stats->total, (unsigned long long)stats->error);
    if (o->count.share > 0 && stats->total > 0 &&
        (double)stats->error >= o->count.share * (double)stats->total)
        note("so keys of that share may be missing%s",
             stats->error == WEIR_NO_BOUND ? "" : "; more memory (-m) finds them all");
    if (o->count.number > b->keys)
        note("%u keys requested, but at most %zu are stored; more memory (-m) or -S keys= stores "
             "more",
             o->count.number, b->keys);
    if (stats->too_long)
        note("%llu of these had keys too long to be stored; more memory (-m) stores longer ones",
             (unsigned long long)stats->too_long);
}

/* The number of key fields in the counts of an earlier run is unknown. */
static bool may_have_fields(const struct options *o)
{
    return records_have_fields(&o->records) || (o->state.path && !o->records.key);
}

static void list(const struct board *b, const struct weir_sketch_stats *stats, size_t n)
{
    static const char *const names[] = {"count", "error", "share", NULL};
    struct key_rows rows = {.format = b->options->format,
                            .names = names,
                            .fields = may_have_fields(b->options),
                            .end = b->options->records.nul ? '\0' : '\n'};

    key_rows_open(&rows);
    for (size_t i = 0; i < n; i++) {
        const struct weir_heavy *h = &b->list[i];
        char count[24], error[24], share[24];

        snprintf(count, sizeof count, "%llu", (unsigned long long)h->count);
        snprintf(error, sizeof error, "%llu", (unsigned long long)h->error);
        snprintf(share, sizeof share, "%.6g", share_of(h, stats));
        key_rows_add(&rows, h->key.data, h->key.size,
                     (const char *[]){count, h->error == WEIR_NO_BOUND ? NULL : error, share});
    }
    key_rows_close(&rows);
}

static void print(const struct board *b, bool notes)
{
    struct weir_sketch_stats stats = weir_sketch_stats_of(b->counting.sketch);
    size_t n = find(b, &stats);

    if (b->live)
        draw(b, &stats, n, terminal().ws_col);
    else
        list(b, &stats, n);
    if (notes)
        tell_bound(b, &stats);
}

static bool open_board(struct board *b)
{
    char config[WEIR_SPEC_MAX];
    uint64_t keys = 0;

    weir_sketch_config(b->counting.sketch, config, sizeof config);
    char half_life[32] = "";

    weir_spec_number(config, "keys", &keys);
    b->fades = weir_spec_get(config, "half-life", half_life, sizeof half_life) > 0;
    b->before = weir_sketch_stats_of(b->counting.sketch).total;
    b->keys = keys;
    b->room = b->options->count.number ? b->options->count.number : NUMBER;
    if (b->options->count.share > 0) /* all stored keys may qualify */
        b->room = b->keys;
    b->list = calloc(b->room, sizeof *b->list);
    return b->list || reject("out of memory");
}

int cmd_top(const struct options *o)
{
    static struct board b; /* large */
    weir_sketch *s = sketch_open(o->command, o->state.path, &o->filter, WEIR_CAN_LIST);
    bool live = isatty(1) && !o->verbosity.quiet && o->format == PRINT_TEXT;
    struct run r = run_asked(o, 0);
    int status = EXIT_ERROR;

    b = (struct board){.options = o, .live = live, .drawn = now(), .started = now()};
    b.counting.sketch = s;
    b.counting.ngrams = o->count.ngrams;
    if (s && open_board(&b) && sketch_span(s, &r.records.time)) {
        run_tell_clock(&r, "half-life=");
        b.counting.timed = r.records.time.field;
        b.half_life = (double)r.records.time.span / 1000;
        if (!b.counting.timed)
            weir_sketch_advance(s, steady_time());
        status =
            run_into(&r, (struct sink){.context = &b, .take = take, .look = live ? refresh : NULL});
        if (!live || signals_caught() != SIGHUP) {
            erase(&b);
            print(&b, !o->verbosity.quiet && status == EXIT_FINE);
            status = run_keep_counts(o->state.path, s, status);
        } else if (o->state.path && status == EXIT_FINE && !file_save_sketch(o->state.path, s)) {
            status = EXIT_ERROR; /* the terminal was closed */
        }
    }
    free(b.list);
    weir_sketch_close(s);
    return status;
}
