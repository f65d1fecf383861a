/* print.c - see print.h.
 *
 * Whoever starts us may share standard output with a program that has made it
 * non-blocking. stdio takes a full pipe for a failure then; and to make it blocking
 * would change it for the others too. So stdout is a stream whose writes wait. */
#include "cli/print.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/records.h"

#define LINE_WIDTH 79
#define LINE_LEAST 39 /* narrower than that, lines are wrapped by the terminal */

/* All of it; less if it failed, and errno says why. */
static ssize_t write_out(void *unused, const char *data, size_t size)
{
    size_t done = 0;

    (void)unused;
    while (done < size) {
        ssize_t n = write(STDOUT_FILENO, data + done, size - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno == EAGAIN)
            (void)poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
        else if (errno != EINTR)
            break;
    }
    return (ssize_t)done;
}

void print_open(void)
{
    FILE *waiting = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_out});

    if (!waiting) /* then a full pipe is a failure that is told */
        return;
    stdout = waiting;
    if (isatty(STDOUT_FILENO))
        setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}

void print_key(const char *key, size_t size, bool fields)
{
    for (const char *joint; fields && (joint = memchr(key, KEY_JOINT, size));) {
        size_t n = (size_t)(joint - key);

        fwrite(key, 1, n, stdout);
        putchar('\t');
        key += n + 1;
        size -= n + 1;
    }
    fwrite(key, 1, size, stdout);
}

int print_columns(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static int line_width(void)
{
    int width = print_columns() - 1;

    if (width < 0 || width > LINE_WIDTH)
        return LINE_WIDTH;
    return width > LINE_LEAST ? width : LINE_LEAST;
}

void print_wrapped(const char *text, int column)
{
    for (size_t n, room = (size_t)(line_width() - column); strlen(text) > room; text += n + 1) {
        for (n = room; n > 0 && text[n] != ' ';)
            n--;
        if (n == 0)
            break;
        printf("%.*s\n%*s", (int)n, text, column, "");
    }
    printf("%s\n", text);
}

bool print_flush(void)
{
    static bool told;

    if (told || (fflush(stdout) == 0 && !ferror(stdout)))
        return !told;
    told = true;
    return reject("cannot write standard output: %s", strerror(errno));
}
