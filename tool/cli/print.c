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
#include <endian.h>
#include <stdlib.h>

#include "cli/messages.h"
#include "cli/inputs.h"
#include "cli/normalize.h"

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

/* ---- JSON ---- */

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

char *json_text(const json_t *value, size_t flags)
{
    size_t size = value ? json_dumpb(value, NULL, 0, flags) : 0;
    char *text = size > 0 ? malloc(size + 1) : NULL;

    if (!text)
        return NULL;
    if (json_dumpb(value, text, size, flags) != size) {
        free(text);
        return NULL;
    }
    text[size] = '\0';
    return text;
}

json_t *utf8_string(const char *name)
{
    char *text = malloc(strlen(REPLACEMENT) * strlen(name) + 1), *to = text;
    json_t *string;

    if (!text)
        return NULL;
    while (*name) {
        size_t n = utf8_character(name);

        to = n ? mempcpy(to, name, n) : mempcpy(to, REPLACEMENT, strlen(REPLACEMENT));
        name += n ? n : 1;
    }
    *to = '\0';
    string = json_string(text);
    free(text);
    return string;
}

json_t *json_with(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *json_appended(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return array;
    json_decref(array);
    return NULL;
}

/* ---- printing ---- */

bool json_print(json_t *value, size_t flags)
{
    char *text = json_text(value, flags | JSON_REAL_PRECISION(6));

    if (text)
        puts(text);
    free(text);
    json_decref(value);
    return text || reject("out of memory");
}

static void print_cell(const json_t *value)
{
    if (json_is_string(value))
        print_tsv_text(json_string_value(value), json_string_length(value));
    else if (json_is_integer(value))
        printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        printf("%.6g", json_real_value(value));
    else
        putchar('-');
}

static void print_row(json_t *object, bool names)
{
    const char *before = "", *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        fputs(before, stdout);
        before = "\t";
        if (names)
            fputs(name, stdout);
        else
            print_cell(value);
    }
    putchar('\n');
}

bool json_print_tsv(json_t *value)
{
    json_t *row;
    size_t i;

    if (!value)
        return reject("out of memory");
    if (json_is_object(value)) {
        print_row(value, true);
        print_row(value, false);
    }
    json_array_foreach(value, i, row)
    {
        if (i == 0)
            print_row(row, true);
        print_row(row, false);
    }
    json_decref(value);
    return true;
}

/* ---- escapes ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The number of leading bytes, of 8, that a JSON string contains unescaped. */
static size_t count_plain(uint64_t x)
{
    uint64_t quote = x ^ EACH('"'), backslash = x ^ EACH('\\');
    uint64_t stop = (quote - EACH(1)) | (backslash - EACH(1)) | (x - EACH(' ')) | x;

    stop &= EACH(0x80); /* the lowest set bit is exact: no borrow from below */
    return stop ? (size_t)__builtin_ctzll(stop) / 8 : 8;
}

/* Escape one control character, quote, backslash or non-ASCII character: at most 6 bytes. */
static size_t escape(const char **from, const char *end, char *to)
{
    static const char hex[] = "0123456789abcdef";
    static const char shorts[128] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                     ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};
    uint8_t c = (uint8_t) * *from;

    if (c >= 0x80) {
        char first[5] = ""; /* the NUL ends a truncated character */
        size_t left = (size_t)(end - *from);

        memcpy(first, *from, left < 4 ? left : 4);
        size_t n = utf8_character(first);
        if (n > 0) {
            memcpy(to, first, 4);
            *from += n;
            return n;
        }
    }
    ++*from;
    if (c < 0x80 && shorts[c]) {
        to[0] = '\\';
        to[1] = shorts[c];
        return 2;
    }
    to[0] = '\\';
    to[1] = 'u';
    to[2] = c < ' ' ? '0' : 'd';
    to[3] = c < ' ' ? '0' : 'c';
    to[4] = hex[c >> 4];
    to[5] = hex[c & 15];
    return 6;
}

size_t json_escape(const char **from, const char *end, char *to, size_t room)
{
    const char *begin = to, *last = to + room - JSON_ESCAPE_ROOM;

    while (*from < end && to <= last) {
        size_t left = (size_t)(end - *from);
        uint64_t next = 0; /* zero bytes are not plain */

        if (left >= 8)
            memcpy(&next, *from, 8);
        else
            memcpy(&next, *from, left);
        memcpy(to, &next, 8);
        size_t n = count_plain(le64toh(next));
        *from += n;
        to += n;
        if (n < 8 && n < left && to <= last)
            to += escape(from, end, to);
    }
    return (size_t)(to - begin);
}
