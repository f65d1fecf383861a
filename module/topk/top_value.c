/* top_value.c - see top_value.h. */
#include "topk/top_value.h"

#include <stdio.h>
#include <string.h>

#include "server/server.h"
#include "value/redisbloom.h"

#define SKETCH_DEFAULT "heavykeeper keys=1 width=%llu depth=%llu decay=%.9g"
#define K_MAX (UINT64_C(1) << 31)

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
    server_give(t->buckets);
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
static struct top *make(const struct top_request *request, uint64_t most)
{
    uint64_t bytes = request->k * (sizeof(struct kept) + 4 * sizeof(uint32_t));
    struct top *t =
        request->k <= K_MAX && (most == 0 || bytes < most) ? server_take(sizeof *t) : NULL;

    if (!t)
        return NULL;
    *t = (struct top){.is.family = &family_top,
                      .k = request->k,
                      .width = request->width,
                      .depth = request->depth,
                      .decay = request->decay,
                      .slots = slots_for(request->k)};
    t->heap = server_take(t->k * sizeof *t->heap);
    t->index = server_take(t->slots * sizeof *t->index);
    t->is.bytes = server_bytes(t) + server_bytes(t->heap) + server_bytes(t->index);
    if (t->heap && t->index)
        return t;
    free_top(&t->is);
    return NULL;
}

static void spec_of(char spec[WEIR_SPEC_MAX], const struct top_request *request)
{
    int n = snprintf(spec, WEIR_SPEC_MAX, SKETCH_DEFAULT, (unsigned long long)request->width,
                     (unsigned long long)request->depth, request->decay);

    if (request->seeded)
        snprintf(spec + n, WEIR_SPEC_MAX - (size_t)n, " seed=%llu",
                 (unsigned long long)request->seed);
}

struct top *top_open(const struct top_request *request, uint64_t most, struct weir_error *error)
{
    char spec[WEIR_SPEC_MAX];
    struct top *t = make(request, most);
    uint64_t bytes;

    image_no_memory(error);
    if (!t)
        return NULL;
    spec_of(spec, request);
    if (sketch_open(&t->s, spec, most, &bytes, error) == WEIR_OK) {
        t->is.bytes += bytes;
        return t;
    }
    free_top(&t->is);
    return NULL;
}

/* ---- the image: a head with the heap, then the sketch ---- */

static bool write(const struct value *v, weir_sink sink, void *context)
{
    const struct top *t = (const struct top *)v;
    struct bytes_out head = {0};

    put_number(&head, t->k);
    put_number(&head, t->width);
    put_number(&head, t->depth);
    put_double(&head, t->decay);
    for (uint64_t i = 0; i < t->k; i++) {
        const struct kept *e = &t->heap[i];

        put_number(&head, e->item ? e->size : UINT64_MAX);
        put_number(&head, e->count);
        put_bytes(&head, e->item, e->item ? e->size : 0);
    }
    return put_part(&head, PART_TOP, sink, context) &&
           (image_passes(sink, context, weir_sketch_saved_size(t->s)) ||
            weir_sketch_save_stream(t->s, sink, context, NULL) == WEIR_OK);
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
    struct top_request request = {0};
    struct top *t = NULL;
    bool good;

    if (!get_number(&in, &request.k) || !get_number(&in, &request.width) ||
        !get_number(&in, &request.depth) || !get_double(&in, &request.decay) || request.k == 0 ||
        request.k > in.size / 16)
        return NULL;
    good = request.decay > 0 && request.decay <= 1 && (t = make(&request, most));
    for (uint64_t i = 0; good && i < request.k; i++) {
        good = read_kept(&in, &t->heap[i]);
        t->is.bytes += t->heap[i].item ? top_item_bytes(t->heap[i].size) : 0;
    }
    if (good && in.size == 0)
        return t;
    if (t)
        free_top(&t->is);
    return NULL;
}

static bool is_ours(const struct top *t)
{
    struct top_request request = {t->k, t->width, t->depth, t->decay, true, top_seed(t)};
    char spec[WEIR_SPEC_MAX];

    spec_of(spec, &request);
    return sketch_has_spec(t->s, spec);
}

static struct value *read(const struct family *family, struct image_in *in,
                          struct weir_error *error)
{
    struct weir_part part;
    struct weir_bytes body;
    void *data = image_head(in, PART_TOP, &body, error);
    struct top *t = data ? read_head(body, in->most) : NULL;
    uint64_t bytes;

    image_refuse(error, "not a value of TOPK.*");
    server_give(data);
    if (!t)
        return NULL;
    data = image_kind(in) == WEIR_PART_TOP ? image_part(in, &part, error) : NULL;
    bool good = data && sketch_load(&t->s, data, part.size, in->most, &bytes, error) == WEIR_OK &&
                is_ours(t);
    server_give(data);
    if (good) {
        t->is.bytes += bytes;
        top_index(t);
        return &t->is;
    }
    free_top(&t->is);
    return NULL;
}

/* ---- values from RedisBloom ----
 *
 * A place of the heap is 24 bytes: fingerprint, item length, 8 bytes without meaning, count, 4
 * bytes without meaning. In the first place the state of the random numbers is stored in the
 * former. An item is followed by a NUL byte; an item with a NUL ends there. */

#define PLACE 24

static void place_write(uint8_t *at, const struct kept *e, uint64_t random)
{
    store32(at, (uint32_t)e->hash);
    store32(at + 4, e->size);
    store32(at + 8, (uint32_t)random);
    store32(at + 12, (uint32_t)(random >> 32));
    store32(at + 16, e->count);
}

static bool write_heap(struct archive *a, const struct top *t)
{
    uint8_t *places = server_take(t->k * PLACE);
    bool good = places;

    for (uint64_t i = 0; good && i < t->k; i++)
        place_write(places + i * PLACE, &t->heap[i], i == 0 ? t->random : 0);
    good = good && archive_block(a, &places, t->k * PLACE);
    server_give(places);
    for (uint64_t i = 0; good && i < t->k; i++) {
        const struct kept *e = &t->heap[i];
        char *text = server_take((uint64_t)e->size + 1);
        uint64_t size = (uint64_t)e->size + 1;

        good = text;
        if (good && e->size > 0)
            memcpy(text, e->item, e->size);
        good = good && archive_text(a, &text, &size);
        server_give(text);
    }
    return good;
}

static bool read_item(struct archive *a, struct kept *e)
{
    uint64_t size = 0;
    char *text = NULL;

    if (!archive_text(a, &text, &size) || size == 0 || size - 1 > UINT32_MAX ||
        text[size - 1] != '\0') {
        server_give(text);
        return false;
    }
    if (e->count == 0) {
        server_give(text);
        *e = (struct kept){0};
        return size == 1;
    }
    e->item = text;
    e->size = (uint32_t)size - 1;
    return true;
}

static bool read_heap(struct archive *a, struct top *t)
{
    uint8_t *places = NULL;
    bool good = archive_block(a, &places, t->k * PLACE);
    struct top_request request = {.k = t->k};
    struct top *heap = good ? make(&request, 0) : NULL;

    if (heap) {
        t->heap = heap->heap;
        t->index = heap->index;
        t->slots = heap->slots;
        heap->heap = NULL;
        heap->index = NULL;
        free_top(&heap->is);
        t->random = load32(places + 8) | (uint64_t)load32(places + 12) << 32;
    }
    for (uint64_t i = 0; heap && good && i < t->k; i++) {
        const uint8_t *at = places + i * PLACE;

        t->heap[i].hash = load32(at);
        t->heap[i].count = load32(at + 16);
        good = read_item(a, &t->heap[i]);
    }
    server_give(places);
    return heap && good;
}

static bool pass(struct archive *a, struct value *v)
{
    struct top *t = (struct top *)v;

    archive_number(a, &t->k);
    archive_number(a, &t->width);
    archive_number(a, &t->depth);
    archive_double(a, &t->decay);
    a->failed = a->failed || t->k < 1 || t->k > K_MAX || t->width < 1 || t->width > UINT32_MAX ||
                t->depth < 1 || t->depth > UINT32_MAX || !(t->decay >= 0 && t->decay <= 1) ||
                t->width * t->depth > UINT64_C(1) << 56;
    if (!archive_block(a, &t->buckets, 8 * t->width * t->depth))
        return false;
    return a->reading ? read_heap(a, t) : write_heap(a, t);
}

static void complete(struct value *v)
{
    struct top *t = (struct top *)v;

    t->is.bytes += server_bytes(t->heap) + server_bytes(t->index) + server_bytes(t->buckets);
    for (uint64_t i = 0; i < t->k; i++)
        t->is.bytes += t->heap[i].item ? top_item_bytes(t->heap[i].size) : 0;
    top_index(t);
}

/* ---- copies and memory ---- */

static bool copy_cells(struct top *t, const struct top *from)
{
    if (from->s)
        return (t->s = weir_sketch_clone(from->s, NULL));
    return (t->buckets = server_copy(from->buckets, 8 * t->width * t->depth));
}

static struct value *copy(const struct value *v)
{
    const struct top *from = (const struct top *)v;
    struct top_request request = {from->k, from->width, from->depth, from->decay, false, 0};
    struct top *t = make(&request, 0);
    bool good = t && copy_cells(t, from);

    for (uint64_t i = 0; good && i < t->k; i++) {
        const struct kept *e = &from->heap[i];

        t->heap[i] = *e;
        if (e->item)
            good = (t->heap[i].item = server_copy(e->item, e->size));
    }
    if (good) {
        t->is.family = from->is.family;
        t->random = from->random;
        t->is.bytes = from->is.bytes;
        memcpy(t->index, from->index, t->slots * sizeof *t->index);
        return &t->is;
    }
    if (t)
        free_top(&t->is);
    return NULL;
}

static void move_block(struct rm_defrag *ctx, void *block)
{
    void *from, *moved;

    memcpy(&from, block, sizeof from);
    moved = from ? rm.DefragAlloc(ctx, from) : NULL;
    if (moved)
        memcpy(block, &moved, sizeof moved);
}

static bool move(struct value *v, struct rm_defrag *ctx, unsigned long *cursor)
{
    struct top *t = (struct top *)v;

    if (*cursor == 0) {
        move_block(ctx, &t->heap);
        move_block(ctx, &t->index);
        move_block(ctx, &t->buckets);
    }
    for (; *cursor < t->k; ++*cursor) {
        move_block(ctx, &t->heap[*cursor].item);
        if (*cursor % 64 == 63 && rm.DefragShouldStop(ctx)) {
            ++*cursor;
            return false;
        }
    }
    return true;
}

#define TOP_FAMILY(name, ...)                                                                      \
    const struct family name = {                                                                   \
        .size = sizeof(struct top), .copy = copy, .free = free_top, .move = move, __VA_ARGS__}

TOP_FAMILY(family_top, .type = "weir-topk", .part = PART_TOP, .encoding = IMAGE_ENCODING,
           .write = write, .read = read, .imported = &family_imported_top);
TOP_FAMILY(family_imported_top, .type = "TopK-TYPE", .write = archive_write, .read = archive_read,
           .pass = pass, .part = PART_IMPORTED_TOP, .complete = complete);
