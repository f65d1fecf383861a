/* secret.c - passwords in messages: see url.h.
 *
 * A server may echo a password, and a library may quote an address. All their messages pass through
 * secrets_hide(), before truncation: a truncated text could end within a secret. */
#include "url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_PASSWORD 3 /* bytes; shorter passwords occur in most messages by chance */
#define SHORT_WORD 8     /* bytes; the same for words; chosen */
#define PART 16          /* bytes of a truncated secret; chosen */
#define STARS "***"

struct secret {
    char *text;
    enum secrecy secrecy;
};

bool secrets_add(struct secrets *secrets, const char *text, enum secrecy secrecy)
{
    struct secret *more;

    for (size_t i = 0; text && i < secrets->n; i++)
        if (strcmp(secrets->list[i].text, text) == 0 && secrets->list[i].secrecy == secrecy)
            return true;
    if (!text || !*text)
        return true;
    more = realloc(secrets->list, (secrets->n + 1) * sizeof *more);
    if (!more)
        return false;
    secrets->list = more;
    more[secrets->n] = (struct secret){strdup(text), secrecy};
    if (!more[secrets->n].text)
        return false;
    secrets->n++;
    return true;
}

void secrets_close(struct secrets *secrets)
{
    for (size_t i = 0; i < secrets->n; i++) {
        explicit_bzero(secrets->list[i].text, strlen(secrets->list[i].text));
        free(secrets->list[i].text);
    }
    free(secrets->list);
    *secrets = (struct secrets){0};
}

static bool same_letter(int a, int b)
{
    return tolower(a) == tolower(b);
}

/* The byte of an escape such as \x41, \t or \"; -1 if there is none. */
static int backslash_byte(const char *at, size_t *size)
{
    static const char letters[] = "abfnrtv", meant[] = "\a\b\f\n\r\t\v";
    unsigned value;

    *size = 2;
    if (*at != '\\' || !at[1])
        return -1;
    if (at[1] == 'x' && isxdigit((unsigned char)at[2]) && sscanf(at + 2, "%2x", &value) == 1) {
        *size = isxdigit((unsigned char)at[3]) ? 4 : 3;
        return (int)value;
    }
    const char *letter = strchr(letters, at[1]);
    return letter ? meant[letter - letters] : (unsigned char)at[1];
}

/* The length of a byte of a secret in the text, plain or escaped; 0 if the text differs. */
static size_t length_of_byte(const char *at, int wanted, bool backslashes)
{
    size_t size;
    int byte = backslashes ? backslash_byte(at, &size) : -1;

    if (byte >= 0)
        return same_letter(byte, wanted) ? size : 0;
    byte = percent_byte(at);
    if (byte >= 0 && same_letter(byte, wanted))
        return 3;
    return same_letter((unsigned char)*at, wanted);
}

/* The length of the secret at this position of the text; 0 if it does not match. A secret may be
 * truncated: by the end of the text after 2 bytes or more, elsewhere after PART bytes. */
static size_t length_of(const char *text, const char *secret, bool backslashes)
{
    const char *at = text;
    size_t bytes = 0, size = 1;

    for (; secret[bytes] && *at && size; bytes += size > 0) {
        size = length_of_byte(at, (unsigned char)secret[bytes], backslashes);
        at += size;
    }
    return !secret[bytes] || bytes >= (*at ? PART : 2) ? (size_t)(at - text) : 0;
}

static bool is_part_of_a_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The number of bytes to hide at this position. */
static size_t hidden_at(const struct secrets *secrets, const char *text, size_t at)
{
    size_t longest = 0;

    for (size_t i = 0; i < secrets->n; i++) {
        const struct secret *s = &secrets->list[i];
        size_t plain = length_of(text + at, s->text, false);
        size_t escaped = length_of(text + at, s->text, true);
        size_t n = plain > escaped ? plain : escaped;
        bool anywhere = strlen(s->text) >= (s->secrecy == A_PASSWORD ? SHORT_PASSWORD : SHORT_WORD);
        bool alone =
            (at == 0 || !is_part_of_a_word(text[at - 1])) && !is_part_of_a_word(text[at + n]);

        if (n > longest && (anywhere || alone))
            longest = n;
    }
    return longest;
}

char *secrets_hide(const struct secrets *secrets, const char *text)
{
    char *out = malloc(sizeof STARS * (strlen(text) + 1)), *to = out;
    size_t until = 0; /* end of a secret; another one may begin before */

    for (size_t at = 0; out && text[at]; at++) {
        size_t end = at + hidden_at(secrets, text, at);

        if (end > at && at >= until)
            to = stpcpy(to, STARS);
        until = end > until ? end : until;
        if (at >= until)
            *to++ = text[at];
    }
    if (out)
        *to = '\0';
    return out;
}

char *secrets_tidy(const struct secrets *secrets, const char *text)
{
    char *hidden = secrets_hide(secrets, text);
    size_t n = hidden ? strlen(hidden) : 0;
    char *out = hidden ? malloc(3 * n + 1) : NULL;

    while (n > 0 && strchr("\n. ", hidden[n - 1]))
        hidden[--n] = '\0';
    for (char *c = hidden; c && *c; c++)
        if (*c == '\n' || *c == '\r' || *c == '\t')
            *c = ' ';
    if (out)
        percent_tidy(out, hidden);
    free(hidden);
    return out;
}
