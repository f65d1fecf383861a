/* secret.c - see secret.h. The one place that decides what is hidden, and how.
 *
 * A server may send back the password that it was given, and a library may quote an
 * address. Every text of theirs goes through here, whole: a text that is cut first
 * could end in half a secret. */
#include "secret.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "percent.h"

#define SHORT_PASSWORD 3 /* bytes: fewer are in almost every sentence, */
#define SHORT_WORD 8     /* of a word more; guessed */
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

/* How many bytes of the text are this secret; 0 if it is not there. The end of the
 * text may cut it off, after two bytes or more. */
static size_t length_of(const char *text, const char *secret)
{
    const char *at = text;
    size_t bytes = 0;

    for (; secret[bytes] && *at; bytes++) {
        int encoded = percent_byte(at);

        if (encoded >= 0 && same_letter(encoded, (unsigned char)secret[bytes]))
            at += 3;
        else if (same_letter((unsigned char)*at, (unsigned char)secret[bytes]))
            at++;
        else
            return 0;
    }
    return !secret[bytes] || bytes >= 2 ? (size_t)(at - text) : 0;
}

static bool is_part_of_a_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The bytes at this place of a text that are to be hidden. */
static size_t hidden_at(const struct secrets *secrets, const char *text, size_t at)
{
    size_t longest = 0;

    for (size_t i = 0; i < secrets->n; i++) {
        const struct secret *s = &secrets->list[i];
        size_t n = length_of(text + at, s->text);
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
    size_t until = 0; /* here a secret ends; another may begin before that */

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
