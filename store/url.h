/* url.h - the address of a store: SCHEME:PLACE?NAME=VALUE&NAME=VALUE, in which
 * %XX stands for a byte. */
#ifndef WEIR_STORE_URL_H
#define WEIR_STORE_URL_H

#include <stdbool.h>
#include <stddef.h>

#define PARAMETERS_MAX 24
#define SECRETS_MAX 6

struct parameter {
    char *name, *raw, *value; /* raw: with its %XX */
};

struct url {
    char *scheme; /* in lower case */
    char *place;  /* all up to the question mark, with its %XX */
    struct parameter parameter[PARAMETERS_MAX];
    int parameters;
    char *secret[SECRETS_MAX]; /* what must never be shown */
    int secrets;
    char *name; /* what may be */
};

/* False and a sentence, which shows nothing of the URL but names of parameters. */
bool url_open(struct url *u, const char *text, char *why, size_t size);
void url_close(struct url *u);

/* The value of a parameter; NULL if it is not there. */
const char *url_value(const struct url *u, const char *name);
const char *url_raw(const struct url *u, const char *name);

/* A copy of some text with each %XX made a byte; NULL if memory is short or one
 * of them is no number, or zero. */
char *url_decode(const char *text, size_t size);

/* Replace every secret in a text by stars. */
void url_hide(const struct url *u, char *text, size_t size);

#endif
