/* url.c - see url.h. Whatever is not understood to the last byte is refused: a
 * password that ends up in the wrong part would be shown as that part. */
#include "url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "percent.h"

static bool refuse(char *why, size_t size, const char *spec)
{
    snprintf(why, size, "%s", spec);
    return false;
}

static bool refuse_percent(char *why, size_t size)
{
    return refuse(
        why, size,
        "% in a store's address begins a byte in hexadecimal digits; by itself it is %25");
}

static bool refuse_memory(char *why, size_t size)
{
    return refuse(why, size, "memory is short");
}

static bool refuse_form(struct url_form form, char *why, size_t size)
{
    snprintf(why, size, "this is no address of such a store; its form is %s", form.example);
    return false;
}

/* ---- the place ---- */

static bool is_made_of(const char *s, const char *end, const char *signs)
{
    while (s < end && (isalnum((unsigned char)*s) || *s & 0x80 || strchr(signs, *s)))
        s++;
    return s == end;
}

/* HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT */
static bool is_host(const char *s, const char *end)
{
    const char *port = memchr(s, ':', (size_t)(end - s));

    if (s < end && *s == '[') {
        const char *close = memchr(s, ']', (size_t)(end - s));

        if (!close || !is_made_of(s + 1, close, ":.%"))
            return false;
        port = close + 1;
    } else if (!is_made_of(s, port ? port : end, ".-_~%")) {
        return false;
    }
    if (!port || port == end)
        return true;
    return *port == ':' && strspn(port + 1, "0123456789") >= (size_t)(end - port) - 1;
}

/* One, or several with commas between. */
static bool are_hosts(const char *s, const char *end)
{
    const char *comma;

    while ((comma = memchr(s, ',', (size_t)(end - s)))) {
        if (!is_host(s, comma))
            return false;
        s = comma + 1;
    }
    return is_host(s, end);
}

/* USER:PASSWORD, from here up to the at. */
static bool take_user(struct url *u, const char *from, const char *at, char *why, size_t size)
{
    const char *colon = memchr(from, ':', (size_t)(at - from));
    const char *user_end = colon ? colon : at;

    u->user = percent_decode(from, (size_t)(user_end - from));
    if (colon)
        u->password = percent_decode(colon + 1, (size_t)(at - colon) - 1);
    if (!u->user || (colon && !u->password))
        return refuse_percent(why, size);
    return (secrets_add(&u->secrets, u->user, A_WORD) &&
            secrets_add(&u->secrets, u->password, A_PASSWORD)) ||
           refuse_memory(why, size);
}

/* A = in a name more often is a parameter without its & or ? than a part of the name:
 * column=k;password=... */
static bool hide_if_odd(struct url *u, const char *name)
{
    if (!strchr(name, '='))
        return true;
    u->odd = true;
    return secrets_add(&u->secrets, name, A_PASSWORD);
}

static bool split_network(struct url *u, struct url_form form, char *why, size_t size)
{
    const char *from = u->place + 2, *slash, *at, *host;

    if (strncmp(u->place, "//", 2) != 0)
        return refuse_form(form, why, size);
    slash = from + strcspn(from, "/");
    at = memchr(from, '@', (size_t)(slash - from));
    host = at ? at + 1 : from;
    if (strchr(host, '@'))
        return refuse(why, size,
                      "an @, / or ? in a user, a password or a name of a store's address must be "
                      "written %40, %2F or %3F");
    if (at && !take_user(u, from, at, why, size))
        return false;
    if (!are_hosts(host, slash))
        return refuse_form(form, why, size);
    u->host = strndup(host, (size_t)(slash - host));
    u->path = *slash ? percent_decode(slash + 1, strlen(slash + 1)) : strdup("");
    if (!u->host || !u->path)
        return refuse_percent(why, size);
    return hide_if_odd(u, u->path) || refuse_memory(why, size);
}

static bool split_file(struct url *u, char *why, size_t size)
{
    u->host = strdup("");
    u->path = percent_decode(u->place, strlen(u->place));
    if (!u->host || !u->path)
        return refuse_percent(why, size);
    u->odd = strpbrk(u->path, ":@=&?; \t\r\n") != NULL;
    return true;
}

/* ---- parameters ---- */

static bool is_shown(struct url_form form, const char *name)
{
    for (const char *const *shown = form.shown; *shown; shown++)
        if (strcmp(*shown, name) == 0)
            return true;
    return strcmp(name, "list") == 0;
}

static bool take_parameter(struct url *u, const char *text, size_t length, struct url_form form,
                           char *why, size_t size)
{
    const char *equals = memchr(text, '=', length);
    struct parameter *p = &u->parameter[u->parameters];
    size_t n = equals ? (size_t)(equals - text) : length;

    if (u->parameters == PARAMETERS_MAX)
        return refuse(why, size, "the store's address has too many parameters");
    u->parameters++;
    p->name = strndup(text, n);
    p->raw = strndup(equals ? equals + 1 : "", equals ? length - n - 1 : 0);
    p->value = p->raw ? percent_decode(p->raw, strlen(p->raw)) : NULL;
    if (!p->name || !p->value)
        return refuse_percent(why, size);
    if (strcmp(p->name, "port") == 0 && strspn(p->value, "0123456789,") != strlen(p->value))
        return refuse_form(form, why, size);
    if (is_shown(form, p->name))
        return hide_if_odd(u, p->value) || refuse_memory(why, size);
    return secrets_add(&u->secrets, p->value, strcasestr(p->name, "pass") ? A_PASSWORD : A_WORD) ||
           refuse_memory(why, size);
}

static bool take_parameters(struct url *u, const char *text, struct url_form form, char *why,
                            size_t size)
{
    if (strchr(text, '@'))
        return refuse(why, size,
                      "an @ behind the question mark of a store's address must be written %40, "
                      "and a question mark before it %3F");
    while (*text) {
        size_t n = strcspn(text, "&");

        if (n > 0 && !take_parameter(u, text, n, form, why, size))
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

/* Without the user, and without parameters that could hold anything. */
static char *make_name(const struct url *u, struct url_form form, size_t length)
{
    char *name = malloc(3 * length + 8), *to = name;
    const char *at = form.network ? strchr(u->place, '@') : NULL;
    char before = '?';

    if (!name)
        return NULL;
    to += sprintf(to, "%s:%s", u->scheme, at ? "//" : "");
    to = percent_tidy(to, at ? at + 1 : u->place);
    for (int i = 0; i < u->parameters; i++) {
        const struct parameter *p = &u->parameter[i];

        if (!is_shown(form, p->name))
            continue;
        to += sprintf(to, "%c%s=", before, p->name);
        to = percent_tidy(to, p->raw);
        before = '&';
    }
    return name;
}

bool url_open(struct url *u, const char *text, struct url_form form, char *why, size_t size)
{
    size_t scheme = strcspn(text, ":"), length = strlen(text);
    const char *place = text + scheme + (text[scheme] == ':'), *question = strchr(place, '?');
    size_t placed = question ? (size_t)(question - place) : strlen(place);

    *u = (struct url){.scheme = strndup(text, scheme), .place = strndup(place, placed)};
    if (!u->scheme || !u->place)
        return refuse_memory(why, size);
    for (char *c = u->scheme; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!(form.network ? split_network(u, form, why, size) : split_file(u, why, size)) ||
        (question && !take_parameters(u, question + 1, form, why, size)))
        return false;
    u->name = make_name(u, form, length);
    return u->name || refuse_memory(why, size);
}

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void url_close(struct url *u)
{
    for (int i = 0; i < u->parameters; i++) {
        free(u->parameter[i].name);
        wipe(u->parameter[i].raw);
        wipe(u->parameter[i].value);
    }
    secrets_close(&u->secrets);
    free(u->scheme);
    wipe(u->place);
    free(u->user);
    wipe(u->password);
    free(u->host);
    free(u->path);
    free(u->name);
    *u = (struct url){0};
}
