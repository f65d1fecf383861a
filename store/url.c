/* url.c - see url.h. The parser rejects everything that it does not understand completely: a
 * password in the wrong part of an address would be printed with that part. */
#include "url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool refuse(struct url *u, const char *why)
{
    u->why = why;
    return false;
}

static const char bad_percent[] = "invalid % in the address; write it as %25";
static const char no_memory[] = "out of memory";
static const char bad_form[] = "invalid address"; /* the message has the form, too */

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

/* One host, or several separated by commas. */
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

/* Parse USER:PASSWORD up to the @. */
static bool take_user(struct url *u, const char *from, const char *at)
{
    const char *colon = memchr(from, ':', (size_t)(at - from));
    const char *user_end = colon ? colon : at;

    u->user = percent_decode(from, (size_t)(user_end - from));
    if (colon)
        u->password = percent_decode(colon + 1, (size_t)(at - colon) - 1);
    if (!u->user || (colon && !u->password))
        return refuse(u, bad_percent);
    return (secrets_add(&u->secrets, u->user, A_WORD) &&
            secrets_add(&u->secrets, u->password, A_PASSWORD)) ||
           refuse(u, no_memory);
}

/* A = in a name is probably a parameter without its & or ?: column=k;password=... */
static bool hide_if_odd(struct url *u, const char *name)
{
    if (!strchr(name, '='))
        return true;
    u->odd = true;
    return secrets_add(&u->secrets, name, A_PASSWORD);
}

/* /SOCKET/PATH. An empty path, and the path of a socket alone, have no name. */
static bool split_socket(struct url *u, const char *from)
{
    const char *slash = strrchr(from, '/');
    struct stat found;

    if (*from != '/' || slash == from || !slash[1])
        return refuse(u, "invalid address of a socket; expected redis+unix:///SOCKET/NAME, for "
                         "example redis+unix:///run/redis/redis.sock/seen");
    u->host = percent_decode(from, (size_t)(slash - from));
    u->path = percent_decode(slash + 1, strlen(slash + 1));
    if (!u->host || !u->path)
        return refuse(u, bad_percent);
    if (stat(u->host, &found) == 0 && S_ISDIR(found.st_mode))
        return refuse(u,
                      "the address ends with the socket; add the name: redis+unix:///SOCKET/NAME");
    return hide_if_odd(u, u->path) || refuse(u, no_memory);
}

static bool split_network(struct url *u)
{
    const char *from = u->place + 2, *slash, *at, *host;

    if (strncmp(u->place, "//", 2) != 0)
        return refuse(u, bad_form);
    slash = from + strcspn(from, "/");
    u->socket = strlen(u->scheme) > 5 && strcmp(u->scheme + strlen(u->scheme) - 5, "+unix") == 0;
    at = memchr(from, '@', (size_t)(slash - from));
    host = at ? at + 1 : from;
    if (strchr(host, '@'))
        return refuse(
            u,
            "invalid @, / or ? in a user, password or name of the address; write %40, %2F or %3F");
    if (at && !take_user(u, from, at))
        return false;
    if (u->socket)
        return split_socket(u, host);
    if (!are_hosts(host, slash))
        return refuse(u, bad_form);
    u->host = strndup(host, (size_t)(slash - host));
    u->path = *slash ? percent_decode(slash + 1, strlen(slash + 1)) : strdup("");
    if (!u->host || !u->path)
        return refuse(u, bad_percent);
    return hide_if_odd(u, u->path) || refuse(u, no_memory);
}

static bool split_file(struct url *u)
{
    u->host = strdup("");
    u->path = percent_decode(u->place, strlen(u->place));
    if (!u->host || !u->path)
        return refuse(u, bad_percent);
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

static bool take_parameter(struct url *u, const char *text, size_t length, struct url_form form)
{
    const char *equals = memchr(text, '=', length);
    struct parameter *p = &u->parameter[u->parameters];
    size_t n = equals ? (size_t)(equals - text) : length;

    if (u->parameters == PARAMETERS_MAX)
        return refuse(u, "the address has more than 24 parameters; remove some");
    u->parameters++;
    p->name = strndup(text, n);
    p->raw = strndup(equals ? equals + 1 : "", equals ? length - n - 1 : 0);
    p->value = p->raw ? percent_decode(p->raw, strlen(p->raw)) : NULL;
    if (!p->name || !p->value)
        return refuse(u, bad_percent);
    if (strcmp(p->name, "port") == 0 && strspn(p->value, "0123456789,") != strlen(p->value))
        return refuse(u, bad_form);
    if (is_shown(form, p->name))
        return hide_if_odd(u, p->value) || refuse(u, no_memory);
    return secrets_add(&u->secrets, p->value, strcasestr(p->name, "pass") ? A_PASSWORD : A_WORD) ||
           refuse(u, no_memory);
}

static bool take_parameters(struct url *u, const char *text, struct url_form form)
{
    if (strchr(text, '@'))
        return refuse(
            u, "invalid @ after the ? of the address; write it as %40, and a ? before it as %3F");
    while (*text) {
        size_t n = strcspn(text, "&");

        if (n > 0 && !take_parameter(u, text, n, form))
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

/* ---- open and close ---- */

/* The name without the user and without parameters that may be secret. */
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

static bool parse(struct url *u, const char *text, struct url_form form)
{
    size_t scheme = strcspn(text, ":"), length = strlen(text);
    const char *place = text + scheme + (text[scheme] == ':'), *question = strchr(place, '?');
    size_t placed = question ? (size_t)(question - place) : strlen(place);

    *u = (struct url){.scheme = strndup(text, scheme), .place = strndup(place, placed)};
    if (!u->scheme || !u->place)
        return refuse(u, no_memory);
    for (char *c = u->scheme; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!(form.network ? split_network(u) : split_file(u)) ||
        (question && !take_parameters(u, question + 1, form)))
        return false;
    u->name = make_name(u, form, length);
    return u->name || refuse(u, no_memory);
}

bool url_open(struct url *u, const char *text, struct url_form form, char *why, size_t size)
{
    if (parse(u, text, form))
        return true;
    if (u->why == bad_form)
        snprintf(why, size, "invalid address; expected %s", form.example);
    else
        snprintf(why, size, "%s", u->why);
    return false;
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

/* ---- bytes written %XX ---- */

static int digit(char c)
{
    if (isdigit((unsigned char)c))
        return c - '0';
    return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

int percent_byte(const char *text)
{
    if (text[0] != '%' || digit(text[1]) < 0 || digit(text[2]) < 0)
        return -1;
    return digit(text[1]) * 16 + digit(text[2]);
}

char *percent_decode(const char *text, size_t size)
{
    char *out = malloc(size + 1), *to = out;

    for (size_t i = 0; out && i < size; i++) {
        int byte = (unsigned char)text[i];

        if (byte == '%') {
            byte = size - i > 2 ? percent_byte(text + i) : -1;
            i += 2;
        }
        if (byte <= 0) {
            free(out);
            return NULL;
        }
        *to++ = (char)byte;
    }
    if (out)
        *to = '\0';
    return out;
}

size_t utf8_length(const unsigned char *s, size_t left)
{
    size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;

    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (*s == 0xe0 && s[1] < 0xa0) || (*s == 0xf0 && s[1] < 0x90);
    bool beyond = (*s == 0xed && s[1] > 0x9f) || (*s == 0xf4 && s[1] > 0x8f);
    return overlong || beyond ? 0 : n;
}

char *percent_tidy(char *to, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    for (size_t left = strlen(text), n; left > 0; left -= n, s += n) {
        n = utf8_length(s, left);
        bool control = *s < ' ' || *s == 0x7f || (*s == 0xc2 && n == 2 && s[1] < 0xa0);

        if (n > 0 && !control) {
            memcpy(to, s, n);
            to += n;
            continue;
        }
        n = n ? n : 1;
        for (size_t i = 0; i < n; i++)
            to += sprintf(to, "%%%02X", s[i]);
    }
    *to = '\0';
    return to;
}
