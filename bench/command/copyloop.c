/* copyloop.c - copy lines with getline() and fwrite(): the baseline for the cost of a filter. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;

    while ((n = getline(&line, &room, stdin)) > 0)
        if (fwrite(line, 1, (size_t)n, stdout) != (size_t)n)
            return 1;
    free(line);
    return fflush(stdout) ? 1 : 0;
}
