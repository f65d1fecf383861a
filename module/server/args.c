/* args.c - see args.h. */
#include "server/args.h"

#include <string.h>
#include <strings.h>

bool arg_is(const struct rm_string *arg, const char *word)
{
    size_t size;
    const char *text = rm.StringPtrLen(arg, &size);

    return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

struct weir_bytes arg_bytes(const struct rm_string *arg)
{
    struct weir_bytes bytes;

    bytes.data = rm.StringPtrLen(arg, &bytes.size);
    return bytes;
}

bool arg_u64(const struct rm_string *arg, uint64_t *number)
{
    struct weir_bytes text = arg_bytes(arg);
    const char *digits = text.data;

    *number = 0;
    for (size_t i = 0; i < text.size; i++)
        if (digits[i] < '0' || digits[i] > '9' || __builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(digits[i] - '0'), number))
            return false;
    return text.size > 0;
}

bool arg_text(const struct rm_string *arg, char *text, size_t size)
{
    struct weir_bytes bytes = arg_bytes(arg);

    if (bytes.size >= size || memchr(bytes.data, '\0', bytes.size))
        return false;
    memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    return true;
}
