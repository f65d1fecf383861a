/* fold_case.c - see fold_case.h. */
#include "cli/fold_case.h"

#include <locale.h>
#include <wchar.h>
#include <wctype.h>

void fold_case_open(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
}

/* One character that is not ASCII; bytes that are no UTF-8 stay as they are. */
static size_t fold_case_wide(const char **at, const char *end, char *to)
{
    mbstate_t state = {0};
    wchar_t wide;
    size_t n = mbrtowc(&wide, *at, (size_t)(end - *at), &state);

    if (n == 0 || n > 4) {
        *to = *(*at)++;
        return 1;
    }
    *at += n;
    state = (mbstate_t){0};
    return wcrtomb(to, (wchar_t)towlower((wint_t)wide), &state);
}

size_t fold_case(const char *text, size_t size, char *to)
{
    const char *end = text + size;
    size_t n = 0;

    while (text < end) {
        if ((signed char)*text < 0) {
            n += fold_case_wide(&text, end, to + n);
        } else {
            to[n++] = (char)(*text >= 'A' && *text <= 'Z' ? *text + 32 : *text);
            text++;
        }
    }
    return n;
}
