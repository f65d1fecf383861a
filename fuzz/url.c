/* url.c - any text given as a store's URL is parsed, or rejected in one message, and nothing that
 * could be a password is printed.
 *
 * The text before an @ in a server's URL is a password. A marker is placed there, between arbitrary
 * text, and must not occur in the name, the spec or a message that quotes the URL.
 *
 * Input: a byte that selects the scheme, then the text before the marker, after it, and after the
 * @, separated by line breaks. */
#include "fuzz.h"
#include "store/url.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD "SECRET"
#define TEXT_MAX 8192

static const char *const shown[] = {"table", "column", "db", "host", "port", NULL};
static const char *const schemes[] = {"redis", "postgres", "keys", "sqlite", "redis+unix"};

/* One line of UTF-8. */
static void require_line(const char *text)
{
    size_t n = strlen(text), step;

    for (size_t i = 0; i < n; i += step) {
        step = utf8_length((const unsigned char *)text + i, n - i);
        require(step > 0 && (unsigned char)text[i] >= ' ' && text[i] != 0x7f);
    }
}

static void require_no_word(const char *text)
{
    char *decoded = percent_decode(text, strlen(text));

    require(!strcasestr(text, WORD));
    require(!decoded || !strcasestr(decoded, WORD));
    free(decoded);
}

/* The name of a URL is a URL with the same name. */
static void require_same_name(const struct url *u, struct url_form form)
{
    struct url again;
    char why[256];

    require(url_open(&again, u->name, form, why, sizeof why));
    require(strcmp(again.name, u->name) == 0 && !again.user && !again.password);
    url_close(&again);
}

static void require_hidden(const struct url *u, const char *message)
{
    char *hidden = secrets_hide(&u->secrets, message);

    require(hidden != NULL);
    require_no_word(hidden);
    free(hidden);
}

static void try(const char *text, struct url_form form, bool secret)
{
    struct url u;
    char why[256] = "";

    if (url_open(&u, text, form, why, sizeof why)) {
        require_line(u.name);
        require_same_name(&u, form);
        if (secret) {
            require_no_word(u.name);
            require_hidden(&u, text);
            require_hidden(&u, u.user);
            require_hidden(&u, u.password ? u.password : "");
        }
    } else {
        require_line(why);
        require(!strcasestr(why, WORD));
    }
    url_close(&u);
}

/* The next piece of the input, up to a line break. */
static const char *next_piece(char **rest)
{
    char *piece = *rest, *end = strchr(piece, '\n');

    *rest = end ? end + 1 : piece + strlen(piece);
    if (end)
        *end = '\0';
    return piece;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char copy[TEXT_MAX] = "", text[TEXT_MAX + 64], *rest = copy + 1;
    unsigned scheme = size ? data[0] % 5 : 0;
    struct url_form form = {
        .example = "FORM", .network = scheme < 2 || scheme == 4, .shown = shown};

    memcpy(copy, data, size < TEXT_MAX - 1 ? size : TEXT_MAX - 1);
    *copy = ' ';
    snprintf(text, sizeof text, "%s:%s", schemes[scheme], rest);
    try(text, form, false);
    if (!form.network)
        return 0;
    const char *before = next_piece(&rest), *behind = next_piece(&rest), *host = next_piece(&rest);
    snprintf(text, sizeof text, "%s://%s" WORD "%s@%s", schemes[scheme], before, behind, host);
    try(text, form, !strcasestr(host, "secret"));
    return 0;
}
