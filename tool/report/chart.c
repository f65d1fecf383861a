/* chart.c - see chart.h. Runs gnuplot as a child process.
 *
 * gnuplot reads the script from a file in memory and writes to two others, so no pipe can fill up.
 * Hues are passed to it as placeholder colours. It writes each as "rgb(  1,   0,   N)", which is
 * replaced by "var(--hue-N)". */
#include "report/chart.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/messages.h"

/* ---- the script ---- */

void chart_open(struct chart *c, const char *id, const char *title)
{
    *c = (struct chart){.id = id, .title = title};
    c->script = open_memstream(&c->script_text, &c->script_size);
    c->plot = open_memstream(&c->plot_text, &c->plot_size);
    chart_set(c,
              "set terminal svg size 420,330 font 'sans-serif,13' name '%s'\nset encoding utf8\n"
              "set border 3 lc " CHART_COLOUR "\nset title '%s' textcolor " CHART_COLOUR "\n"
              "set tics nomirror out scale 0.5 textcolor " CHART_COLOUR
              "\nset grid lt 1 lc " CHART_COLOUR " lw 1\n"
              "set xlabel textcolor " CHART_COLOUR "\nset ylabel textcolor " CHART_COLOUR
              "\nset format '%%g'\n"
              "set key outside right top Left reverse samplen 1 font ',11' textcolor variable\n",
              id, HUE_TEXT, title, HUE_TEXT, HUE_TEXT, HUE_FAINT, HUE_TEXT, HUE_TEXT);
}

static void end_series(struct chart *c)
{
    if (c->open)
        fprintf(c->script, "END\n");
    c->open = false;
}

void chart_set(struct chart *c, const char *format, ...)
{
    va_list args;

    if (!c->script)
        return;
    end_series(c);
    va_start(args, format);
    vfprintf(c->script, format, args);
    va_end(args);
}

void chart_series(struct chart *c, const char *name, int hue, const char *with)
{
    end_series(c);
    snprintf(c->style, sizeof c->style, "%s%s lc " CHART_COLOUR " %s%s%s",
             strncmp(with, "using ", 6) == 0 ? "" : "with ", with, (unsigned)hue,
             name ? "title '" : "notitle", name ? name : "", name ? "'" : "");
}

void chart_point(struct chart *c, double x, double y)
{
    if (isnan(x) || isnan(y) || !c->script || !c->plot)
        return;
    if (!c->open) {
        chart_set(c, "$d%u << END\n", c->series);
        fprintf(c->plot, "%s$d%u %s", c->series ? ", " : "plot ", c->series, c->style);
        c->series++;
        c->open = true;
    }
    fprintf(c->script, "%.8g %.8g\n", x, y);
}

/* ---- running gnuplot ---- */

struct gnuplot_run {
    int fd[3]; /* its standard streams */
    int status;
};

static bool spawn(struct gnuplot_run *r, const char *option)
{
    char *arguments[] = {(char[]){"gnuplot"}, (char *)(uintptr_t)option, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int error = posix_spawn_file_actions_init(&actions);

    for (int i = 0; i < 3 && error == 0; i++)
        error = posix_spawn_file_actions_adddup2(&actions, r->fd[i], i);
    if (error == 0)
        error = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        errno = error;
        return false;
    }
    while (waitpid(child, &r->status, 0) < 0)
        if (errno != EINTR)
            return false;
    return true;
}

static bool put(int fd, const char *text, size_t size)
{
    return size == 0 || write(fd, text, size) == (ssize_t)size;
}

/* The script is the two texts. False with errno if gnuplot cannot be started. */
static bool run_open(struct gnuplot_run *r, const char *option, const struct chart *c)
{
    bool ok = true;

    for (int i = 0; i < 3; i++)
        ok &= (r->fd[i] = memfd_create("gnuplot", MFD_CLOEXEC)) >= 0;
    if (c)
        ok = ok && put(r->fd[0], c->script_text, c->script_size) &&
             put(r->fd[0], c->plot_text, c->plot_size);
    return ok && lseek(r->fd[0], 0, SEEK_SET) == 0 && spawn(r, option);
}

static void run_close(struct gnuplot_run *r)
{
    for (int i = 0; i < 3; i++)
        if (r->fd[i] >= 0)
            close(r->fd[i]);
}

/* The output of a process; NULL if out of memory. */
static char *run_text(const struct gnuplot_run *r, int stream)
{
    struct stat st;
    size_t size = fstat(r->fd[stream], &st) == 0 ? (size_t)st.st_size : 0;
    char *text = malloc(size + 1);

    if (text && pread(r->fd[stream], text, size, 0) != (ssize_t)size)
        size = 0;
    if (text)
        text[size] = '\0';
    return text;
}

/* The error is in the last line, after a copy of the script. */
static void complain(const struct gnuplot_run *r)
{
    char *said = run_text(r, 2), *last = NULL, *rest = said;

    for (char *line; (line = strsep(&rest, "\n"));)
        if (line[strspn(line, " \t")])
            last = line + strspn(line, " \t");
    fail("gnuplot failed: %s", last ? last : "no message");
    free(said);
}

bool chart_ready(void)
{
    struct gnuplot_run r = {{-1, -1, -1}, 0};
    bool ok = run_open(&r, "--version", NULL) && r.status == 0;

    run_close(&r);
    return ok || reject("--report needs gnuplot; on Debian: apt install gnuplot-nox");
}

/* ---- its SVG ---- */

/* Copy the drawing with our own head. skip: without the shapes of points. */
static bool copy_svg(const char *svg, const char *title, bool skip, FILE *page)
{
    const char *box = strstr(svg, "viewBox="), *at = strstr(svg, "<g id=\"gnuplot_canvas\"");
    const char *shapes = strstr(svg, "<defs>"), *end = shapes ? strstr(shapes, "</defs>") : NULL;

    if (!box || !at || !end)
        return reject("gnuplot drew nothing; use version 5 or later");
    fprintf(page, "<svg role=\"img\" aria-label=\"%s\" %.*s>\n<g>", title, (int)strcspn(box, "\n>"),
            box);
    for (at = strchr(at, '>') + 1; *at;) {
        int red, green, hue, used = 0;

        if (skip && at == shapes)
            at = end + strlen("</defs>");
        else if (*at == 'r' && sscanf(at, "rgb(%d,%d,%d)%n", &red, &green, &hue, &used) == 3 &&
                 used > 0 && red == 1 && green == 0) {
            fprintf(page, "var(--hue-%d)", hue);
            at += used;
        } else {
            putc(*at++, page);
        }
    }
    return true;
}

static bool draw(const struct chart *c, bool skip, FILE *page)
{
    struct gnuplot_run r = {{-1, -1, -1}, 0};
    bool ok = run_open(&r, "-d", c);
    char *svg = ok && r.status == 0 ? run_text(&r, 1) : NULL;

    if (!ok)
        fail("cannot run gnuplot: %s", strerror(errno));
    else if (!svg)
        complain(&r);
    ok = svg && copy_svg(svg, c->title, skip, page);
    free(svg);
    run_close(&r);
    return ok;
}

bool chart_close(struct chart *c, const char *caption, bool *drawn, FILE *page)
{
    bool ok = c->script && c->plot;

    end_series(c);
    ok = ok && fprintf(c->plot, "\n") > 0;
    ok &= c->script && fclose(c->script) == 0;
    ok &= c->plot && fclose(c->plot) == 0;
    fprintf(page, "<figure id=\"chart-%s\">\n", c->id);
    if (!ok) {
        fail("out of memory");
    } else if (c->series == 0) {
        fprintf(page, "<p>%s: nothing to show, there were no such records.</p>\n", c->title);
    } else {
        ok = draw(c, *drawn, page);
        *drawn = true;
    }
    fprintf(page, "<figcaption>%s</figcaption>\n</figure>\n", caption);
    free(c->script_text);
    free(c->plot_text);
    return ok;
}
