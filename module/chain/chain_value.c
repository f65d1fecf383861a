/* chain_value.c - a chain as a value, of either family: how it is written, read and copied. Its
 * image is a head with the numbers of all links, and after it the filter of each. */
#include <string.h>

#include "chain/chain.h"
#include "server/server.h"
#include "value/image.h"
#include "value/value.h"

#define LINK_SIZE 24 /* of a link in the head: capacity, items, error */

static uint64_t bits_of(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* A rate above 0, up to 1. */
static bool get_rate(struct weir_bytes *in, double *rate)
{
    uint64_t bits;

    if (!get_number(in, &bits))
        return false;
    memcpy(rate, &bits, sizeof bits);
    return *rate > 0 && *rate <= 1;
}

static bool write(const struct value *v, weir_sink sink, void *context)
{
    const struct chain *c = (const struct chain *)v;
    struct bytes_out head = {0};
    bool good;

    put_number(&head, c->expansion);
    put_number(&head, bits_of(c->error));
    put_number(&head, bits_of(c->tightening));
    put_number(&head, c->deleted);
    put_number(&head, c->asked);
    put_number(&head, c->bucket_size);
    put_number(&head, c->moves);
    put_number(&head, c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        put_number(&head, c->links[i].capacity);
        put_number(&head, c->links[i].items);
        put_number(&head, bits_of(c->links[i].error));
    }
    good =
        put_part(&head, c->is.family == &family_cuckoo ? PART_CUCKOO : PART_BLOOM, sink, context);
    for (uint32_t i = 0; good && i < c->n; i++)
        good = image_passes(sink, context, weir_saved_size(c->links[i].w)) ||
               weir_save_stream(c->links[i].w, sink, context, NULL) == WEIR_OK;
    return good;
}

/* ---- reading ---- */

static bool read_link(struct weir_bytes *in, struct link *link)
{
    return get_number(in, &link->capacity) && get_number(in, &link->items) &&
           get_rate(in, &link->error) && link->capacity > 0 && link->items <= link->capacity;
}

/* *n links are to come. */
static struct chain *read_head(struct weir_bytes in, uint32_t *n)
{
    struct chain *c = server_take(sizeof *c);
    uint64_t links = 0;
    bool good = c && get_number(&in, &c->expansion) && c->expansion <= 32768 &&
                get_rate(&in, &c->error) && get_rate(&in, &c->tightening) &&
                get_number(&in, &c->deleted) && get_number(&in, &c->asked) &&
                get_number(&in, &c->bucket_size) && get_number(&in, &c->moves) &&
                get_number(&in, &links) && links >= 1 && links == in.size / LINK_SIZE &&
                in.size % LINK_SIZE == 0 && (c->expansion > 0 || links == 1) &&
                (c->links = server_take(links * sizeof *c->links));

    for (uint64_t i = 0; good && i < links; i++)
        good = read_link(&in, &c->links[i]);
    *n = (uint32_t)links;
    if (good)
        return c;
    if (c)
        chain_close(c);
    return NULL;
}

/* Keys are hashed once for all links, and each must do what the commands ask of it. */
static bool fits(const struct chain *c, const char *spec)
{
    uint64_t needed =
        c->is.family == &family_cuckoo ? WEIR_CAN_OBSERVE | WEIR_CAN_FORGET : WEIR_CAN_OBSERVE;
    char first[WEIR_SPEC_MAX], a[32], b[32];
    uint64_t traits = 0;

    weir_spec_traits(WEIR_KIND_FILTER, spec, &traits, NULL);
    if ((traits & needed) != needed)
        return false;
    weir_config(c->links[0].w, first, sizeof first);
    weir_spec_get(first, "hash", a, sizeof a);
    weir_spec_get(spec, "hash", b, sizeof b);
    return spec_seed(first) == spec_seed(spec) && strcmp(a, b) == 0;
}

static bool read_filters(struct image_in *in, struct chain *c, uint32_t n, struct weir_error *error)
{
    char spec[WEIR_SPEC_MAX];

    for (; c->n < n; c->n++) {
        image_refuse(error, "a filter of the chain is missing");
        if (image_kind(in) != WEIR_PART_FILTER ||
            filter_load(&c->links[c->n].w, image_get, in, in->most, error) != WEIR_OK)
            return false;
        weir_config(c->links[c->n].w, spec, sizeof spec);
        if (!fits(c, spec)) {
            weir_close(c->links[c->n].w);
            image_refuse(error, "the filters of the chain do not match");
            return false;
        }
    }
    c->seed = spec_seed(spec);
    return true;
}

static bool was_asked_for(const struct chain *c)
{
    if (c->is.family == &family_cuckoo)
        return c->bucket_size >= 1 && c->bucket_size <= 255 && c->moves >= 1 && c->moves <= 65535 &&
               c->asked >= 2 * c->bucket_size && c->asked <= UINT64_C(1) << 40;
    return c->bucket_size == 0 && c->moves == 0;
}

static struct value *read_chain(struct image_in *in, uint32_t kind, const struct family *family,
                                struct weir_error *error)
{
    struct weir_part part;
    void *head = image_kind(in) == kind ? image_part(in, &part, error) : NULL;
    struct chain *c;
    uint32_t n;

    if (!head) {
        image_refuse(error, "not a value of BF.* or CF.*");
        return NULL;
    }
    c = read_head((struct weir_bytes){part.body, part.body_size}, &n);
    server_give(head);
    if (c)
        c->is.family = family;
    if (c && !was_asked_for(c)) {
        chain_close(c);
        c = NULL;
    }
    if (!c)
        image_refuse(error, "the head of the chain is invalid");
    else if (read_filters(in, c, n, error))
        return &c->is;
    else
        chain_close(c);
    return NULL;
}

static struct value *read_bloom(struct image_in *in, struct weir_error *error)
{
    return read_chain(in, PART_BLOOM, &family_bloom, error);
}

static struct value *read_cuckoo(struct image_in *in, struct weir_error *error)
{
    return read_chain(in, PART_CUCKOO, &family_cuckoo, error);
}

/* ---- the rest ---- */

static struct value *copy(const struct value *v)
{
    const struct chain *from = (const struct chain *)v;
    struct chain *c = server_take(sizeof *c);

    if (!c)
        return NULL;
    *c = *from;
    c->n = 0;
    c->links = server_take(from->n * sizeof *c->links);
    for (; c->links && c->n < from->n; c->n++) {
        c->links[c->n] = from->links[c->n];
        if (!(c->links[c->n].w = weir_clone(from->links[c->n].w, NULL)))
            break;
    }
    if (c->links && c->n == from->n)
        return &c->is;
    chain_close(c);
    return NULL;
}

static void free_chain(struct value *v)
{
    chain_close((struct chain *)v);
}

static size_t memory(const struct value *v)
{
    return chain_bytes((const struct chain *)v);
}

static size_t blocks(const struct value *v)
{
    const struct chain *c = (const struct chain *)v;

    return 2 + c->n + memory(v) / (1 << 16);
}

static void move(struct value *v, struct rm_defrag *ctx)
{
    struct chain *c = (struct chain *)v;
    void *moved = rm.DefragAlloc(ctx, c->links);

    c->links = moved ? moved : c->links;
}

const struct family family_bloom = {
    .type = "weirbloom",
    .write = write,
    .read = read_bloom,
    .copy = copy,
    .free = free_chain,
    .memory = memory,
    .blocks = blocks,
    .move = move,
};

const struct family family_cuckoo = {
    .type = "weircucko",
    .write = write,
    .read = read_cuckoo,
    .copy = copy,
    .free = free_chain,
    .memory = memory,
    .blocks = blocks,
    .move = move,
};
