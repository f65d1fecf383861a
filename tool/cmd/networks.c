/* networks.c - see networks.h. A key costs 3 ns, a tenth of a build (8M keys into 8 MiB), so only
 * the first ones are looked at. */
#include "cmd/networks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/read_at.h"

#define LOOKED_AT 65536 /* keys, and bytes of a store's list */

/* ADDRESS/BITS, of IPv4 or IPv6. slash: how far from the end it is. */
static bool is_network(const char *key, size_t size, size_t slash)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr parsed;
    unsigned bits = 0;

    if (size - slash >= sizeof address)
        return false;
    for (const char *c = key + size - slash + 1; c < key + size; c++) {
        if (*c < '0' || *c > '9')
            return false;
        bits = bits * 10 + (unsigned)(*c - '0');
    }
    memcpy(address, key, size - slash);
    address[size - slash] = '\0';
    return (bits <= 32 && inet_pton(AF_INET, address, &parsed) == 1) ||
           (bits <= 128 && inet_pton(AF_INET6, address, &parsed) == 1);
}

static bool looks_like_network(const char *key, size_t size)
{
    for (size_t slash = 2; slash <= 4 && slash < size; slash++)
        if (key[size - slash] == '/')
            return is_network(key, size, slash);
    return false;
}

static void keep_first(struct networks *n, const char *name, uint64_t line, const char *key,
                       size_t size)
{
    n->name = name;
    n->line = line;
    snprintf(n->text, sizeof n->text, "%.*s", (int)size, key);
}

void networks_count(struct networks *n, const struct batch *b)
{
    for (uint32_t i = 0; i < b->n && n->looked_at < LOOKED_AT; i++) {
        n->looked_at++;
        if ((b->bads && b->bad[i]) || !looks_like_network(b->key[i].data, b->key[i].size))
            continue;
        if (n->count++ == 0)
            keep_first(n, b->name, batch_line(b, i), b->key[i].data, b->key[i].size);
    }
}

void networks_tell(const struct networks *n)
{
    unsigned long long line = n->line, others = n->count - 1;
    const char *at_least = n->looked_at == LOOKED_AT ? "at least " : "";

    if (n->count == 1)
        note("%s: line %llu \"%s\" is a network: only this text matches, not the addresses inside "
             "it; list them one by one",
             n->name, line, n->text);
    else if (n->count > 1)
        note("%s: line %llu \"%s\" and %s%llu more %s networks: only these texts match, not the "
             "addresses inside; list them one by one",
             n->name, line, n->text, at_least, others, others == 1 ? "key are" : "keys are");
}

void networks_tell_store(const char *url)
{
    static char text[LOOKED_AT + 1];
    const char *path = strncmp(url, "keys:", 5) == 0 ? url + 5 : url, *end;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t size = fd < 0 ? -1 : read_at(fd, text, LOOKED_AT, 0);
    struct networks n = {0};
    uint64_t line = 1;

    if (fd >= 0)
        close(fd);
    for (const char *at = text; size > 0 && (end = memchr(at, '\n', (size_t)(text + size - at)));
         at = end + 1, line++)
        if (looks_like_network(at, (size_t)(end - at)) && n.count++ == 0)
            keep_first(&n, path, line, at, (size_t)(end - at));
    networks_tell(&n);
}
