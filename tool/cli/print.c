/* print.c - see print.h.
 *
 * Another program that shares standard output may have made it non-blocking. stdio then treats a
 * full pipe as an error, and setting it to blocking would affect that program. So stdout is
 * replaced by a stream whose writes wait. */
#include "cli/print.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/json_text.h"
#include "cli/messages.h"
#include "cli/inputs.h"

#define LINE_WIDTH 79
#define LINE_MIN 39

/* Write everything. Returns less after an error; see errno. */
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

    if (!waiting) /* a full pipe is then an error */
        return;
    stdout = waiting;
    if (isatty(STDOUT_FILENO))
        setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}

/* ---- cells and rows ---- */

void print_tsv_text(const char *text, size_t size)
{
    static const char escaped[] = {'\t', '\n', '\r', '\\'}, names[] = "tnr\\";

    for (const char *end = text + size; text < end; text++) {
        const char *mark = memchr(escaped, *text, sizeof escaped);

        if (mark)
            putchar('\\');
        putchar(mark ? names[mark - escaped] : *text);
    }
}

static void print_raw(const char *text, size_t size)
{
    fwrite(text, 1, size, stdout);
}

static void print_json_string(const char *text, size_t size)
{
    char piece[1024];

    putchar('"');
    for (const char *end = text + size; text < end;)
        fwrite(piece, 1, json_escape(&text, end, piece, sizeof piece), stdout);
    putchar('"');
}

static void print_key(const struct key_rows *r, const char *key, size_t size)
{
    static void (*const print[])(const char *, size_t) = {print_raw, print_tsv_text,
                                                          print_json_string};
    static const char *const between[] = {"\t", "\\t", ","};
    const char *joint = r->fields ? memchr(key, KEY_JOINT, size) : NULL;
    bool list = joint && r->format == PRINT_JSON;

    fputs(list ? "[" : "", stdout);
    for (; joint; joint = memchr(key, KEY_JOINT, size)) {
        size_t n = (size_t)(joint - key);

        print[r->format](key, n);
        fputs(between[r->format], stdout);
        key += n + 1;
        size -= n + 1;
    }
    print[r->format](key, size);
    fputs(list ? "]" : "", stdout);
}

void key_rows_open(const struct key_rows *r)
{
    if (r->format == PRINT_JSON)
        putchar('[');
    if (r->format != PRINT_TSV)
        return;
    fputs("key", stdout);
    for (size_t i = 0; r->names[i]; i++)
        printf("\t%s", r->names[i]);
    putchar('\n');
}

void key_rows_add(struct key_rows *r, const char *key, size_t size, const char *const *numbers)
{
    bool json = r->format == PRINT_JSON;

    if (json)
        fputs(r->printed ? ",\n{\"key\":" : "\n{\"key\":", stdout);
    print_key(r, key, size);
    for (size_t i = 0; r->names[i]; i++)
        if (json)
            printf(",\"%s\":%s", r->names[i], numbers[i] ? numbers[i] : "null");
        else
            printf("\t%s", numbers[i] ? numbers[i] : "-");
    putchar(json ? '}' : r->format == PRINT_TSV ? '\n' : r->end);
    r->printed++;
}

void key_rows_close(const struct key_rows *r)
{
    if (r->format == PRINT_JSON)
        puts(r->printed ? "\n]" : "]");
}

/* ---- lines ---- */

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
    return width > LINE_MIN ? width : LINE_MIN;
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
    static bool failed;

    if (failed || (fflush(stdout) == 0 && !ferror(stdout)))
        return !failed;
    failed = true;
    return reject("cannot write standard output: %s", strerror(errno));
}
