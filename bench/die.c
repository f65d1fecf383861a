/* die.c - exit with a message. */
#include "speed.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void die(const char *why, ...)
{
    va_list args;

    va_start(args, why);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, why, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void *must_allocate(size_t bytes)
{
    void *p = malloc(bytes);

    if (!p)
        die("the system does not give %zu bytes", bytes);
    return p;
}
