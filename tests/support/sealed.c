/* sealed.c - see sealed.h. */
#include "support/sealed.h"

#define AT_SUM 48

struct part_head head_of_blob(struct blob b)
{
    struct weir_error error;
    struct part_head h;

    if (part_find_sound(b.data, b.size, &h, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    return h;
}

static void put_bytes(const void *what, struct part_writer *out)
{
    const struct weir_bytes *bytes = what;

    part_put(out, bytes->data, bytes->size);
}

struct blob sealed_part(const struct part_head *h, const void *cells)
{
    struct weir_bytes bytes = {cells, (size_t)h->cells};
    struct blob b = {NULL, 0};

    part_write(h, put_bytes, &bytes, blob_sink, &b, NULL);
    return b;
}

void seal(struct blob b, const struct part_head *was)
{
    uint32_t head = part_head_size(was);
    uint8_t *cells = b.data + head, *sums = cells + part_lines(was->cells);

    for (uint64_t i = 0; i < part_blocks(was->cells); i++) {
        uint64_t left = was->cells - i * PART_BLOCK;

        bits_store64(sums + 8 * i,
                     XXH3_64bits_withSeed(cells + i * PART_BLOCK,
                                          left < PART_BLOCK ? (size_t)left : PART_BLOCK, i));
    }
    bits_store64(b.data + AT_SUM, 0);
    bits_store64(b.data + AT_SUM, XXH3_64bits(b.data, head));
}

static void check_cut(const struct part_head *h, const uint8_t *cells,
                      void (*check)(struct blob cut, void *context), void *context)
{
    struct blob cut = sealed_part(h, cells);

    check(cut, context);
    blob_free(cut);
}

void with_sealed_cuts(struct blob b, void (*check)(struct blob cut, void *context), void *context)
{
    const struct part_head whole = head_of_blob(b);
    const uint8_t *cells = b.data + part_head_size(&whole);
    struct part_head h = whole;

    for (h.cells = 0; h.cells < whole.cells; h.cells++)
        check_cut(&h, cells, check, context);
    for (h.words = 0; h.words < whole.words; h.words++)
        check_cut(&h, cells, check, context);
    for (h.length = 0; h.length < whole.length; h.length++)
        check_cut(&h, cells, check, context);
}
