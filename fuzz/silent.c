/* silent.c - replaces the functions of tool/cli/messages.c, and prints nothing. */
#include "cli/messages.h"

#include <stddef.h>

int fail(const char *format, ...)
{
    (void)format;
    return EXIT_ERROR;
}

bool reject(const char *format, ...)
{
    (void)format;
    return false;
}

void note(const char *format, ...)
{
    (void)format;
}

const char *nearest(const char *word, const char *const *words)
{
    (void)word;
    (void)words;
    return NULL;
}
