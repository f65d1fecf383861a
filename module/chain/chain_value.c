/* chain_value.c - reading, writing and copying a chain: see chain.h.
 *
 * The image of a chain is a part with the numbers of all filters, then the filters. A chain from
 * RedisBloom is written in RedisBloom's order of fields (redisbloom.h). */
#include <string.h>

#include "chain/chain.h"
#include "server/server.h"
#include "value/image.h"
#include "value/value.h"

#define LINK_SIZE 24 /* bytes of a filter's numbers: capacity, items, error */

/* A rate above 0, up to 1. */
static bool get_rate(struct weir_bytes *in, double *rate)
{
    return get_double(in, rate) && *rate > 0 && *rate <= 1;
}

static bool write(const struct value *v, weir_sink sink, void *context)
{
    const struct chain *c = (const struct chain *)v;
    struct bytes_out head = {0};
    bool good;

    put_number(&head, c->expansion);
    put_double(&head, c->error);
    put_double(&head, c->tightening);
    put_number(&head, c->deleted);
    put_number(&head, c->asked);
    put_number(&head, c->bucket_size);
    put_number(&head, c->moves);
    put_number(&head, c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        put_number(&head, c->links[i].capacity);
        put_number(&head, c->links[i].items);
        put_double(&head, c->links[i].error);
    }
    good = put_part(&head, c->cuckoo ? PART_CUCKOO : PART_BLOOM, sink, context);
    for (uint32_t i = 0; good && i < c->n; i++)
        good = image_passes(sink, context, weir_saved_size(c->links[i].filter)) ||
               weir_save_stream(c->links[i].filter, sink, context, NULL) == WEIR_OK;
    return good;
}

/* ---- reading ---- */

static bool read_link(struct weir_bytes *in, struct link *link)
{
    return get_number(in, &link->capacity) && get_number(in, &link->items) &&
           get_rate(in, &link->error) && link->capacity > 0 && link->items <= link->capacity;
}

/* *n filters will follow. Their sums must not overflow. */
static bool read_links(struct chain *c, struct weir_bytes *in, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct link *link = &c->links[i];

        if (!read_link(in, link) ||
            __builtin_add_overflow(c->capacity, link->capacity, &c->capacity))
            return false;
        c->items += link->items;
        c->largest = link->capacity > c->largest ? link->capacity : c->largest;
    }
    return true;
}

static bool arguments_are_valid(const struct chain *c)
{
    if (c->cuckoo)
        return c->bucket_size >= 1 && c->bucket_size <= 255 && c->moves >= 1 && c->moves <= 65535 &&
               c->asked >= 2 * c->bucket_size && c->asked <= UINT64_C(1) << 40;
    return c->bucket_size == 0 && c->moves == 0;
}

static struct chain *read_head(struct weir_bytes in, bool cuckoo, uint32_t *n)
{
    struct chain *c = server_take(sizeof *c);
    uint64_t links = 0;

    if (c && get_number(&in, &c->expansion) && c->expansion <= 32768 && get_rate(&in, &c->error) &&
        get_rate(&in, &c->tightening) && get_number(&in, &c->deleted) &&
        get_number(&in, &c->asked) && get_number(&in, &c->bucket_size) &&
        get_number(&in, &c->moves) && get_number(&in, &links) && links >= 1 &&
        links == in.size / LINK_SIZE && in.size % LINK_SIZE == 0 &&
        (c->expansion > 0 || links == 1) && (c->links = server_take(links * sizeof *c->links)) &&
        read_links(c, &in, links)) {
        c->cuckoo = cuckoo;
        c->is.family = cuckoo ? &family_cuckoo : &family_bloom;
        c->room = *n = (uint32_t)links;
        c->is.bytes = server_bytes(c) + server_bytes(c->links);
        if (arguments_are_valid(c))
            return c;
    }
    if (c)
        chain_close(c);
    return NULL;
}

/* Items are hashed once for all filters, so these must have the same seed and hash function. Each
 * must support what the commands need. */
static bool fits(const struct chain *c, const char *spec)
{
    uint64_t needed = c->cuckoo ? WEIR_CAN_OBSERVE | WEIR_CAN_FORGET : WEIR_CAN_OBSERVE;
    char first[WEIR_SPEC_MAX], a[32], b[32];
    uint64_t traits = 0;

    weir_spec_traits(WEIR_KIND_FILTER, spec, &traits, NULL);
    if ((traits & needed) != needed)
        return false;
    weir_config(c->links[0].filter, first, sizeof first);
    weir_spec_get(first, "hash", a, sizeof a);
    weir_spec_get(spec, "hash", b, sizeof b);
    return spec_seed(first) == spec_seed(spec) && strcmp(a, b) == 0;
}

static bool read_filters(struct image_in *in, struct chain *c, uint32_t n, struct weir_error *error)
{
    char spec[WEIR_SPEC_MAX];

    for (; c->n < n; c->n++) {
        struct link *l = &c->links[c->n];

        image_refuse(error, "a filter of the chain is missing");
        if (image_kind(in) != WEIR_PART_FILTER ||
            filter_load(&l->filter, image_get, in, in->most, &l->bytes, error) != WEIR_OK)
            return false;
        c->is.bytes += l->bytes;
        weir_config(l->filter, spec, sizeof spec);
        if (!fits(c, spec)) {
            weir_close(l->filter);
            image_refuse(error, "the filters of the chain do not match");
            return false;
        }
    }
    c->seed = spec_seed(spec);
    return true;
}

static struct value *read(const struct family *family, struct image_in *in,
                          struct weir_error *error)
{
    bool cuckoo = family == &family_cuckoo;
    uint32_t n;
    struct weir_bytes body;
    void *head = image_head(in, cuckoo ? PART_CUCKOO : PART_BLOOM, &body, error);
    struct chain *c;

    if (!head) {
        image_refuse(error, "not a value of BF.* or CF.*");
        return NULL;
    }
    c = read_head(body, cuckoo, &n);
    server_give(head);
    if (!c)
        image_refuse(error, "the head of the chain is invalid");
    else if (read_filters(in, c, n, error))
        return &c->is;
    else
        chain_close(c);
    return NULL;
}

/* ---- chains from RedisBloom ---- */

/* The next filter: a new one to read into, or that of the chain to write. */
static bool pass_bloom_link(struct archive *a, struct chain *c, struct link *l)
{
    uint64_t bits = 8 * l->size;

    archive_number(a, &l->capacity);
    archive_double(a, &l->error);
    archive_number(a, &l->hashes);
    archive_double(a, &l->bits_per_item);
    archive_number(a, &bits);
    archive_number(a, &l->exponent);
    if (a->reading && !a->failed) {
        l->size = bits / 8;
        l->places = l->exponent > 0 ? UINT64_C(1) << (l->exponent & 63) : bits;
        a->failed = bits % 8 != 0 || !import_check(c, l);
    }
    return archive_block(a, &l->cells, l->size) && archive_number(a, &l->items);
}

static bool pass_bloom(struct archive *a, struct value *v)
{
    struct chain *c = (struct chain *)v;
    uint64_t n = c->n, items = c->items;

    import_begin(c, false);
    archive_number(a, &items);
    archive_number(a, &n);
    archive_number(a, &c->options);
    archive_number(a, &c->growth);
    if (a->reading) {
        c->expansion = c->options & 8 ? 0 : c->growth > 0 ? c->growth : 1;
        a->failed =
            a->failed || n == 0 || n > UINT32_MAX || c->options > 15 || c->growth > UINT32_MAX;
    }
    for (uint64_t i = 0; i < n && !a->failed; i++) {
        struct link fresh = {0};

        if (!a->reading)
            pass_bloom_link(a, c, &c->links[i]);
        else if (!pass_bloom_link(a, c, &fresh))
            server_give(fresh.cells);
        else
            a->failed = !import_append(c, fresh);
    }
    return !a->failed && c->items == items;
}

static bool is_power_of_two(uint64_t number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

bool import_cuckoo_check(const struct chain *c, uint64_t n)
{
    return n >= 1 && n <= UINT16_MAX && is_power_of_two(c->asked) && c->asked < UINT64_C(1) << 56 &&
           c->bucket_size >= 1 && c->bucket_size <= UINT8_MAX && c->moves >= 1 &&
           c->moves <= UINT16_MAX && c->growth <= 32768 &&
           (c->growth > 0 ? is_power_of_two(c->growth) : n == 1);
}

static bool pass_cuckoo(struct archive *a, struct value *v)
{
    struct chain *c = (struct chain *)v;
    uint64_t n = c->n;

    import_begin(c, true);
    archive_number(a, &n);
    archive_number(a, &c->asked);
    archive_number(a, &c->items);
    archive_number(a, &c->deleted);
    archive_number(a, &c->bucket_size);
    archive_number(a, &c->moves);
    archive_number(a, &c->growth);
    c->expansion = c->growth;
    a->failed = a->failed || !import_cuckoo_check(c, n);
    for (uint64_t i = 0; i < n && !a->failed; i++) {
        struct link l = a->reading ? (struct link){0} : c->links[i];
        uint64_t buckets = l.places;

        archive_number(a, &buckets);
        if (a->reading)
            a->failed = a->failed || !import_size(c, i, &l) || buckets != l.places;
        if (!archive_block(a, &l.cells, l.size) && a->reading)
            server_give(l.cells);
        else if (a->reading)
            a->failed = !import_append(c, l);
    }
    return !a->failed;
}

/* ---- copies and memory ---- */

static bool copy_link(struct link *l, const struct link *from)
{
    *l = *from;
    if (from->filter)
        return (l->filter = weir_clone(from->filter, NULL));
    return (l->cells = server_copy(from->cells, from->size));
}

static struct value *copy(const struct value *v)
{
    const struct chain *from = (const struct chain *)v;
    struct chain *c = server_take(sizeof *c);

    if (!c)
        return NULL;
    value_copy_structure(&c->is, v);
    c->n = 0;
    c->room = from->n;
    c->links = server_take(from->n * sizeof *c->links);
    while (c->links && c->n < from->n && copy_link(&c->links[c->n], &from->links[c->n]))
        c->n++;
    if (c->links && c->n == from->n)
        return &c->is;
    chain_close(c);
    return NULL;
}

static void free_chain(struct value *v)
{
    chain_close((struct chain *)v);
}

static bool move(struct value *v, struct rm_defrag *ctx, unsigned long *cursor)
{
    struct chain *c = (struct chain *)v;
    void *moved = *cursor == 0 ? rm.DefragAlloc(ctx, c->links) : NULL;

    c->links = moved ? moved : c->links;
    for (; *cursor < c->n; ++*cursor) {
        struct link *l = &c->links[*cursor];

        if (l->cells && (moved = rm.DefragAlloc(ctx, l->cells)))
            l->cells = moved;
        if (*cursor % 64 == 63 && rm.DefragShouldStop(ctx)) {
            ++*cursor;
            return false;
        }
    }
    return true;
}

#define CHAIN_FAMILY(name, ...)                                                                    \
    const struct family name = {                                                                   \
        .size = sizeof(struct chain), .copy = copy, .free = free_chain, .move = move, __VA_ARGS__}

#define OWN_FAMILY(name, ...)                                                                      \
    CHAIN_FAMILY(name, .encoding = IMAGE_ENCODING, .write = write, .read = read, __VA_ARGS__)
#define IMPORTED_FAMILY(name, ...)                                                                 \
    CHAIN_FAMILY(name, .encoding = 4, .write = archive_write, .read = archive_read, __VA_ARGS__)

OWN_FAMILY(family_bloom, .type = "weirbloom", .part = PART_BLOOM,
           .imported = &family_imported_bloom);
OWN_FAMILY(family_cuckoo, .type = "weircucko", .part = PART_CUCKOO,
           .imported = &family_imported_cuckoo);
IMPORTED_FAMILY(family_imported_bloom, .type = "MBbloom--", .pass = pass_bloom,
                .part = PART_IMPORTED_BLOOM);
IMPORTED_FAMILY(family_imported_cuckoo, .type = "MBbloomCF", .pass = pass_cuckoo,
                .part = PART_IMPORTED_CUCKOO);
