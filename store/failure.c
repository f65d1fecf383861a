/* failure.c - the spec that says why a store failed. It is made of words of the
 * store's server or library, too, so secrets are taken out of the whole of it before
 * anything is cut. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "percent.h"

#define TRIES_ROOM 32 /* bytes for " (tried 1000 times)" */

/* One line without its full stop, and nothing that a terminal would obey: a copy. */
static char *tidy(char *text)
{
    size_t n = strlen(text);
    char *out;

    while (n > 0 && strchr("\n. ", text[n - 1]))
        text[--n] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\n' || *c == '\r' || *c == '\t')
            *c = ' ';
    out = malloc(3 * n + 1);
    if (out)
        percent_tidy(out, text);
    return out;
}

/* A name may be a mistyped address or parameter; once it is found, it is not. */
static const char *head(const struct store *store)
{
    return store->url.odd && !store->opened ? "the store" : store->url.name;
}

static void note(struct store *store, const char *format, va_list args)
{
    char *text = NULL, *hidden = NULL, *shown = NULL;

    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    if (text)
        hidden = secrets_hide(&store->url.secrets, text);
    if (hidden)
        shown = tidy(hidden);
    snprintf(store->failure, sizeof store->failure - TRIES_ROOM, "%.300s: %s", head(store),
             shown ? shown : "memory is short");
    free(text);
    free(hidden);
    free(shown);
}

enum outcome store_fail(struct store *store, enum outcome outcome, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    note(store, format, args);
    va_end(args);
    return outcome;
}

bool store_refuse(struct store *store, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    note(store, format, args);
    va_end(args);
    return false;
}

void store_count_tries(struct store *store, unsigned tries)
{
    size_t n = strlen(store->failure);

    if (tries > 1)
        snprintf(store->failure + n, sizeof store->failure - n, " (tried %u times)", tries);
}

const char *store_failure(const struct store *store)
{
    return store->failure;
}
