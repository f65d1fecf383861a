/* url.h - the address of a store: SCHEME:PLACE?NAME=VALUE&NAME=VALUE, in which %XX
 * stands for a byte.
 *
 * A place is the name of a file, or //USER:PASSWORD@HOST:PORT/PATH. Nothing of an
 * address is ever shown but scheme, host, path and the parameters that say which set
 * of the store is meant. */
#ifndef WEIR_STORE_URL_H
#define WEIR_STORE_URL_H

#include "secret.h"

#define PARAMETERS_MAX 24

struct parameter {
    char *name, *raw, *value; /* raw: with its %XX */
};

struct url {
    char *scheme;          /* in lower case */
    char *place;           /* all up to the question mark, with its %XX */
    char *user, *password; /* or NULL */
    char *host;            /* and port, with %XX; of a file "" */
    char *path;            /* what follows the host's slash, or the name of the file */
    struct parameter parameter[PARAMETERS_MAX];
    int parameters;
    struct secrets secrets;
    bool odd;   /* what would be shown of it could hold a mistyped secret */
    char *name; /* what may be shown, on one line; equal for the same set */
};

/* How the addresses of a store look. */
struct url_form {
    const char *example;      /* "redis://HOST:PORT/KEY" */
    bool network;             /* //HOST/PATH, not a file */
    const char *const *shown; /* names of parameters, ends with NULL; list is one always */
};

/* False and a spec, which shows nothing of the address. */
bool url_open(struct url *u, const char *text, struct url_form form, char *why, size_t size);
void url_close(struct url *u);

/* The value of a parameter; NULL if it is not there. */
const char *url_value(const struct url *u, const char *name);
const char *url_raw(const struct url *u, const char *name);

#endif
