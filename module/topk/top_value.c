/* top_value.c - see top_value.h. */
#include "topk/top_value.h"

#include <stdio.h>
#include <string.h>

#include "server/server.h"
#include "value/image.h"
#include "value/value.h"

#define SKETCH_DEFAULT "heavykeeper keys=1 width=%llu depth=%llu decay=%.9g"
#define K_MOST (UINT64_C(1) << 31)

/* ---- opening ---- */

uint64_t top_seed(const struct top *t)
{
    char spec[WEIR_SPEC_MAX];

    weir_sketch_config(t->s, spec, sizeof spec);
    return spec_seed(spec);
}

static void free_top(struct value *v)
{
    struct top *t = (struct top *)v;

    for (uint64_t i = 0; t->heap && i < t->k; i++)
        server_give(t->heap[i].item);
    server_give(t->heap);
    server_give(t->index);
    weir_sketch_close(t->s);
    server_give(t);
}

static uint64_t slots_for(uint64_t k)
{
    uint64_t slots = 16;

    while (slots < 2 * k)
        slots *= 2;
    return slots;
}

/* Without a sketch yet. */
static struct top *make(const struct top_wish *wish, uint64_t most)
{
    uint64_t bytes = wish->k * (sizeof(struct kept) + 4 * sizeof(uint32_t));
    struct top *t =
        wish->k <= K_MOST && (most == 0 || bytes < most) ? server_take(sizeof *t) : NULL;

    if (!t)
        return NULL;
    *t = (struct top){.is.family = &family_top,
                      .k = wish->k,
                      .width = wish->width,
                      .depth = wish->depth,
                      .decay = wish->decay,
                      .slots = slots_for(wish->k)};
    t->heap = server_take(t->k * sizeof *t->heap);
    t->index = server_take(t->slots * sizeof *t->index);
    if (t->heap && t->index)
        return t;
    free_top(&t->is);
    return NULL;
}

static void spec_of(char spec[WEIR_SPEC_MAX], const struct top_wish *wish)
{
    int n = snprintf(spec, WEIR_SPEC_MAX, SKETCH_DEFAULT, (unsigned long long)wish->width,
                     (unsigned long long)wish->depth, wish->decay);

    if (wish->seeded)
        snprintf(spec + n, WEIR_SPEC_MAX - (size_t)n, " seed=%llu", (unsigned long long)wish->seed);
}

struct top *top_open(const struct top_wish *wish, uint64_t most, struct weir_error *error)
{
    char spec[WEIR_SPEC_MAX];
    struct top *t = make(wish, most);

    image_no_memory(error);
    if (!t)
        return NULL;
    spec_of(spec, wish);
    if (sketch_open(&t->s, spec, most, error) == WEIR_OK)
        return t;
    free_top(&t->is);
    return NULL;
}

/* ---- the image: a head with the heap, then the sketch ---- */

static bool write(const struct value *v, weir_sink sink, void *context)
{
    const struct top *t = (const struct top *)v;
    struct bytes_out head = {0};
    uint64_t decay;

    memcpy(&decay, &t->decay, sizeof decay);
    put_number(&head, t->k);
    put_number(&head, t->width);
    put_number(&head, t->depth);
    put_number(&head, decay);
    for (uint64_t i = 0; i < t->k; i++) {
        const struct kept *e = &t->heap[i];

        put_number(&head, e->item ? e->size : UINT64_MAX);
        put_number(&head, e->count);
        put_bytes(&head, e->item, e->item ? e->size : 0);
    }
    return put_part(&head, PART_TOP, sink, context) &&
           weir_sketch_save_stream(t->s, sink, context, NULL) == WEIR_OK;
}

static bool read_kept(struct weir_bytes *in, struct kept *e)
{
    uint64_t size, count;

    if (!get_number(in, &size) || !get_number(in, &count) || count > UINT32_MAX)
        return false;
    e->count = (uint32_t)count;
    if (size == UINT64_MAX)
        return count == 0;
    if (size > in->size || size > UINT32_MAX || !(e->item = rm.TryAlloc(size ? size : 1)))
        return false;
    e->size = (uint32_t)size;
    return get_bytes(in, e->item, size);
}

static struct top *read_head(struct weir_bytes in, uint64_t most)
{
    struct top_wish wish = {0};
    struct top *t = NULL;
    uint64_t decay;
    bool good;

    if (!get_number(&in, &wish.k) || !get_number(&in, &wish.width) ||
        !get_number(&in, &wish.depth) || !get_number(&in, &decay) || wish.k == 0 ||
        wish.k > in.size / 16)
        return NULL;
    memcpy(&wish.decay, &decay, sizeof decay);
    good = wish.decay > 0 && wish.decay <= 1 && (t = make(&wish, most));
    for (uint64_t i = 0; good && i < wish.k; i++)
        good = read_kept(&in, &t->heap[i]);
    if (good && in.size == 0)
        return t;
    if (t)
        free_top(&t->is);
    return NULL;
}

static bool is_ours(const struct top *t)
{
    struct top_wish wish = {t->k, t->width, t->depth, t->decay, true, top_seed(t)};
    char spec[WEIR_SPEC_MAX], whole[WEIR_SPEC_MAX], its[WEIR_SPEC_MAX];

    spec_of(spec, &wish);
    weir_sketch_config(t->s, its, sizeof its);
    return weir_spec_complete(WEIR_KIND_SKETCH, spec, whole, sizeof whole, NULL) == WEIR_OK &&
           strcmp(whole, its) == 0;
}

static struct value *read(struct image_in *in, struct weir_error *error)
{
    struct weir_part part;
    void *data = image_kind(in) == PART_TOP ? image_part(in, &part, error) : NULL;
    struct top *t = NULL;

    image_refuse(error, "not a value of TOPK.*");
    if (data)
        t = read_head((struct weir_bytes){part.body, part.body_size}, in->most);
    server_give(data);
    if (!t)
        return NULL;
    data = image_kind(in) == WEIR_PART_TOP ? image_part(in, &part, error) : NULL;
    bool good =
        data && sketch_load(&t->s, data, part.size, in->most, error) == WEIR_OK && is_ours(t);
    server_give(data);
    if (good) {
        top_index(t);
        return &t->is;
    }
    free_top(&t->is);
    return NULL;
}

/* ---- the rest ---- */

static struct value *copy(const struct value *v)
{
    const struct top *from = (const struct top *)v;
    struct top_wish wish = {from->k, from->width, from->depth, from->decay, false, 0};
    struct top *t = make(&wish, 0);
    bool good = t && (t->s = weir_sketch_clone(from->s, NULL));

    for (uint64_t i = 0; good && i < t->k; i++) {
        const struct kept *e = &from->heap[i];

        t->heap[i] = *e;
        if (e->item) {
            t->heap[i].item = rm.TryAlloc(e->size ? e->size : 1);
            good = t->heap[i].item;
        }
        if (good && e->item)
            memcpy(t->heap[i].item, e->item, e->size);
    }
    if (good) {
        memcpy(t->index, from->index, t->slots * sizeof *t->index);
        return &t->is;
    }
    if (t)
        free_top(&t->is);
    return NULL;
}

static size_t memory(const struct value *v)
{
    const struct top *t = (const struct top *)v;
    size_t bytes = sizeof *t + t->k * sizeof *t->heap + t->slots * sizeof *t->index +
                   weir_sketch_stats_of(t->s).bytes;

    for (uint64_t i = 0; i < t->k; i++)
        bytes += t->heap[i].size;
    return bytes;
}

static size_t blocks(const struct value *v)
{
    return 4 + ((const struct top *)v)->k;
}

static void move(struct value *v, struct rm_defrag *ctx)
{
    struct top *t = (struct top *)v;
    void *moved = rm.DefragAlloc(ctx, t->heap);

    t->heap = moved ? moved : t->heap;
    moved = rm.DefragAlloc(ctx, t->index);
    t->index = moved ? moved : t->index;
    for (uint64_t i = 0; i < t->k; i++)
        if (t->heap[i].item && (moved = rm.DefragAlloc(ctx, t->heap[i].item)))
            t->heap[i].item = moved;
}

const struct family family_top = {
    .type = "weir-topk",
    .write = write,
    .read = read,
    .copy = copy,
    .free = free_top,
    .memory = memory,
    .blocks = blocks,
    .move = move,
};
