/* once.c - see once.h. */
#include "filter/once.h"

#include <string.h>
#include <weir/hash.h>

#include "server/server.h"
#include "value/image.h"

#define NUMBERS 16
#define PRODUCERS 1024

struct answer {
    uint64_t number, print;
    uint32_t n;
    uint8_t *bits;
};

struct producer {
    uint64_t hash, used; /* used: the clock at its last request */
    uint32_t name_size, count;
    struct answer answers[NUMBERS]; /* lowest number first */
    char name[ONCE_NAME];
};

struct once {
    uint64_t floor; /* above every number of an evicted producer; 0: none was evicted */
    uint64_t clock;
    uint64_t bytes; /* of memory, as the allocator counts it, without this structure */
    uint32_t n;
    struct producer *list[PRODUCERS];
};

static uint64_t hash_of(struct weir_bytes name)
{
    return weir_hash_bytes(WEIR_HASH_XXH3, 0, name.data, name.size).lo;
}

static struct producer *find(const struct once *o, struct weir_bytes name)
{
    uint64_t hash = hash_of(name);

    for (uint32_t i = 0; o && i < o->n; i++) {
        struct producer *p = o->list[i];

        if (p->hash == hash && p->name_size == name.size &&
            memcmp(p->name, name.data, name.size) == 0)
            return p;
    }
    return NULL;
}

enum once_state once_look(const struct once *o, const struct once_command *c,
                          const uint8_t **answers, uint64_t *limit)
{
    const struct producer *p = find(o, c->producer);
    bool below = o && c->number < o->floor;

    if (!p) {
        *limit = below ? o->floor - 1 : 0;
        return below ? ONCE_GONE : ONCE_FRESH;
    }
    for (uint32_t i = 0; i < p->count; i++) {
        const struct answer *a = &p->answers[i];

        if (a->number == c->number) {
            *answers = a->bits;
            return a->print == c->print && a->n == c->n ? ONCE_KNOWN : ONCE_OTHER;
        }
    }
    if (c->number > p->answers[0].number || (p->count < NUMBERS && !below))
        return ONCE_FRESH;
    *limit = p->answers[p->count - 1].number;
    return ONCE_GONE; /* or applied before the producer was evicted and returned */
}

/* ---- keeping ---- */

static void free_producer(struct producer *p)
{
    for (uint32_t i = 0; p && i < p->count; i++)
        server_give(p->answers[i].bits);
    server_give(p);
}

static size_t bytes_of(uint32_t n)
{
    return n / 8 + 1;
}

static uint64_t memory_of(struct producer *p)
{
    uint64_t bytes = server_bytes(p);

    for (uint32_t i = 0; i < p->count; i++)
        bytes += server_bytes(p->answers[i].bits);
    return bytes;
}

/* A place in the list: the next, or that of the producer that was silent longest. */
static struct producer **place(struct once *o)
{
    struct producer **oldest = &o->list[0];

    if (o->n < PRODUCERS)
        return &o->list[o->n++];
    for (uint32_t i = 1; i < PRODUCERS; i++)
        if (o->list[i]->used < (*oldest)->used)
            oldest = &o->list[i];
    uint64_t above = (*oldest)->answers[(*oldest)->count - 1].number + 1;
    o->floor = above > o->floor ? above : o->floor;
    o->bytes -= memory_of(*oldest);
    free_producer(*oldest);
    return oldest;
}

static struct producer *new_producer(struct weir_bytes name)
{
    struct producer *p = server_take(sizeof *p);

    if (!p)
        return NULL;
    p->hash = hash_of(name);
    p->name_size = (uint32_t)name.size;
    memcpy(p->name, name.data, name.size);
    return p;
}

static void insert(struct once *o, struct producer *p, struct answer a)
{
    uint32_t at;

    o->bytes += server_bytes(a.bits);
    if (p->count == NUMBERS) {
        o->bytes -= server_bytes(p->answers[0].bits);
        server_give(p->answers[0].bits);
        memmove(&p->answers[0], &p->answers[1], (NUMBERS - 1) * sizeof a);
        p->count--;
    }
    at = p->count++;
    for (; at > 0 && p->answers[at - 1].number > a.number; at--)
        p->answers[at] = p->answers[at - 1];
    p->answers[at] = a;
}

uint8_t *once_begin(struct once **o, const struct once_command *c)
{
    struct producer *known = find(*o, c->producer), *p = known;
    struct answer a = {c->number, c->print, c->n, server_take(bytes_of(c->n))};

    if (!*o)
        *o = server_take(sizeof **o);
    if (!p)
        p = new_producer(c->producer);
    if (!*o || !p || !a.bits) {
        server_give(a.bits);
        server_give(known ? NULL : p);
        return NULL;
    }
    if (!known) {
        *place(*o) = p;
        (*o)->bytes += server_bytes(p);
    }
    p->used = ++(*o)->clock;
    insert(*o, p, a);
    return a.bits;
}

void once_free(struct once *o)
{
    for (uint32_t i = 0; o && i < o->n; i++)
        free_producer(o->list[i]);
    server_give(o);
}

size_t once_memory(const struct once *o)
{
    return o ? sizeof *o + o->bytes : 0;
}

size_t once_producers(const struct once *o)
{
    return o ? o->n : 0;
}

/* ---- a part of the image: numbers of 8 bytes, names and answers as they are ---- */

static void put_producer(struct bytes_out *out, const struct producer *p)
{
    put_number(out, p->used);
    put_number(out, p->name_size);
    put_bytes(out, p->name, p->name_size);
    put_number(out, p->count);
    for (uint32_t i = 0; i < p->count; i++) {
        put_number(out, p->answers[i].number);
        put_number(out, p->answers[i].print);
        put_number(out, p->answers[i].n);
        put_bytes(out, p->answers[i].bits, bytes_of(p->answers[i].n));
    }
}

static struct bytes_out body_of(const struct once *o)
{
    struct bytes_out out = {0};

    put_number(&out, o->floor);
    put_number(&out, o->clock);
    put_number(&out, o->n);
    for (uint32_t i = 0; i < o->n; i++)
        put_producer(&out, o->list[i]);
    return out;
}

bool once_write(const struct once *o, weir_sink sink, void *context)
{
    struct bytes_out out = body_of(o);

    return put_part(&out, PART_ONCE, sink, context);
}

static bool get_answer(struct weir_bytes *in, struct producer *p)
{
    struct answer a = {0};
    uint64_t n;

    if (!get_number(in, &a.number) || !get_number(in, &a.print) || !get_number(in, &n) ||
        n > ONCE_ITEMS || in->size < bytes_of((uint32_t)n) ||
        (p->count > 0 && p->answers[p->count - 1].number >= a.number))
        return false;
    a.n = (uint32_t)n;
    a.bits = server_take(bytes_of(a.n));
    if (!a.bits)
        return false;
    get_bytes(in, a.bits, bytes_of(a.n));
    p->answers[p->count++] = a;
    return true;
}

static bool get_producer(struct weir_bytes *in, struct once *o)
{
    struct weir_bytes name;
    uint64_t used, size, count;
    struct producer *p;

    if (!get_number(in, &used) || !get_number(in, &size) || size > ONCE_NAME || size > in->size)
        return false;
    name = (struct weir_bytes){in->data, size};
    if (find(o, name) || !(p = new_producer(name)))
        return false;
    o->list[o->n++] = p;
    p->used = used;
    get_bytes(in, NULL, size);
    if (!get_number(in, &count) || count == 0 || count > NUMBERS || used > o->clock)
        return false;
    while (p->count < count)
        if (!get_answer(in, p))
            return false;
    o->bytes += memory_of(p);
    return true;
}

struct once *once_read(struct weir_bytes body, struct weir_error *error)
{
    struct once *o = server_take(sizeof *o);
    uint64_t n = 0;
    bool good = o && get_number(&body, &o->floor) && get_number(&body, &o->clock) &&
                get_number(&body, &n) && n <= PRODUCERS;

    while (good && o->n < n)
        good = get_producer(&body, o);
    if (good && body.size == 0)
        return o;
    if (o)
        image_refuse(error, "the list of producers is invalid");
    else
        image_no_memory(error);
    once_free(o);
    return NULL;
}

struct once *once_copy(const struct once *from)
{
    struct bytes_out out = body_of(from);
    struct weir_error error;
    struct once *o = out.failed ? NULL : once_read((struct weir_bytes){out.data, out.size}, &error);

    server_give(out.data);
    return o;
}
