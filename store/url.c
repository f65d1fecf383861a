/* url.c - see url.h. */
#include "url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool refuse(char *why, size_t size, const char *sentence, const char *name)
{
    snprintf(why, size, sentence, name);
    return false;
}

/* ---- bytes ---- */

static int hex(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : -1;
}

char *url_decode(const char *text, size_t size)
{
    char *out = malloc(size + 1), *to = out;

    for (size_t i = 0; out && i < size; i++) {
        int byte = (unsigned char)text[i];

        if (byte == '%') {
            byte = size - i > 2 && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0
                       ? hex(text[i + 1]) * 16 + hex(text[i + 2])
                       : 0;
            i += 2;
        }
        if (byte == 0) {
            free(out);
            return NULL;
        }
        *to++ = (char)byte;
    }
    if (out)
        *to = '\0';
    return out;
}

/* ---- secrets ---- */

/* Takes the text over. False if there is none, for want of memory or sense. */
static bool keep_secret(struct url *u, char *text)
{
    if (!text)
        return false;
    if (*text && u->secrets < SECRETS_MAX)
        u->secret[u->secrets++] = text;
    else
        free(text);
    return true;
}

static bool is_secret(const char *name)
{
    return strcasestr(name, "password") != NULL;
}

/* user:password@ at the start of the place; both spellings are kept secret. */
static bool hide_user(struct url *u, char *why, size_t size)
{
    const char *host = strncmp(u->place, "//", 2) == 0 ? u->place + 2 : NULL;
    const char *at = host ? strrchr(host, '@') : NULL;
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;

    if (at && memchr(host, '/', (size_t)(at - host)))
        return refuse(why, size,
                      "an @ or / in a password or name of a store's address must be "
                      "written %%40 or %%2F%s",
                      "");
    if (!colon)
        return true;
    return (keep_secret(u, strndup(colon + 1, (size_t)(at - colon) - 1)) &&
            keep_secret(u, url_decode(colon + 1, (size_t)(at - colon) - 1))) ||
           refuse(why, size,
                  "%% in a store's address begins a byte in hexadecimal digits; by "
                  "itself it is %%25%s",
                  "");
}

void url_hide(const struct url *u, char *text, size_t size)
{
    for (int i = 0; i < u->secrets; i++) {
        size_t n = strlen(u->secret[i]);
        char *at = text;

        while ((at = strstr(at, u->secret[i]))) {
            size_t rest = strlen(at + n) + 1, room = size - (size_t)(at - text);

            if (room < 4) {
                *at = '\0';
                break;
            }
            rest = rest > room - 3 ? room - 3 : rest;
            memmove(at + 3, at + n, rest);
            memcpy(at, "***", 3);
            text[size - 1] = '\0';
            at += 3;
        }
    }
}

/* ---- parameters ---- */

static bool take_parameter(struct url *u, const char *text, size_t length, char *why, size_t size)
{
    const char *equals = memchr(text, '=', length);
    struct parameter *p = &u->parameter[u->parameters];
    size_t n = equals ? (size_t)(equals - text) : length;

    if (u->parameters == PARAMETERS_MAX)
        return refuse(why, size, "the store's address has too many parameters%s", "");
    u->parameters++;
    p->name = strndup(text, n);
    p->raw = strndup(equals ? equals + 1 : "", equals ? length - n - 1 : 0);
    p->value = p->raw ? url_decode(p->raw, strlen(p->raw)) : NULL;
    if (!p->name || !p->value)
        return refuse(why, size,
                      "the value of '%s' in the store's address is not right: %% begins "
                      "a byte in hexadecimal digits, by itself it is %%25",
                      p->name ? p->name : "");
    if (!is_secret(p->name))
        return true;
    return (keep_secret(u, strdup(p->raw)) && keep_secret(u, strdup(p->value))) ||
           refuse(why, size, "memory is short%s", "");
}

static bool take_parameters(struct url *u, const char *text, char *why, size_t size)
{
    while (*text) {
        size_t n = strcspn(text, "&");

        if (n > 0 && !take_parameter(u, text, n, why, size))
            return false;
        text += n + (text[n] == '&');
    }
    return true;
}

const char *url_value(const struct url *u, const char *name)
{
    for (int i = 0; i < u->parameters; i++)
        if (strcmp(u->parameter[i].name, name) == 0)
            return u->parameter[i].value;
    return NULL;
}

const char *url_raw(const struct url *u, const char *name)
{
    for (int i = 0; i < u->parameters; i++)
        if (strcmp(u->parameter[i].name, name) == 0)
            return u->parameter[i].raw;
    return NULL;
}

/* ---- the whole ---- */

/* Without the user, and of what is secret only the name. */
static char *make_name(const struct url *u, size_t length)
{
    size_t room = length + (size_t)u->parameters * 4 + 8;
    char *name = malloc(room);
    const char *at = strncmp(u->place, "//", 2) == 0 ? strrchr(u->place, '@') : NULL;
    int n;

    if (!name)
        return NULL;
    n = snprintf(name, room, "%s:%s%s", u->scheme, at ? "//" : "", at ? at + 1 : u->place);
    for (int i = 0; i < u->parameters; i++) {
        const struct parameter *p = &u->parameter[i];

        n += snprintf(name + n, room - (size_t)n, "%c%s=%s", i ? '&' : '?', p->name,
                      is_secret(p->name) ? "***" : p->raw);
    }
    return name;
}

bool url_open(struct url *u, const char *text, char *why, size_t size)
{
    size_t scheme = strcspn(text, ":"), length = strlen(text);
    const char *place = text + scheme + (text[scheme] == ':'), *question = strchr(place, '?');
    size_t placed = question ? (size_t)(question - place) : strlen(place);

    *u = (struct url){.scheme = strndup(text, scheme), .place = strndup(place, placed)};
    if (!u->scheme || !u->place)
        return refuse(why, size, "memory is short%s", "");
    for (char *c = u->scheme; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!hide_user(u, why, size) || (question && !take_parameters(u, question + 1, why, size)))
        return false;
    u->name = make_name(u, length);
    return u->name || refuse(why, size, "memory is short%s", "");
}

void url_close(struct url *u)
{
    for (int i = 0; i < u->parameters; i++) {
        free(u->parameter[i].name);
        free(u->parameter[i].raw);
        free(u->parameter[i].value);
    }
    for (int i = 0; i < u->secrets; i++)
        free(u->secret[i]);
    free(u->scheme);
    free(u->place);
    free(u->name);
}
