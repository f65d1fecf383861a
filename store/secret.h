/* secret.h - what must never be shown, and taking it out of texts that others wrote. */
#ifndef WEIR_STORE_SECRET_H
#define WEIR_STORE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Hidden wherever it stands, unless it is so short that many texts hold it by chance:
 * then only where it stands by itself. A user or the value of an option is more often
 * an ordinary word than a password is. */
enum secrecy { A_WORD, A_PASSWORD };

struct secrets {
    struct secret *list;
    size_t n;
};

/* Keep a copy. One that is there already, NULL and "" change nothing. False if memory is
 * short. */
bool secrets_add(struct secrets *secrets, const char *text, enum secrecy secrecy);
void secrets_close(struct secrets *secrets);

/* A copy of the text with *** for every secret, in whatever case, with any of its
 * bytes written %XX or behind backslashes, or cut off by the end of the text or after 16
 * bytes. NULL if memory is short. */
char *secrets_hide(const struct secrets *secrets, const char *text);

#endif
