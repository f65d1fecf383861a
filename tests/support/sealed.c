/* sealed.c - see sealed.h. */
#include "support/sealed.h"

#define AT_SUM 48

struct part_head head_of_blob(struct blob b)
{
    struct weir_error error;
    struct part_head h;

    if (weir_verify(b.data, b.size, &error) != WEIR_OK ||
        part_find(b.data, b.size, &h, &error) != WEIR_OK)
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

#define WORDS_VARIED 7 /* all subsets of the first words */
#define CELLS_VARIED                                                                               \
    400 /* bytes: the numbers that sketches begin with, and some keys of theirs                    \
         */

void with_forged_words(struct blob b, void (*check)(struct blob forged, void *context),
                       void *context)
{
    static const uint64_t numbers[] = {(UINT64_C(1) << 62) - 1, UINT64_C(1) << 62,
                                       UINT64_C(1) << 63,       INT64_MAX,
                                       UINT64_MAX - 20,         UINT64_MAX};
    const struct part_head whole = head_of_blob(b);
    const uint32_t varied = whole.words < WORDS_VARIED ? whole.words : WORDS_VARIED;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (uint32_t which = 1; which < UINT32_C(1) << varied; which++) {
            struct part_head h = whole;

            for (uint32_t j = 0; j < varied; j++)
                if (which >> j & 1)
                    h.word[j] = numbers[i] - j; /* so that later numbers are not larger */
            check_cut(&h, b.data + part_head_size(&whole), check, context);
        }
    for (uint64_t at = 0; at + 8 <= whole.cells && at < CELLS_VARIED; at += 4) {
        uint8_t *cell = b.data + part_head_size(&whole) + at;
        uint64_t was = bits_load64(cell);

        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            bits_store64(cell, numbers[i]);
            check_cut(&whole, b.data + part_head_size(&whole), check, context);
        }
        bits_store64(cell, was);
    }
}
