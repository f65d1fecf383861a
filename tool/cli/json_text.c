/* json_text.c - see json_text.h. */
#include "cli/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "cli/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

char *json_text(const json_t *value, size_t flags)
{
    size_t size = value ? json_dumpb(value, NULL, 0, flags) : 0;
    char *text = size > 0 ? malloc(size + 1) : NULL;

    if (!text)
        return NULL;
    if (json_dumpb(value, text, size, flags) != size) {
        free(text);
        return NULL;
    }
    text[size] = '\0';
    return text;
}

json_t *utf8_string(const char *name)
{
    char *text = malloc(strlen(REPLACEMENT) * strlen(name) + 1), *to = text;
    json_t *string;

    if (!text)
        return NULL;
    while (*name) {
        size_t n = utf8_character(name);

        to = n ? mempcpy(to, name, n) : mempcpy(to, REPLACEMENT, strlen(REPLACEMENT));
        name += n ? n : 1;
    }
    *to = '\0';
    string = json_string(text);
    free(text);
    return string;
}
