/* cursor.c - see cursor.h. */
#include "value/cursor.h"

#include <stdio.h>
#include <string.h>

#include "server/args.h"

void cursor_write(char text[CURSOR_SIZE], uint64_t offset, uint64_t version, uint64_t total,
                  uint64_t chunks)
{
    int n = snprintf(text, CURSOR_SIZE, "%llu-%llu", (unsigned long long)offset,
                     (unsigned long long)version);

    if (total > 0)
        snprintf(text + n, CURSOR_SIZE - (size_t)n, "-%llu-%llu", (unsigned long long)total,
                 (unsigned long long)chunks);
}

static bool number(const char **at, uint64_t *value)
{
    const char *from = *at;

    for (*value = 0; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(**at - '0'), value))
            return false;
    return *at > from;
}

bool cursor_read(const struct rm_string *arg, struct cursor *c)
{
    uint64_t *const fields[] = {&c->offset, &c->version, &c->total, &c->chunks};
    char text[CURSOR_SIZE];
    const char *at = text;

    *c = (struct cursor){0};
    if (!arg_text(arg, text, sizeof text))
        return false;
    for (int i = 0; i < 4; i++) {
        if (!number(&at, fields[i]))
            return false;
        if (*at != '-')
            break;
        at++;
    }
    return *at == '\0';
}

/* ---- the head of BF.SCANDUMP ---- */

#define HEAD_WORD "weirbf1" /* 8 bytes with its end, then the total in 8 */

void cursor_head(uint8_t head[HEAD_SIZE], uint64_t total)
{
    memcpy(head, HEAD_WORD, 8);
    for (int i = 0; i < 8; i++)
        head[8 + i] = (uint8_t)(total >> 8 * i);
}

bool cursor_is_head(const uint8_t *data, size_t size, uint64_t *total)
{
    *total = 0;
    if (size != HEAD_SIZE || memcmp(data, HEAD_WORD, 8) != 0)
        return false;
    for (int i = 7; i >= 0; i--)
        *total = *total << 8 | data[8 + i];
    return *total > 0;
}

void cursor_rewrite_head(struct rm_io *io, struct rm_string *key, uint64_t version, uint64_t total)
{
    uint8_t head[HEAD_SIZE];

    cursor_head(head, total);
    rm.EmitAOF(io, "BF.LOADCHUNK", "slb", key, (long long)(version << 32 | 1), (const char *)head,
               sizeof head);
}
