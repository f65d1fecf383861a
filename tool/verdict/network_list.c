/* network_list.c - see network_list.h. Two networks are nested or disjoint. So the outermost ones,
 * sorted, answer by binary search: a lookup takes O(log n), a network 32 bytes. */
#include "verdict/network_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "pick/network.h"

struct ranges {
    struct network_range *at;
    size_t n, room;
};

struct network_list {
    struct ranges family[2]; /* IPv4 and IPv6 */
};

static void close_list(void *set)
{
    struct network_list *l = set;

    if (l)
        for (int i = 0; i < 2; i++)
            free(l->family[i].at);
    free(l);
}

static bool add(struct ranges *r, const struct network *n)
{
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 1024;
        struct network_range *at = realloc(r->at, room * sizeof *at);

        if (!at)
            return false;
        r->at = at;
        r->room = room;
    }
    r->at[r->n++] = network_range(n);
    return true;
}

static bool is_before(const uint8_t a[16], const uint8_t b[16])
{
    return memcmp(a, b, 16) < 0;
}

/* Outer networks before those inside them. */
static int compare(const void *a, const void *b)
{
    const struct network_range *p = a, *q = b;
    int order = memcmp(p->first, q->first, sizeof p->first);

    return order ? order : memcmp(q->last, p->last, sizeof p->last);
}

static void keep_outermost(struct ranges *r)
{
    size_t n = 0;

    if (r->n)
        qsort(r->at, r->n, sizeof *r->at, compare);
    for (size_t i = 0; i < r->n; i++)
        if (n == 0 || is_before(r->at[n - 1].last, r->at[i].first))
            r->at[n++] = r->at[i];
    r->n = n;
}

/* One line of the file. */
static bool add_line(struct network_list *l, struct network_list_counts *c, const char *line,
                     size_t size, uint64_t number, struct store_why why)
{
    struct network n;
    enum network_result result = network_parse(&n, line, size);

    if (result == NETWORK_INVALID && c->records->skip) {
        if (c->skipped++ == 0)
            c->skipped_line = number;
        return true;
    }
    if (result == NETWORK_INVALID) {
        snprintf(why.text, why.size,
                 "line %llu: '%.*s' is not an IP address or network; --on-error skip leaves out "
                 "such lines",
                 (unsigned long long)number, (int)(size < 60 ? size : 60), line);
        return false;
    }
    if (result == NETWORK_MASKED && c->masked++ == 0)
        c->masked_line = number;
    c->networks++;
    if (add(&l->family[n.six], &n))
        return true;
    snprintf(why.text, why.size, "out of memory");
    return false;
}

static void *open_list(const void *how, const char *text, size_t size, struct store_why why)
{
    struct network_list_counts *c = (struct network_list_counts *)(uintptr_t)how;
    struct network_list *l = calloc(1, sizeof *l);
    const char *end = text + size, *next;
    char line_end = c->records->nul ? '\0' : '\n';
    uint64_t number = 0;
    bool ok = l != NULL;

    *c = (struct network_list_counts){.records = c->records};
    for (const char *at = text; ok && at < end; at = next + 1) {
        next = memchr(at, line_end, (size_t)(end - at));
        next = next ? next : end;
        ok = add_line(l, c, at, (size_t)(next - at), ++number, why);
    }
    if (!ok) {
        close_list(l);
        return NULL;
    }
    keep_outermost(&l->family[0]);
    keep_outermost(&l->family[1]);
    return l;
}

static bool contains(const void *set, struct weir_bytes key)
{
    const struct network_list *l = set;
    struct network n;

    if (network_parse(&n, key.data, key.size) == NETWORK_INVALID)
        return false;
    const struct ranges *r = &l->family[n.six];
    struct network_range asked = network_range(&n);
    size_t from = 0, to = r->n;
    while (from < to) { /* the last range that begins at or before it is before `from` */
        size_t middle = from + (to - from) / 2;

        if (is_before(asked.first, r->at[middle].first))
            to = middle;
        else
            from = middle + 1;
    }
    return from > 0 && !is_before(r->at[from - 1].last, asked.last);
}

const struct store_set network_list_set = {open_list, contains, close_list};

void network_list_tell(const struct network_list_counts *c, const char *name)
{
    if (c->skipped)
        note("%s: %llu line%s left out, first line %llu", name, (unsigned long long)c->skipped,
             c->skipped == 1 ? "" : "s", (unsigned long long)c->skipped_line);
    if (c->masked)
        note("%s: %llu network%s had bits after the prefix, which were cleared, first at line %llu",
             name, (unsigned long long)c->masked, c->masked == 1 ? "" : "s",
             (unsigned long long)c->masked_line);
}
