/* messages.c - messages on standard error, and suggestions for misspelled words. */
#include "cli/messages.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/normalize.h"

#define WORD_MAX 32

/* Replace control characters (C0 and C1) by '?'. C1 characters are two bytes in UTF-8, one byte in
 * other text. Returns the new size. */
static size_t hide_controls(char *text, size_t size)
{
    size_t to = 0, n;

    for (size_t i = 0; i < size; i += n) {
        uint8_t c = (uint8_t)text[i], next = (uint8_t)text[i + 1];
        bool pair = c == 0xc2 && next >= 0x80 && next < 0xa0;

        n = utf8_printable(text + i, size - i);
        bool hidden = pair || (n == 0 && (c < ' ' || (c >= 0x7f && c < 0xa0)));
        n = n ? n : 1 + (size_t)pair;
        memmove(text + to, hidden ? "?" : text + i, hidden ? 1 : n);
        to += hidden ? 1 : n;
    }
    return to;
}

static void print_message(const char *format, va_list args)
{
    char line[4096] = "weir: ";
    size_t head = strlen(line), room = sizeof line - head - 1;
    int n = vsnprintf(line + head, room, format, args);

    head += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
    head = hide_controls(line, head); /* of names and records */
    line[head++] = '\n';
    fwrite(line, 1, head, stderr); /* one write: other processes may share it */
}

int fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_message(format, args);
    va_end(args);
    return EXIT_ERROR;
}

bool reject(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_message(format, args);
    va_end(args);
    return false;
}

void note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_message(format, args);
    va_end(args);
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Levenshtein distance, one row at a time. */
static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1], n = strlen(b);

    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t above = row[j];

            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

const char *nearest(const char *word, const char *const *words)
{
    const char *best = NULL;
    size_t min_edits = strlen(word) > 5 ? 4 : 3;

    for (; *words; words++) {
        if (strlen(*words) > WORD_MAX)
            continue;
        size_t edits = distance(word, *words);
        if (edits < min_edits && edits < strlen(*words)) {
            min_edits = edits;
            best = *words;
        }
    }
    return best;
}
