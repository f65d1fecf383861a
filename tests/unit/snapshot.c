/* snapshot.c - loading truncated or changed files gives a usable filter or an error. */
#include "support/golden.h"
#include "support/sealed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXED 64 /* bytes of every head */

static const char cut_off[] = "the data is truncated: it is shorter than its head states";
static const char damaged[] = "the data is damaged: its checksum does not match";
static const char contradicts[] = "the data is damaged: its head contradicts itself";

static void with_every_filter(void (*check)(struct blob b))
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i); i++) {
        weir_filter *w = golden_filter(weir_algorithm_at(WEIR_KIND_FILTER, i)->name);
        struct blob b = blob_of(w);

        check(b);
        blob_free(b);
        weir_close(w);
    }
}

/* ---- damage ---- */

/* In a block of exactly that size, so that a sanitizer detects reads beyond it. */
static void every_prefix(struct blob b)
{
    for (size_t n = 0; n < b.size; n++) {
        struct blob cut = {malloc(n + !n), n};

        memcpy(cut.data, b.data, n);
        assert_not_loaded(cut, n < 4       ? NULL
                               : n < FIXED ? "the data is truncated in its first bytes"
                                           : cut_off);
        blob_free(cut);
    }
}

static void every_flip(struct blob b)
{
    for (size_t i = 0; i < b.size * 8; i++) {
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_not_loaded(b, i >= 8 * FIXED ? damaged : NULL);
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
}

static void every_sealed_flip(struct blob b)
{
    struct part_head was = head_of_blob(b);
    size_t step = sized(10) == 10 ? 1 : 7, loaded = 0;

    for (size_t i = 0; i < b.size * 8; i += step) {
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
        seal(b, &was);
        loaded += loads_usable(b);
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    assert_true(loaded > 0 && loaded < b.size * 8);
}

static void try_to_use(struct blob forged, void *context)
{
    (void)context;
    loads_usable(forged);
}

static void forge_words(struct blob b)
{
    with_forged_words(b, try_to_use, NULL);
}

TEST(every_prefix_is_refused)
{
    with_every_filter(every_prefix);
}

TEST(every_flipped_bit_is_detected)
{
    with_every_filter(every_flip);
}

TEST(every_flipped_bit_with_valid_checksum_is_refused_or_usable)
{
    with_every_filter(every_sealed_flip);
}

TEST(forged_counters_are_refused_or_usable)
{
    with_every_filter(forge_words);
}

TEST(bytes_after_a_part_are_ignored)
{
    weir_filter *w = golden_filter("sbf"), *again;
    struct blob b = blob_of(w);
    size_t whole = b.size, used = 0;

    blob_sink(&b, "any bytes", 9);
    assert_int_equal(weir_load_buffer(&again, b.data, b.size, &used, NULL, NULL), WEIR_OK);
    assert_int_equal(used, whole);
    weir_close(w);
    weir_close(again);
    blob_free(b);
}

TEST(other_files_versions_and_kinds_have_different_errors)
{
    weir_filter *w = golden_filter("bloom");
    struct blob b = blob_of(w), note = {NULL, 0}, empty = {NULL, 0};

    assert_not_loaded(empty, "this is not saved by weir: it does not begin with WEIR");
    assert_not_loaded((struct blob){(uint8_t *)"#!/bin/sh", 9},
                      "this is not saved by weir: it does not begin with WEIR");
    struct part_head was = head_of_blob(b);
    b.data[4] = 4;
    seal(b, &was);
    assert_not_loaded(b, "written by a newer version of weir; upgrade weir to read it");
    b.data[4] = 2;
    assert_not_loaded(b, "written by 0.2.0; build it again");
    assert_int_equal(weir_part_write(WEIR_PART_NOTE, "abc", 3, blob_sink, &note, NULL), WEIR_OK);
    assert_not_loaded(note, "this part is not a filter");
    blob_free(note);
    blob_free(b);
    weir_close(w);
}

/* Their lines had another layout, and they had one or two registers less. */
TEST(windows_of_earlier_versions_are_refused)
{
    static const uint8_t cells[4096];
    static const char *const specs[][2] = {{"recent memory=4K window=100 seed=1", "3"},
                                           {"recent memory=4K span=1h seed=1 refresh=no", "4"},
                                           {"recent memory=4K span=1h slots=29 seed=1", "4"}};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        weir_filter *w = open_filter(specs[i][0]);
        struct blob b = blob_of(w), old;
        struct part_head h = head_of_blob(b);

        h.words = 2 + (uint32_t)(specs[i][1][0] - '0');
        old = sealed_part(&h, cells);
        assert_not_loaded(old, "this filter was written by a version before 1.0; build it again");
        blob_free(old);
        blob_free(b);
        weir_close(w);
    }
}

/* A head without spec and words that states this many bytes of cells. */
static struct blob empty_head(uint64_t cells)
{
    struct part_head none = {.kind = WEIR_PART_FILTER, .shards = 1};
    struct blob b = sealed_part(&none, NULL);
    struct part_head many = none;

    many.cells = cells;
    bits_store64(b.data + 8, part_size(&many));
    bits_store64(b.data + 24, cells);
    seal(b, &none);
    return b;
}

TEST(a_length_near_the_integer_limit_is_refused)
{
    static const uint64_t lengths[] = {UINT64_MAX,      UINT64_MAX - 7,    UINT64_MAX - 63,
                                       UINT64_MAX - 64, UINT64_C(1) << 63, UINT64_C(1) << 57};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct blob b = empty_head(lengths[i]);

        assert_not_loaded(b, contradicts);
        blob_free(b);
    }
    struct blob b = empty_head(UINT64_C(1) << 56);
    assert_not_loaded(b, cut_off);
    blob_free(b);
}

/* With valid checksums: a total length that differs from the sum, lengths beyond the head, an
 * impossible shard, flags of a later version. */
TEST(a_contradictory_head_is_refused)
{
    static const struct {
        size_t at;
        uint32_t value;
    } wrong[] = {{8, 64}, {16, 0},          {16, 60},         {16, 128}, {16, 8192},
                 {20, 1}, {20, UINT32_MAX}, {32, 1},          {36, 0},   {40, 1},
                 {44, 1}, {56, 1},          {56, UINT32_MAX}, {60, 1}};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct part_head h = {.kind = WEIR_PART_FILTER, .shards = 1, .cells = 64};
        struct blob b =
            sealed_part(&h, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");

        bits_store32(b.data + wrong[i].at, wrong[i].value);
        seal(b, &h);
        assert_not_loaded(b, wrong[i].at == 16 && wrong[i].value == 128 ? damaged : contradicts);
        blob_free(b);
    }
}

RUN_TESTS("snapshot")
