/* url.h - parse the address of a store: SCHEME:PLACE?NAME=VALUE&NAME=VALUE, with bytes written %XX.
 *
 * A place is a file name, or //USER:PASSWORD@HOST:PORT/PATH. Messages contain only scheme, host,
 * path and the parameters that name the set. */
#ifndef WEIR_STORE_URL_H
#define WEIR_STORE_URL_H

#include <stdbool.h>
#include <stddef.h>

/* ---- secrets: secret.c ---- */

/* A secret is hidden wherever it occurs. A short one, which many texts contain by chance, is hidden
 * only as a whole word. Users and values of options are ordinary words more often than passwords.
 */
enum secrecy { A_WORD, A_PASSWORD };

struct secrets {
    struct secret *list;
    size_t n;
};

/* Add a copy. Duplicates, NULL and "" are ignored. False if out of memory. */
bool secrets_add(struct secrets *secrets, const char *text, enum secrecy secrecy);
void secrets_close(struct secrets *secrets);

/* A copy of the text with *** instead of each secret: in any case, with bytes written as %XX or
 * backslash escapes, also truncated. NULL if out of memory. */
char *secrets_hide(const struct secrets *secrets, const char *text);

/* The same on one line, without control characters and a final full stop. */
char *secrets_tidy(const struct secrets *secrets, const char *text);

/* ---- addresses ---- */

#define PARAMETERS_MAX 24

struct parameter {
    char *name, *raw, *value; /* raw: with its %XX */
};

struct url {
    char *scheme;          /* in lower case */
    char *place;           /* up to the question mark, with its %XX */
    char *user, *password; /* or NULL */
    char *host;            /* and port, with %XX; "" for a file; or the path of a socket */
    bool socket;           /* SCHEME+unix:///SOCKET/PATH: the last slash precedes the path */
    char *path;            /* after the slash of the host, or the file name */
    struct parameter parameter[PARAMETERS_MAX];
    int parameters;
    struct secrets secrets;
    bool odd;        /* the name may contain a mistyped secret */
    char *name;      /* for messages, on one line; equal for the same set */
    const char *why; /* it is invalid */
};

/* The form of addresses of a store. */
struct url_form {
    const char *example;      /* "redis://HOST:PORT/KEY" */
    bool network;             /* //HOST/PATH, not a file */
    const char *const *shown; /* parameters that are not secret, besides list; NULL-terminated */
};

/* Parse an address. False and a message that contains nothing of the address. */
bool url_open(struct url *u, const char *text, struct url_form form, char *why, size_t size);
void url_close(struct url *u);

/* The value of a parameter; NULL if it is missing. */
const char *url_value(const struct url *u, const char *name);
const char *url_raw(const struct url *u, const char *name);

/* The byte of %XX; -1 if it is not of this form. */
int percent_byte(const char *text);

/* A copy with each %XX decoded; NULL if out of memory, or if a %XX is invalid or zero. */
char *percent_decode(const char *text, size_t size);

/* Append a text, with control characters and bytes that are not UTF-8 written %XX: at most three
 * times as many bytes. Returns the end. */
char *percent_tidy(char *to, const char *text);

/* Length of the first character; 0 if it is not UTF-8. */
size_t utf8_length(const unsigned char *s, size_t left);

#endif
