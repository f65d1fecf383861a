/* bodies.c - forged saved filters: the checksum is valid, the state may be impossible. */
#include "support/sealed.h"

#include <string.h>

static const char bad_config[] =
    "the saved configuration is not one that this version of weir writes";
static const char bad_size[] =
    "the saved filter does not have the size that its configuration implies";
static const char bad_state[] = "the saved filter is in an impossible state";

struct body {
    struct part_head head;
    uint8_t cells[1024]; /* zeros, unless a test changes them */
};

/* The head up to the counters, which are the first of the words. */
static struct body body_of(const char *config, uint64_t shown, uint64_t seen)
{
    struct body body = {.head = {.kind = WEIR_PART_FILTER,
                                 .shards = 1,
                                 .spec = config,
                                 .length = (uint32_t)strlen(config)}};

    part_word(&body.head, shown);
    part_word(&body.head, seen);
    return body;
}

static void assert_body(struct body body, size_t cells, const char *expected)
{
    body.head.cells = cells;
    struct blob b = sealed_part(&body.head, body.cells);

    if (expected)
        assert_not_loaded(b, expected);
    else
        assert_true(loads_usable(b));
    blob_free(b);
}

#define BLOOM "bloom memory=64 k=4 hash=xxh3 seed=1"

TEST(counters_must_be_possible)
{
    assert_body(body_of(BLOOM, 5, 5), 64, NULL);
    assert_body(body_of(BLOOM, 5, 6), 64, bad_state);
    assert_body(body_of(BLOOM, 0, UINT64_MAX), 64, bad_state);
    assert_body(body_of(BLOOM, UINT64_MAX, 0), 64,
                bad_state); /* the next record would be number 0 */
}

TEST(the_size_must_match_the_configuration)
{
    assert_body(body_of(BLOOM, 5, 5), 63, bad_size);
    assert_body(body_of(BLOOM, 5, 5), 65, bad_size);
    assert_body(body_of(BLOOM, 5, 5), 128, bad_size);
    assert_body(body_of(BLOOM, 5, 5), 0, bad_size);
    struct body more = body_of(BLOOM, 5, 5);
    part_word(&more.head, 0);
    assert_body(more, 64, bad_size);
    more.head.words = 1;
    assert_body(more, 64, bad_size);
    /* The size is checked before memory is allocated: a few bytes cannot make it allocate 16T. */
    assert_body(body_of("bloom memory=17592186044416 k=4 hash=xxh3 seed=1", 0, 0), 64, bad_size);
}

TEST(only_complete_configurations_are_accepted)
{
    static const char *const configs[] = {
        "",
        "bloom",
        "blom memory=64 k=4 hash=xxh3 seed=1",
        "bloom memory=64 k=4 hash=xxh3",                /* no seed */
        "bloom memory=64 k=4 hash=xxh3 seed=01",        /* not in the order of saved specs */
        "bloom  memory=64 k=4 hash=xxh3 seed=1",        /* an extra space */
        "bloom memory=64 k=4 hash=xxh3 seed=1 ",        /* another extra space */
        "bloom memory=512bit k=4 hash=xxh3 seed=1",     /* a whole number of bytes */
        "bloom memory=64 k=4 seed=1 hash=xxh3",         /* another order */
        "bloom memory=64 fpr=0.1 k=4 hash=xxh3 seed=1", /* a request, not a value */
        "bloom memory=64 capacity=50 hash=xxh3 seed=1", /* no k */
        "memory=64 k=4 hash=xxh3 seed=1",               /* no name */
        "bloom memory=8 k=4 hash=xxh3 seed=1",          /* too little memory */
    };

    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        assert_body(body_of(configs[i], 5, 5), 64, bad_config);
}

TEST(the_configuration_must_be_valid_text)
{
    static const char text[2000] = BLOOM;
    static const char broken[] = "bloom memo\0y=64 k=4 hash=xxh3 seed=1";
    struct body body = body_of(BLOOM, 5, 5);

    body.head.spec = broken;
    assert_body(body, 64, bad_config);
    for (uint32_t length = 0; length < sizeof text; length++) {
        body = body_of(text, 5, 5);
        body.head.length = length;
        if (length != sizeof BLOOM - 1)
            assert_body(body, 64, bad_config);
    }
}

#define RLBSBF "rlbsbf memory=64 k=2 hash=xxh3 seed=1"

static struct body loads(uint64_t first, uint64_t second)
{
    struct body body = body_of(RLBSBF, 5, 5);

    part_word(&body.head, first);
    part_word(&body.head, second);
    return body;
}

TEST(loads_of_rlbsbf_must_match_its_bits)
{
    struct body body = loads(3, 1);

    body.cells[0] = 0x15;       /* three bits of the first array */
    body.cells[64 + 31] = 0x80; /* the last bit of the second */
    assert_body(body, 128, NULL);
    body.cells[1] = 1;
    assert_body(body, 128, bad_state);
    assert_body(loads(0, 0), 128, NULL);
    assert_body(loads(1, 0), 128, bad_state);
    assert_body(loads(0, UINT64_MAX), 128, bad_state);
}

TEST(bits_after_the_last_cell_must_be_zero)
{
    struct body body = loads(0, 0);

    for (size_t at = 0; at < 128; at++) {
        body.cells[at] = 1;
        assert_body(body, 128, bad_state); /* a possible state with wrong loads */
        body.cells[at] = 0;
    }
}

static struct body two(const char *config, uint64_t first, uint64_t second)
{
    struct body body = body_of(config, 5, 5);

    part_word(&body.head, first);
    part_word(&body.head, second);
    return body;
}

TEST(registers_must_be_in_range)
{
    static const char buffers[] = "two-buffer memory=64 k=4 window=10 hash=xxh3 seed=1";
    static const char slices[] = "apbf memory=64 k=4 window=12 slices=4 hash=xxh3 seed=1";

    assert_body(two(buffers, 1, 10), 64, NULL);
    assert_body(two(buffers, 2, 0), 64, bad_state);
    assert_body(two(buffers, UINT64_MAX, 0), 64, bad_state);
    assert_body(two(buffers, 0, 11), 64, bad_state);
    assert_body(two(slices, 7, 3), 512, NULL);
    assert_body(two(slices, 8, 0), 512, bad_state);
    assert_body(two(slices, UINT64_MAX, 0), 512, bad_state);
    assert_body(two(slices, 0, 4), 512, bad_state);
}

/* A sample of two values, with space for 256. */
static struct body sampled(uint64_t n, uint64_t first, uint64_t second)
{
    struct body body = body_of(
        "ibf-mc memory=64 k=5 cell=3 decay=10 importance=percentile hash=xxh3 seed=1", 5, 5);

    part_word(&body.head, n);
    part_word(&body.head, first | second << 32);
    body.head.words += 127;
    return body;
}

TEST(samples_must_be_sorted_and_complete)
{
    assert_body(sampled(0, 0, 0), 64, NULL);
    assert_body(sampled(2, 5, 5), 64, NULL);
    assert_body(sampled(2, 6, 5), 64, bad_state);
    assert_body(sampled(3, 5, 6), 64, bad_state); /* the third is 0 */
    assert_body(sampled(257, 0, 0), 64, bad_state);
    assert_body(sampled(UINT64_C(1) << 32, 0, 0), 64, bad_state);
    assert_body(sampled(UINT64_MAX, 0, 0), 64, bad_state);
}

RUN_TESTS("bodies")
