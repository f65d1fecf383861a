/* counts_value.c - see counts_value.h. The image is a part with width and depth, then the sketch.
 */
#include "cms/counts_value.h"

#include <stdio.h>
#include <string.h>

#include "server/server.h"
#include "value/redisbloom.h"

#define SKETCH_DEFAULT "count-min memory=%llu depth=%llu counter=32 seed=0"
#define WIDTH_MAX (UINT64_C(1) << 40)

static struct counts_value *counts_of(weir_sketch *s, uint64_t width, uint64_t depth,
                                      uint64_t bytes)
{
    struct counts_value *c = server_take(sizeof *c);

    if (!c) {
        weir_sketch_close(s);
        return NULL;
    }
    *c = (struct counts_value){.is.family = &family_counts, .s = s, .width = width, .depth = depth};
    c->is.bytes = server_bytes(c) + bytes;
    return c;
}

static void spec_of(char spec[WEIR_SPEC_MAX], uint64_t width, uint64_t depth)
{
    snprintf(spec, WEIR_SPEC_MAX, SKETCH_DEFAULT, (unsigned long long)(width * depth * 4),
             (unsigned long long)depth);
}

struct counts_value *counts_open(uint64_t width, uint64_t depth, uint64_t most,
                                 struct weir_error *error)
{
    char spec[WEIR_SPEC_MAX];
    struct counts_value *c;
    weir_sketch *s;
    uint64_t bytes;

    image_no_memory(error);
    if (width > WIDTH_MAX || depth > COUNTS_DEPTH_MAX)
        return NULL;
    spec_of(spec, width, depth);
    if (sketch_open(&s, spec, most, &bytes, error) != WEIR_OK)
        return NULL;
    c = counts_of(s, width, depth, bytes);
    if (!c)
        image_no_memory(error);
    return c;
}

void counts_close(struct counts_value *c)
{
    weir_sketch_close(c->s);
    server_give(c->cells);
    server_give(c);
}

/* ---- counters of RedisBloom ---- */

static uint8_t *cell(const struct counts_value *c, uint64_t row, struct weir_bytes item)
{
    uint64_t column = murmur32(item.data, item.size, (uint32_t)row) % c->width;

    return c->cells + 4 * (row * c->width + column);
}

/* The sum wraps to 32 bits before it is compared with the amount, as in RedisBloom. */
static uint32_t cell_add(uint8_t *at, uint64_t amount)
{
    uint32_t sum = load32(at) + (uint32_t)amount;

    sum = sum < amount ? UINT32_MAX : sum;
    store32(at, sum);
    return sum;
}

/* ---- counting ---- */

uint64_t counts_add(struct counts_value *c, struct weir_bytes item, uint64_t amount)
{
    uint64_t least = UINT32_MAX;
    struct weir_estimate found = {0};

    if (c->s) {
        struct weir_key key = weir_sketch_hash(c->s, item.data, item.size);

        if (weir_sketch_add_hashed(c->s, &key, &amount, 1, NULL) == WEIR_OK)
            weir_sketch_ask_hashed(c->s, &key, 1, &found, NULL);
        return found.count;
    }
    for (uint64_t i = 0; i < c->depth; i++) {
        uint32_t sum = cell_add(cell(c, i, item), amount);

        least = sum < least ? sum : least;
    }
    c->total += amount;
    return least;
}

static uint64_t ask_cells(const struct counts_value *c, struct weir_bytes item)
{
    uint64_t least = UINT32_MAX;

    for (uint64_t i = 0; i < c->depth; i++) {
        uint32_t count = load32(cell(c, i, item));

        least = count < least ? count : least;
    }
    return least;
}

void counts_ask(const struct counts_value *c, const struct weir_bytes *items, size_t n,
                struct weir_estimate *out)
{
    if (c->s)
        weir_sketch_ask_many(c->s, items, n, out);
    else
        for (size_t i = 0; i < n; i++)
            out[i].count = ask_cells(c, items[i]);
}

uint64_t counts_total(const struct counts_value *c)
{
    return c->s ? weir_sketch_stats_of(c->s).total : c->total;
}

/* ---- merging ---- */

static struct counts_value *import_open(uint64_t width, uint64_t depth)
{
    struct counts_value *c = server_take(sizeof *c);

    if (!c)
        return NULL;
    *c =
        (struct counts_value){.is.family = &family_imported_counts, .width = width, .depth = depth};
    c->cells = server_take(4 * width * depth);
    c->is.bytes = server_bytes(c) + server_bytes(c->cells);
    if (c->cells)
        return c;
    counts_close(c);
    return NULL;
}

static bool add_weighted(int64_t *sum, uint64_t count, int64_t weight)
{
    int64_t product;

    return count <= INT64_MAX && !__builtin_mul_overflow((int64_t)count, weight, &product) &&
           !__builtin_add_overflow(*sum, product, sum);
}

static bool merge_cells(struct counts_value *c, const struct counts_source *from, size_t n)
{
    int64_t total = 0;

    for (uint64_t at = 0; at < 4 * c->width * c->depth; at += 4) {
        int64_t sum = 0;

        for (size_t i = 0; i < n; i++)
            if (from[i].counts->cells &&
                !add_weighted(&sum, load32(from[i].counts->cells + at), from[i].weight))
                return false;
        if (sum < 0 || sum > UINT32_MAX)
            return false;
        store32(c->cells + at, (uint32_t)sum);
    }
    for (size_t i = 0; i < n; i++)
        if (from[i].counts->cells && !add_weighted(&total, from[i].counts->total, from[i].weight))
            return false;
    c->total = (uint64_t)total;
    return total >= 0;
}

static bool merge_sketches(struct counts_value *c, const struct counts_source *from, size_t n)
{
    const weir_sketch **sketches = server_take(n * sizeof *sketches);
    int64_t *weights = server_take(n * sizeof *weights);
    bool good = sketches && weights;
    size_t m = 0;

    for (size_t i = 0; good && i < n; i++)
        if (from[i].counts->s) {
            sketches[m] = from[i].counts->s;
            weights[m++] = from[i].weight;
        }
    good = good && (m == 0 || weir_sketch_weigh(c->s, sketches, weights, m, NULL) == WEIR_OK);
    server_give(sketches);
    server_give(weights);
    return good;
}

enum counts_merged counts_merge(struct counts_value **out, const struct counts_source *from,
                                size_t n)
{
    uint64_t width = from[0].counts->width, depth = from[0].counts->depth;
    bool imported = false, own = false;
    struct weir_error error;
    struct counts_value *c;

    for (size_t i = 0; i < n; i++) {
        bool counted = counts_total(from[i].counts) > 0;

        imported = imported || (counted && from[i].counts->cells);
        own = own || (counted && from[i].counts->s);
    }
    if (imported && own)
        return COUNTS_MIXED;
    c = imported ? import_open(width, depth) : counts_open(width, depth, 0, &error);
    if (!c)
        return COUNTS_NO_MEMORY;
    if (!(imported ? merge_cells : merge_sketches)(c, from, n)) {
        counts_close(c);
        return COUNTS_OVERFLOW;
    }
    *out = c;
    return COUNTS_MERGED;
}

/* ---- reading and writing ---- */

static bool write(const struct value *v, weir_sink sink, void *context)
{
    const struct counts_value *c = (const struct counts_value *)v;
    struct bytes_out head = {0};

    put_number(&head, c->width);
    put_number(&head, c->depth);
    return put_part(&head, PART_COUNTS, sink, context) &&
           (image_passes(sink, context, weir_sketch_saved_size(c->s)) ||
            weir_sketch_save_stream(c->s, sink, context, NULL) == WEIR_OK);
}

static bool read_head(struct image_in *in, uint64_t *width, uint64_t *depth,
                      struct weir_error *error)
{
    struct weir_bytes body;
    void *head = image_head(in, PART_COUNTS, &body, error);
    bool good = head && get_number(&body, width) && get_number(&body, depth) && body.size == 0 &&
                *width >= 1 && *width <= WIDTH_MAX && *depth >= 1 && *depth <= COUNTS_DEPTH_MAX;
    server_give(head);
    return good;
}

/* Is it the sketch that counts_open() would open? Then it can be merged with any other. */
static bool is_ours(const weir_sketch *s, uint64_t width, uint64_t depth)
{
    char spec[WEIR_SPEC_MAX];

    spec_of(spec, width, depth);
    return sketch_has_spec(s, spec);
}

static struct value *read(const struct family *family, struct image_in *in,
                          struct weir_error *error)
{
    uint64_t width = 0, depth = 0, bytes;
    struct weir_part part;
    struct counts_value *c = NULL;
    weir_sketch *s = NULL;
    void *data = NULL;

    image_refuse(error, "not a value of CMS.*");
    if (read_head(in, &width, &depth, error) && image_kind(in) == WEIR_PART_COUNTS)
        data = image_part(in, &part, error);
    if (data && sketch_load(&s, data, part.size, in->most, &bytes, error) == WEIR_OK) {
        image_refuse(error, "the sketch does not have the width and depth of its head");
        if (is_ours(s, width, depth))
            c = counts_of(s, width, depth, bytes);
        else
            weir_sketch_close(s);
    }
    server_give(data);
    return c ? &c->is : NULL;
}

/* ---- sketches from RedisBloom ---- */

static bool pass(struct archive *a, struct value *v)
{
    struct counts_value *c = (struct counts_value *)v;
    uint64_t cells = 0;

    archive_number(a, &c->width);
    archive_number(a, &c->depth);
    archive_number(a, &c->total);
    a->failed = a->failed || c->width < 1 || c->width > WIDTH_MAX || c->depth < 1 ||
                c->depth > UINT32_MAX || __builtin_mul_overflow(c->width, c->depth, &cells) ||
                cells > UINT64_C(1) << 56;
    return archive_block(a, &c->cells, 4 * cells);
}

static void complete(struct value *v)
{
    struct counts_value *c = (struct counts_value *)v;

    c->is.bytes += server_bytes(c->cells);
}

/* ---- copies and memory ---- */

static struct value *copy(const struct value *v)
{
    const struct counts_value *from = (const struct counts_value *)v;
    struct counts_value *c = server_take(sizeof *c);

    if (!c)
        return NULL;
    value_copy_structure(&c->is, v);
    c->cells = NULL;
    if (from->s)
        c->s = weir_sketch_clone(from->s, NULL);
    else
        c->cells = server_copy(from->cells, 4 * c->width * c->depth);
    if (c->s || c->cells)
        return &c->is;
    counts_close(c);
    return NULL;
}

static void free_counts(struct value *v)
{
    counts_close((struct counts_value *)v);
}

static bool move(struct value *v, struct rm_defrag *ctx, unsigned long *cursor)
{
    struct counts_value *c = (struct counts_value *)v;
    void *moved = c->cells ? rm.DefragAlloc(ctx, c->cells) : NULL;

    c->cells = moved ? moved : c->cells;
    return true;
}

#define COUNTS_FAMILY(name, ...)                                                                   \
    const struct family name = {                                                                   \
        .size = sizeof(struct counts_value), .copy = copy, .free = free_counts, __VA_ARGS__}

COUNTS_FAMILY(family_counts, .type = "weircount", .part = PART_COUNTS, .encoding = IMAGE_ENCODING,
              .write = write, .read = read, .imported = &family_imported_counts);
COUNTS_FAMILY(family_imported_counts, .type = "CMSk-TYPE", .write = archive_write,
              .read = archive_read, .pass = pass, .part = PART_IMPORTED_COUNTS,
              .complete = complete, .move = move);
