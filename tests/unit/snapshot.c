/* snapshot.c - loading is total: cut and flipped files end in a usable filter or
 * in a sentence. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define HEAD 16
#define TAIL 8

static const char cut_off[] = "the data is cut off: it says that it is longer than it is";
static const char damaged[] = "the data is damaged: its checksum does not match";

/* Give a part a checksum that is right. */
static void seal(struct blob b)
{
    bits_store64(b.data + b.size - TAIL, XXH3_64bits(b.data, b.size - TAIL));
}

static void with_every_filter(void (*check)(struct blob b))
{
    for (size_t i = 0; weir_listed(WEIR_KIND_FILTER, i); i++) {
        weir *w = golden_filter(weir_listed(WEIR_KIND_FILTER, i)->name);
        struct blob b = blob_of(w);

        check(b);
        blob_free(b);
        weir_close(w);
    }
}

/* ---- damage ---- */

/* In a block of just that size, so that a sanitizer sees a byte read beyond. */
static void every_prefix(struct blob b)
{
    for (size_t n = 0; n < b.size; n++) {
        struct blob cut = {malloc(n + !n), n};

        memcpy(cut.data, b.data, n);
        assert_not_loaded(cut, n < 4             ? NULL
                               : n < HEAD + TAIL ? "the data is cut off in its first bytes"
                                                 : cut_off);
        blob_free(cut);
    }
}

static void every_flip(struct blob b)
{
    for (size_t i = 0; i < b.size * 8; i++) {
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_not_loaded(b, i >= 128 ? damaged : NULL);
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
}

static void every_sealed_flip(struct blob b)
{
    size_t step = sized(10) == 10 ? 1 : 7, loaded = 0;

    for (size_t i = 0; i < (b.size - TAIL) * 8; i += step) {
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
        seal(b);
        loaded += loads_usable(b);
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    assert_true(loaded > 0 && loaded < b.size * 8);
}

static void every_prefix_is_refused(void **state)
{
    (void)state;
    with_every_filter(every_prefix);
}

static void every_flipped_bit_is_found(void **state)
{
    (void)state;
    with_every_filter(every_flip);
}

static void every_flipped_bit_under_a_right_checksum_is_refused_or_usable(void **state)
{
    (void)state;
    with_every_filter(every_sealed_flip);
}

static void what_follows_a_part_does_not_matter(void **state)
{
    weir *w = golden_filter("sbf"), *again;
    struct blob b = blob_of(w);
    size_t whole = b.size, used = 0;

    (void)state;
    blob_sink(&b, "any bytes", 9);
    assert_int_equal(weir_load(&again, b.data, b.size, &used, NULL), WEIR_OK);
    assert_int_equal(used, whole);
    weir_close(w);
    weir_close(again);
    blob_free(b);
}

static void other_files_versions_and_kinds_are_told_apart(void **state)
{
    weir *w = golden_filter("bloom");
    struct blob b = blob_of(w), note = {NULL, 0}, empty = {NULL, 0};

    (void)state;
    assert_not_loaded(empty, "this is not saved by weir: it does not begin with WEIR");
    assert_not_loaded((struct blob){(uint8_t *)"#!/bin/sh", 9},
                      "this is not saved by weir: it does not begin with WEIR");
    b.data[4] = 2;
    seal(b);
    assert_not_loaded(b, "this was saved by another version of weir: only format 1 is known here");
    weir_part_write(WEIR_PART_NOTE, "abc", 3, blob_sink, &note);
    assert_not_loaded(note, "this part is not a filter");
    blob_free(note);
    blob_free(b);
    weir_close(w);
}

static void a_length_near_the_end_of_numbers_is_cut_off(void **state)
{
    static const uint64_t lengths[] = {UINT64_MAX,      UINT64_MAX - 7,    UINT64_MAX - 23,
                                       UINT64_MAX - 24, UINT64_C(1) << 63, 1000};
    uint8_t data[64] = "WEIR\1\0\1";

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        bits_store64(data + 8, lengths[i]);
        assert_not_loaded((struct blob){data, sizeof data}, cut_off);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(every_flipped_bit_under_a_right_checksum_is_refused_or_usable),
        cmocka_unit_test(what_follows_a_part_does_not_matter),
        cmocka_unit_test(other_files_versions_and_kinds_are_told_apart),
        cmocka_unit_test(a_length_near_the_end_of_numbers_is_cut_off),
    };

    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
