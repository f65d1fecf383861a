/* network.c - see network.h.
 *
 * The key of a network is its family (4 or 6), its length and its address, 6 or 18 bytes. This
 * format is documented in docs/format.md. */
#include "pick/network.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIX 64 /* lengths of IPv6 begin at this bit */
#define MAPPED 96
#define PREFIXES_LINE "\nprefixes="

/* ---- text ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* A decimal number without leading zeros; returns the character after it, or NULL. */
static const char *read_small(const char *at, const char *end, unsigned most, unsigned *number)
{
    const char *start = at;

    *number = 0;
    for (; at < end && at - start < 3 && *at >= '0' && *at <= '9'; at++)
        *number = *number * 10 + (unsigned)(*at - '0');
    return at > start && *number <= most && (*start != '0' || at == start + 1) ? at : NULL;
}

static bool read_four(const char *at, const char *end, uint8_t address[16])
{
    for (unsigned i = 0, part; i < 4; i++) {
        if (i > 0 && (at == end || *at++ != '.'))
            return false;
        at = read_small(at, end, 255, &part);
        if (!at)
            return false;
        address[i] = (uint8_t)part;
    }
    return at == end;
}

static bool read_six(const char *at, const char *end, uint8_t address[16])
{
    char copy[INET6_ADDRSTRLEN];
    size_t size;

    if (end - at > 1 && *at == '[' && end[-1] == ']') {
        at++;
        end--;
    }
    size = (size_t)(end - at);
    if (size >= sizeof copy || memchr(at, '\0', size))
        return false;
    memcpy(copy, at, size);
    copy[size] = '\0';
    return inet_pton(AF_INET6, copy, address) == 1;
}

/* Clear the bits after the prefix. True if one was set. */
static bool clear_rest(uint8_t *address, unsigned size, unsigned bits)
{
    bool cleared = false;

    for (unsigned i = bits / 8; i < size; i++) {
        uint8_t kept = (uint8_t)(i == bits / 8 ? 0xff00 >> bits % 8 : 0);

        cleared |= address[i] & (uint8_t)~kept;
        address[i] &= kept;
    }
    return cleared;
}

/* ::ffff:a.b.c.d is an IPv4 address. */
static void unmap(struct network *n)
{
    static const uint8_t mapped[MAPPED / 8] = {[10] = 0xff, [11] = 0xff};

    if (!n->six || n->bits < MAPPED || memcmp(n->address, mapped, sizeof mapped) != 0)
        return;
    memmove(n->address, n->address + sizeof mapped, 4);
    memset(n->address + 4, 0, sizeof mapped);
    n->six = false;
    n->bits = (uint8_t)(n->bits - MAPPED);
}

enum network_result network_parse(struct network *n, const char *text, size_t size)
{
    const char *end = text + size, *slash;
    unsigned bits;
    bool trimmed = size > 0 && (is_blank(*text) || is_blank(end[-1]));

    while (text < end && is_blank(*text))
        text++;
    while (end > text && is_blank(end[-1]))
        end--;
    slash = memchr(text, '/', (size_t)(end - text));
    *n = (struct network){.six = false};
    const char *address_end = slash ? slash : end;
    if (!read_four(text, address_end, n->address)) {
        n->six = true;
        if (!read_six(text, address_end, n->address))
            return NETWORK_INVALID;
    }
    bits = n->six ? 128 : 32;
    if (slash && read_small(slash + 1, end, bits, &bits) != end)
        return NETWORK_INVALID;
    n->bits = (uint8_t)bits;
    bool masked = clear_rest(n->address, n->six ? 16 : 4, bits);
    n->canonical = !n->six && !trimmed && !masked && (!slash || bits < 32);
    unmap(n);
    return masked ? NETWORK_MASKED : NETWORK_FINE;
}

size_t network_print(const struct network *n, char to[NETWORK_TEXT])
{
    inet_ntop(n->six ? AF_INET6 : AF_INET, n->address, to, NETWORK_TEXT); /* slow: 0.2 us */
    size_t size = strlen(to);
    if (n->bits < (n->six ? 128 : 32))
        size += (size_t)snprintf(to + size, NETWORK_TEXT - size, "/%u", n->bits);
    return size;
}

struct network_range network_range(const struct network *n)
{
    struct network_range range;

    memcpy(range.first, n->address, sizeof range.first);
    memcpy(range.last, n->address, sizeof range.last);
    for (unsigned i = n->bits; i < (n->six ? 128 : 32); i++)
        range.last[i / 8] |= (uint8_t)(0x80 >> i % 8);
    return range;
}

/* ---- prefix lengths ---- */

static unsigned number_of(const struct network *n)
{
    return n->six ? SIX + n->bits : n->bits;
}

uint32_t prefixes_count(const struct prefix_lengths *p)
{
    int four = __builtin_popcountll(p->bits[0]), six = 0;

    for (unsigned i = 1; i < 4; i++)
        six += __builtin_popcountll(p->bits[i]);
    return (uint32_t)(four > six ? four : six);
}

double prefixes_error(const struct prefix_lengths *p, double error)
{
    return -expm1(prefixes_count(p) * log1p(-error));
}

void prefixes_join(struct prefix_lengths *p, const struct prefix_lengths *other)
{
    for (unsigned i = 0; i < 4; i++)
        p->bits[i] |= other->bits[i];
}

static bool has(const struct prefix_lengths *p, unsigned number)
{
    return p->bits[number / 64] >> number % 64 & 1;
}

void prefixes_print(const struct prefix_lengths *p, char text[PREFIXES_TEXT])
{
    char *to = text;

    *to = '\0';
    for (unsigned family = 4, from = 0; family <= 6; family += 2, from = SIX) {
        char separator = ':';

        for (unsigned i = 0; i <= (family == 4 ? 32 : 128); i++) {
            if (!has(p, from + i))
                continue;
            if (separator == ':')
                to += sprintf(to, "%s%u", to > text ? " " : "", family);
            to += sprintf(to, "%c%u", separator, i);
            separator = ',';
        }
    }
}

void prefixes_write(const struct prefix_lengths *p, char *note, size_t room)
{
    char text[PREFIXES_TEXT], *line = strstr(note, PREFIXES_LINE);
    size_t used = line ? (size_t)(line - note) : strlen(note);

    prefixes_print(p, text);
    snprintf(note + used, room - used, PREFIXES_LINE "%s", text);
}

bool prefixes_read(struct prefix_lengths *p, const char *note)
{
    const char *at = strstr(note, PREFIXES_LINE), *end;
    unsigned family = 0, number = 0;

    *p = (struct prefix_lengths){{0}};
    if (!at)
        return false;
    at += strlen(PREFIXES_LINE);
    for (end = at + strcspn(at, "\n"); at < end; at++) {
        if (end - at > 1 && (*at == '4' || *at == '6') && at[1] == ':') {
            family = (unsigned)(*at - '0');
            at += 2;
        }
        at = family ? read_small(at, end, family == 4 ? 32 : 128, &number) : NULL;
        if (!at || (at < end && *at != ',' && *at != ' '))
            return false;
        number += family == 6 ? SIX : 0;
        p->bits[number / 64] |= (uint64_t)1 << number % 64;
    }
    return true;
}

/* ---- batches ---- */

static size_t make_key(const struct network *n, uint8_t key[NETWORK_KEY])
{
    size_t size = n->six ? 16 : 4;

    key[0] = n->six ? 6 : 4;
    key[1] = n->bits;
    memcpy(key + 2, n->address, size);
    return size + 2;
}

void networks_convert(struct prefix_lengths *p, struct batch *b)
{
    struct prefix_lengths found = {{0}};
    uint8_t(*key)[NETWORK_KEY] = arena_array(&b->arena, b->n ? b->n : 1, sizeof *key);

    if (!key) {
        batch_fault(b, 0, false, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        struct network n;

        if ((b->bads && b->bad[i]) ||
            network_parse(&n, b->key[i].data, b->key[i].size) == NETWORK_INVALID)
            continue;
        unsigned number = number_of(&n);
        found.bits[number / 64] |= (uint64_t)1 << number % 64;
        b->key[i] = (struct weir_bytes){key[i], make_key(&n, key[i])};
    }
    for (unsigned i = 0; i < 4; i++)
        __atomic_fetch_or(&p->bits[i], found.bits[i], __ATOMIC_RELAXED);
}

void networks_look_up(struct network_lookups *l, const struct prefix_lengths *p,
                      const struct weir_bytes *key, uint32_t record, void (*full)(void *context),
                      void *context)
{
    struct network n;

    if (network_parse(&n, key->data, key->size) == NETWORK_INVALID)
        return;
    for (unsigned number = number_of(&n) + 1, least = n.six ? SIX : 0; number-- > least;) {
        if (!has(p, number))
            continue;
        n.bits = (uint8_t)(number - least);
        clear_rest(n.address, n.six ? 16 : 4, n.bits);
        l->key[l->n] = (struct weir_bytes){l->data[l->n], make_key(&n, l->data[l->n])};
        l->record[l->n] = record;
        if (++l->n == NETWORK_LOOKUPS)
            full(context);
    }
}
