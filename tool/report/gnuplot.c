/* gnuplot.c - see gnuplot.h.
 *
 * gnuplot reads the script from a file in memory and writes to two others, so no pipe can fill up.
 * Hues are passed to it as placeholder colours. It writes each as "rgb(  1,   0,   N)", which is
 * replaced by "var(--hue-N)". */
#include "report/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/messages.h"

struct hue plotter_hue(int hue)
{
    struct hue h;

    snprintf(h.text, sizeof h.text, "#0100%02x", (unsigned)hue & 0xff);
    return h;
}

/* ---- running it ---- */

struct gnuplot_run {
    int fd[3]; /* its standard streams */
    int status;
};

static bool spawn(struct gnuplot_run *r, const char *option)
{
    char name[] = "gnuplot", defaults[] = "-d";
    char *arguments[] = {name, option ? (char *)(uintptr_t)option : defaults, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int error = posix_spawn_file_actions_init(&actions);

    for (int i = 0; i < 3 && error == 0; i++)
        error = posix_spawn_file_actions_adddup2(&actions, r->fd[i], i);
    if (error == 0)
        error = posix_spawnp(&child, name, &actions, NULL, arguments, environ);
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
    return write(fd, text, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0;
}

/* False with errno if it cannot be started. */
static bool run_open(struct gnuplot_run *r, const char *option, const char *script, size_t size)
{
    bool ok = true;

    for (int i = 0; i < 3; i++)
        ok &= (r->fd[i] = memfd_create("gnuplot", MFD_CLOEXEC)) >= 0;
    return ok && put(r->fd[0], script, size) && spawn(r, option);
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

bool plotter_ready(void)
{
    struct gnuplot_run r = {{-1, -1, -1}, 0};
    bool ok = run_open(&r, "--version", "", 0) && r.status == 0;

    run_close(&r);
    return ok || reject("--report needs gnuplot; on Debian: apt install gnuplot-nox");
}

/* ---- its SVG ---- */

/* "rgb(  1,   0,   2)" -> 2; -1 if it is not a hue. *end gets what follows. */
static int read_hue(const char *at, const char **end)
{
    int red, green, blue, used = 0;

    if (sscanf(at, "rgb(%d,%d,%d)%n", &red, &green, &blue, &used) != 3 || used == 0)
        return -1;
    *end = at + used;
    return red == 1 && green == 0 ? blue : -1;
}

/* The end of an empty group, or NULL. */
static const char *skip_empty(const char *at)
{
    const char *close;

    if (strncmp(at, "<g fill=\"none\" color=", 21) != 0 || !(close = strchr(at, '>')))
        return NULL;
    close++;
    close += strspn(close, " \t\n");
    return strncmp(close, "</g>", 4) == 0 ? close + 4 + (close[4] == '\n') : NULL;
}

/* The end of what a page does not need, or NULL: the page defines the symbols once. */
static const char *skip_definitions(const char *at)
{
    const char *end = strncmp(at, "<defs>", 6) == 0 ? strstr(at, "</defs>") : NULL;

    return end ? end + 7 : NULL;
}

static void copy_body(const char *at, bool shapes, FILE *page)
{
    const char *end;

    while (*at) {
        int hue = *at == 'r' ? read_hue(at, &end) : -1;

        if (hue >= 0) {
            fprintf(page, "var(--hue-%d)", hue);
            at = end;
        } else if (*at == '<' &&
                   ((end = skip_empty(at)) || (!shapes && (end = skip_definitions(at))))) {
            at = end;
        } else {
            putc(*at++, page);
        }
    }
}

/* The drawing, with our own head. */
static bool copy_svg(const char *svg, const char *title, bool shapes, FILE *page)
{
    const char *box = strstr(svg, "viewBox="), *canvas = strstr(svg, "<g id=\"gnuplot_canvas\"");

    if (!box || !canvas)
        return reject("gnuplot drew nothing; use version 5 or later");
    fprintf(page, "<svg role=\"img\" aria-label=\"%s\" %.*s>\n<g>", title, (int)strcspn(box, "\n>"),
            box);
    copy_body(strchr(canvas, '>') + 1, shapes, page);
    return true;
}

bool plotter_draw(const char *script, size_t size, const char *title, bool shapes, FILE *page)
{
    struct gnuplot_run r = {{-1, -1, -1}, 0};
    bool ok = run_open(&r, NULL, script, size);
    char *svg = ok && r.status == 0 ? run_text(&r, 1) : NULL;

    if (!ok)
        fail("cannot run gnuplot: %s", strerror(errno));
    else if (!svg)
        complain(&r);
    ok = svg && copy_svg(svg, title, shapes, page);
    free(svg);
    run_close(&r);
    return ok;
}
