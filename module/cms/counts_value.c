/* counts_value.c - see counts_value.h. Its image is a head of width and depth, then the sketch. */
#include "cms/counts_value.h"

#include <stdio.h>
#include <string.h>

#include "server/server.h"
#include "value/image.h"
#include "value/value.h"

#define SKETCH_DEFAULT "count-min memory=%llu depth=%llu counter=32 seed=0"
#define WIDTH_MOST (UINT64_C(1) << 40)

static struct counts *counts_of(weir_sketch *s, uint64_t width, uint64_t depth)
{
    struct counts *c = server_take(sizeof *c);

    if (!c) {
        weir_sketch_close(s);
        return NULL;
    }
    *c = (struct counts){.is.family = &family_counts, .s = s, .width = width, .depth = depth};
    return c;
}

static void spec_of(char spec[WEIR_SPEC_MAX], uint64_t width, uint64_t depth)
{
    snprintf(spec, WEIR_SPEC_MAX, SKETCH_DEFAULT, (unsigned long long)(width * depth * 4),
             (unsigned long long)depth);
}

struct counts *counts_open(uint64_t width, uint64_t depth, uint64_t most, struct weir_error *error)
{
    char spec[WEIR_SPEC_MAX];
    struct counts *c;
    weir_sketch *s;

    image_no_memory(error);
    if (width > WIDTH_MOST || depth > COUNTS_DEPTH_MOST)
        return NULL;
    spec_of(spec, width, depth);
    if (sketch_open(&s, spec, most, error) != WEIR_OK)
        return NULL;
    c = counts_of(s, width, depth);
    if (!c)
        image_no_memory(error);
    return c;
}

static bool write(const struct value *v, weir_sink sink, void *context)
{
    const struct counts *c = (const struct counts *)v;
    struct bytes_out head = {0};

    put_number(&head, c->width);
    put_number(&head, c->depth);
    return put_part(&head, PART_COUNTS, sink, context) &&
           weir_sketch_save_stream(c->s, sink, context, NULL) == WEIR_OK;
}

/* ---- reading ---- */

static bool read_head(struct image_in *in, uint64_t *width, uint64_t *depth,
                      struct weir_error *error)
{
    struct weir_part part;
    void *head = image_kind(in) == PART_COUNTS ? image_part(in, &part, error) : NULL;
    struct weir_bytes body;
    bool good;

    if (!head)
        return false;
    body = (struct weir_bytes){part.body, part.body_size};
    good = get_number(&body, width) && get_number(&body, depth) && body.size == 0 && *width >= 1 &&
           *width <= WIDTH_MOST && *depth >= 1 && *depth <= COUNTS_DEPTH_MOST;
    server_give(head);
    return good;
}

/* Sketches of one width and depth are merged without a further look. */
static bool is_ours(const weir_sketch *s, uint64_t width, uint64_t depth)
{
    char spec[WEIR_SPEC_MAX], whole[WEIR_SPEC_MAX], its[WEIR_SPEC_MAX];

    spec_of(spec, width, depth);
    weir_sketch_config(s, its, sizeof its);
    return weir_spec_complete(WEIR_KIND_SKETCH, spec, whole, sizeof whole, NULL) == WEIR_OK &&
           strcmp(whole, its) == 0;
}

static struct value *read(struct image_in *in, struct weir_error *error)
{
    uint64_t width = 0, depth = 0;
    struct weir_part part;
    struct counts *c = NULL;
    weir_sketch *s = NULL;
    void *data = NULL;

    image_refuse(error, "not a value of CMS.*");
    if (read_head(in, &width, &depth, error) && image_kind(in) == WEIR_PART_COUNTS)
        data = image_part(in, &part, error);
    if (data && sketch_load(&s, data, part.size, in->most, error) == WEIR_OK) {
        image_refuse(error, "the sketch does not have the width and depth of its head");
        if (is_ours(s, width, depth))
            c = counts_of(s, width, depth);
        else
            weir_sketch_close(s);
    }
    server_give(data);
    return c ? &c->is : NULL;
}

/* ---- the rest ---- */

static struct value *copy(const struct value *v)
{
    const struct counts *from = (const struct counts *)v;
    weir_sketch *s = weir_sketch_clone(from->s, NULL);
    struct counts *c = s ? counts_of(s, from->width, from->depth) : NULL;

    return c ? &c->is : NULL;
}

static void free_counts(struct value *v)
{
    weir_sketch_close(((struct counts *)v)->s);
    server_give(v);
}

static size_t memory(const struct value *v)
{
    const struct counts *c = (const struct counts *)v;

    return sizeof *c + weir_sketch_stats_of(c->s).bytes;
}

static size_t blocks(const struct value *v)
{
    return 2 + memory(v) / (1 << 16);
}

const struct family family_counts = {
    .type = "weircount",
    .write = write,
    .read = read,
    .copy = copy,
    .free = free_counts,
    .memory = memory,
    .blocks = blocks,
};
