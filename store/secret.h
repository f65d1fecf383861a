/* secret.h - hide secrets in messages of servers and libraries. */
#ifndef WEIR_STORE_SECRET_H
#define WEIR_STORE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
