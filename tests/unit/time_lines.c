/* time_lines.c - helper of time_text.py: reads lines of FORMAT, TEXT and the NEXT field, separated
 * by tabs, and prints microseconds, or - if the text is not such a time. With the format "guess" it
 * also prints the detected format. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pick/time_text.h"

static void answer(char *line)
{
    char *format = strsep(&line, "\t"), *text = strsep(&line, "\t"), *next = strsep(&line, "\t");
    struct weir_bytes field = {text, strlen(text)}, behind = {next, next ? strlen(next) : 0};
    bool guess = strcmp(format, "guess") == 0;
    struct time_format f;
    int64_t microseconds;

    bool fine = guess ? time_guess(field, &f) : !time_format_read(format, &f);
    if (fine && guess)
        printf("%s\t", time_format_words(&f));
    if (fine && time_read(&f, field, behind, &microseconds))
        printf("%" PRId64 "\n", microseconds);
    else
        printf("-\n");
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;

    while ((n = getline(&line, &room, stdin)) > 0) {
        line[n - 1] = '\0';
        answer(line);
    }
    free(line);
    return 0;
}
