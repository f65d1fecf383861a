/* top.c - weir top: the most frequent keys. On a terminal, a table that is refreshed in place until
 * the input ends or q is pressed; otherwise, or with --format, rows at the end. */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
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
#define JUMP                                                                                       \
    86400000 /* milliseconds: a later time must be confirmed, if counts do not fade; chosen */

struct board {
    const struct options *options;
    struct counting counting;
    struct weir_heavy *list;
    size_t room, keys; /* keys requested, and max keys stored */
    bool live;         /* it is drawn on a terminal */
    unsigned lines;    /* there now */
    double drawn, started;
    bool fades;           /* counts do */
    bool timed;           /* records have times: */
    double half_life;     /* their half-life in seconds; 0: counts do not fade with them */
    uint64_t first, last; /* the earliest and latest time, in milliseconds; NO_TIME: none */
    struct keyboard {
        int fd; /* -1: keys are not read */
        struct termios before;
        bool quit; /* q was pressed */
    } keyboard;
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

/* ---- keys ---- */

/* Read single keys from the terminal, unless it is the input, or belongs to another process. */
static void open_keyboard(struct keyboard *k, const struct inputs *inputs)
{
    char name[64];
    pid_t foreground;

    k->fd = -1;
    if (inputs_are_typed(inputs) || ttyname_r(1, name, sizeof name) != 0)
        return;
    k->fd = open(name, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    foreground = k->fd >= 0 ? tcgetpgrp(k->fd) : -1;
    if (k->fd < 0)
        return;
    if ((foreground < 0 || foreground == getpgrp()) && tcgetattr(k->fd, &k->before) == 0) {
        struct termios single = k->before;

        single.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        if (tcsetattr(k->fd, TCSANOW, &single) == 0)
            return;
    }
    close(k->fd);
    k->fd = -1;
}

static void read_keys(struct keyboard *k)
{
    struct pollfd ready = {.fd = k->fd, .events = POLLIN};
    char key;

    while (k->fd >= 0 && !k->quit && poll(&ready, 1, 0) == 1) {
        if (read(k->fd, &key, 1) != 1)
            return;
        k->quit = key == 'q' || key == 'Q';
    }
}

static void close_keyboard(struct keyboard *k)
{
    if (k->fd >= 0) {
        tcsetattr(k->fd, TCSANOW, &k->before);
        close(k->fd);
    }
    k->fd = -1;
}

static bool is_quit(void *context)
{
    return ((const struct board *)context)->keyboard.quit;
}

/* Ends the run, as at the end of the input. */
static bool quit(void *context)
{
    (void)context;
    return false;
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

/* The rate on average of this run: per second, or per minute of the records' times. With decaying
 * counts the total is not a sum: at a steady rate, it equals that of half-life / ln 2. Less than a
 * minute of records counts as one. */
static double rate_of(const struct board *b, const struct weir_sketch_stats *stats)
{
    if (b->half_life > 0)
        return 60 * (double)stats->total * M_LN2 / b->half_life;
    double added = b->fades ? (double)b->arrived : (double)stats->total - (double)b->before;

    if (b->timed)
        return b->first == NO_TIME ? 0 : added / fmax((double)(b->last - b->first) / 60000, 1);
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

/* How figures are drawn. */
struct layout {
    unsigned key, count; /* columns */
    bool errors;         /* there is a column for them */
    bool exact;          /* counts as they are, not with k, M and G */
};

static struct shown show_figure(uint64_t count, const struct layout *l)
{
    struct shown s = show_count((double)count);

    if (l->exact)
        snprintf(s.text, sizeof s.text, "%llu", (unsigned long long)count);
    return s;
}

static void draw_head(const struct board *b, const struct layout *l)
{
    printf("%-*s%*s%*s%*s", (int)l->key, "key", (int)l->count, "count", FIGURE,
           b->timed ? "per min" : "per s", FIGURE, "share");
    if (l->errors)
        printf("%*s", (int)l->count, "error");
    putchar('\n');
}

static void draw_row(const struct weir_heavy *h, double share, double rate, const struct layout *l)
{
    draw_key(h->key, l->key);
    printf("%*s%*s%*.*f%%", (int)l->count, show_figure(h->count, l).text, FIGURE,
           show_rate(share * rate).text, FIGURE - 1, share < 0.001 ? 4 : 2, share * 100);
    if (l->errors && h->error == WEIR_NO_BOUND)
        printf("%*s", (int)l->count, "-");
    else if (l->errors)
        printf("%*s", (int)l->count, show_figure(h->error, l).text);
    putchar('\n');
}

static unsigned digits(uint64_t number)
{
    return (unsigned)snprintf(NULL, 0, "%llu", (unsigned long long)number);
}

/* The list with a header above and a summary line below: three more lines. The last one is exact.
 */
static void draw(const struct board *b, const struct weir_sketch_stats *stats, size_t n,
                 unsigned columns, bool exact)
{
    struct layout l = {.count = FIGURE, .errors = columns >= ERROR_FROM, .exact = exact};
    size_t longest = KEY_USUAL;
    double rate = rate_of(b, stats);

    if (exact && digits(stats->total) >= FIGURE)
        l.count = digits(stats->total) + 1;
    unsigned figures = l.count * (l.errors ? 2 : 1) + 2 * FIGURE;
    unsigned width = columns > figures + KEY_LEAST ? columns - figures - 1 : KEY_LEAST;

    for (size_t i = 0; i < n; i++)
        longest = b->list[i].key.size > longest ? b->list[i].key.size : longest;
    l.key = width > longest ? (unsigned)longest : width;
    draw_head(b, &l);
    for (size_t i = 0; i < n; i++)
        draw_row(&b->list[i], share_of(&b->list[i], stats), rate, &l);
    printf("%s counted, %s/%s%s\n", show_figure(stats->total, &l).text, show_rate(rate).text,
           b->timed ? "min" : "s", exact || b->keyboard.fd < 0 ? "" : "; q quits");
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

    for (uint32_t i = 0; i < batch->n; i++) {
        if (batch->bads && batch->bad[i])
            continue;
        b->arrived += batch->important ? batch->importance[i] : 1;
        if (b->timed && batch->event.time[i] != 0) { /* 0: no record had a time yet */
            b->first = batch->event.time[i] < b->first ? batch->event.time[i] : b->first;
            b->last = batch->event.time[i] > b->last ? batch->event.time[i] : b->last;
        }
    }
    return counting_take(&b->counting, batch);
}

static void refresh(void *context)
{
    struct board *b = context;
    struct weir_sketch_stats stats;
    struct winsize size = terminal();
    double at = now();

    read_keys(&b->keyboard);
    if (at - b->drawn < REFRESH)
        return;
    b->drawn = at;
    if (!b->timed) /* counts fade while nothing comes */
        weir_sketch_advance(b->counting.sketch, steady_time());
    stats = weir_sketch_stats_of(b->counting.sketch);
    size_t n = find(b, &stats);
    if (n + 4 > size.ws_row)
        n = (size_t)size.ws_row - 4;
    erase(b);
    draw(b, &stats, n, size.ws_col, false);
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
        draw(b, &stats, n, terminal().ws_col, true);
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

int cmd_top(struct options *o)
{
    static struct board b; /* large */
    weir_sketch *s = sketch_open(o->command, o->state.path, &o->filter, WEIR_CAN_LIST);
    bool live = isatty(1) && !o->verbosity.quiet && o->format == PRINT_TEXT;
    struct run r = run_asked(o, 0);
    int status = EXIT_ERROR;

    b = (struct board){.options = o,
                       .live = live,
                       .drawn = now(),
                       .started = now(),
                       .first = NO_TIME,
                       .keyboard.fd = -1};
    b.counting.sketch = s;
    b.counting.ngrams = o->count.ngrams;
    if (s && open_board(&b)) {
        sketch_span(s, &r.records.time);
        run_tell_clock(&r, "half-life=");
        b.timed = r.records.time.field;
        b.half_life = (double)r.records.time.span / 1000;
        b.counting.untimed = r.records.time.span == 0;
        if (b.timed && b.counting.untimed)
            r.records.time.span = JUMP;
        if (!b.timed)
            weir_sketch_advance(s, steady_time());
        if (live)
            open_keyboard(&b.keyboard, &r.inputs);
        status = run_into(&r, (struct sink){.context = &b,
                                            .take = take,
                                            .look = live ? refresh : NULL,
                                            .wants_rest = is_quit,
                                            .rest = quit});
        close_keyboard(&b.keyboard);
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
