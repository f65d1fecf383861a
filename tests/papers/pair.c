/* pair.c - reads a real stream and a real set into a struct draw; see screen_runs.h.
 *
 * Keys are numbered in order of occurrence. Their names are in one arena, each after a byte that is
 * 1 for members. */
#include "papers/screen_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MOST (1u << 21)
#define SLOTS (2 * KEYS_MOST)
#define LONGEST 1024

struct reader {
    struct draw *d;
    uint32_t *slots; /* number + 1 of a key */
    size_t used, room;
};

/* The FNV hash (Fowler, Noll, Vo). */
static uint64_t hash(const char *name, size_t size)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < size; i++)
        h = (h ^ (uint8_t)name[i]) * UINT64_C(0x100000001b3);
    return h ^ h >> 32;
}

static bool is_name(const struct draw *d, uint32_t key, const char *name, size_t size)
{
    return d->names[key].size == size && memcmp(d->names[key].data, name, size) == 0;
}

static uint32_t number_of(struct reader *r, const char *name, size_t size)
{
    uint64_t at = hash(name, size) % SLOTS;

    while (r->slots[at] && !is_name(r->d, r->slots[at] - 1, name, size))
        at = (at + 1) % SLOTS;
    if (!r->slots[at]) {
        uint8_t *place = r->d->arena + r->used + 1;

        if (r->used + size + 1 > r->room || r->d->universe == KEYS_MOST)
            exit((fprintf(stderr, "more keys than there is room for\n"), 2));
        memcpy(place, name, size);
        r->d->names[r->d->universe] = (struct weir_bytes){place, size};
        r->used += size + 1;
        r->slots[at] = (uint32_t)++r->d->universe;
    }
    return r->slots[at] - 1;
}

static void add_member(struct reader *r, uint32_t key)
{
    ((uint8_t *)(uintptr_t)r->d->names[key].data)[-1] = 1;
}

static void add_record(struct reader *r, uint32_t key)
{
    struct draw *d = r->d;

    if ((d->n & (d->n - 1)) == 0) /* at powers of two */
        d->records = realloc(d->records, (d->n ? 2 * d->n : 1) * sizeof *d->records);
    d->records[d->n++] = key;
}

static bool read_file(struct reader *r, const char *folder, const char *file,
                      void (*add)(struct reader *r, uint32_t key))
{
    char command[4200], line[LONGEST];

    if (strchr(folder, '\''))
        return false;
    snprintf(command, sizeof command, "xz -dc '%s/%s' 2>/dev/null", folder, file);
    FILE *in = popen(command, "r");
    if (!in)
        return false;
    while (fgets(line, sizeof line, in))
        add(r, number_of(r, line, strcspn(line, "\t\n")));
    return pclose(in) == 0;
}

bool pair_open(struct draw *d, const char *folder, const char *query, const char *set)
{
    struct reader r = {.d = d, .room = (size_t)64 << 20};
    char queries[256], members[256];

    *d = (struct draw){.names = calloc(KEYS_MOST, sizeof *d->names), .arena = calloc(r.room, 1)};
    r.slots = calloc(SLOTS, sizeof *r.slots);
    snprintf(queries, sizeof queries, "%s.tsv.xz", query);
    snprintf(members, sizeof members, "%s.txt.xz", set);
    bool ok = read_file(&r, folder, queries, add_record) &&
              read_file(&r, folder, members, add_member) && d->n > 0;
    free(r.slots);
    if (!ok)
        draw_close(d);
    return ok;
}
