/* bodies.c - saved filters made by hand: the checksum is right, the state may
 * be impossible. */
#include "support/support.h"

#include <string.h>

#include "base/bits.h"

static const char bad_config[] =
    "the saved configuration is not one that this version of weir writes";
static const char bad_size[] =
    "the saved filter is not of the size that its configuration asks for";
static const char bad_state[] = "the saved filter is in a state that cannot be";

struct body {
    uint8_t bytes[4096];
    size_t size;
};

static void add64(struct body *body, uint64_t value)
{
    bits_store64(body->bytes + body->size, value);
    body->size += 8;
}

static void add32(struct body *body, uint32_t value)
{
    bits_store32(body->bytes + body->size, value);
    body->size += 4;
}

/* Up to the counters, which are the first thing after the configuration. */
static struct body body_of(const char *config, uint64_t shown, uint64_t seen)
{
    struct body body = {.size = 0};

    add32(&body, (uint32_t)strlen(config));
    memcpy(body.bytes + 4, config, strlen(config));
    body.size += strlen(config);
    add64(&body, shown);
    add64(&body, seen);
    return body;
}

static struct blob part_of(const struct body *body)
{
    struct blob b = {NULL, 0};

    weir_part_write(WEIR_PART_FILTER, body->bytes, body->size, blob_sink, &b);
    return b;
}

static void assert_body(struct body body, size_t zeros, const char *expected)
{
    body.size += zeros;
    struct blob b = part_of(&body);

    if (expected)
        assert_not_loaded(b, expected);
    else
        assert_true(loads_usable(b));
    blob_free(b);
}

static struct body plain(const char *config, uint64_t shown, uint64_t seen)
{
    struct body body = body_of(config, shown, seen);

    add32(&body, 0);
    return body;
}

#define BLOOM "bloom memory=64 k=4 hash=xxh3 seed=1"

static void counters_must_be_possible(void **state)
{
    (void)state;
    assert_body(plain(BLOOM, 5, 5), 64, NULL);
    assert_body(plain(BLOOM, 5, 6), 64, bad_state);
    assert_body(plain(BLOOM, 0, UINT64_MAX), 64, bad_state);
    assert_body(plain(BLOOM, UINT64_MAX, 0), 64, bad_state); /* the next would be number 0 */
}

static void the_size_must_be_what_the_configuration_asks_for(void **state)
{
    (void)state;
    assert_body(plain(BLOOM, 5, 5), 63, bad_size);
    assert_body(plain(BLOOM, 5, 5), 65, bad_size);
    assert_body(plain(BLOOM, 5, 5), 0, bad_size);
    /* No memory is asked for before: a few bytes cannot make it ask for 16T. */
    assert_body(plain("bloom memory=17592186044416 k=4 hash=xxh3 seed=1", 0, 0), 64, bad_size);
}

static void only_complete_configurations_are_taken(void **state)
{
    static const char *const configs[] = {
        "",
        "bloom",
        "blom memory=64 k=4 hash=xxh3 seed=1",
        "bloom memory=64 k=4 hash=xxh3",                /* no seed */
        "bloom memory=64 k=4 hash=xxh3 seed=01",        /* not as we write it */
        "bloom  memory=64 k=4 hash=xxh3 seed=1",        /* a space too many */
        "bloom memory=64 k=4 hash=xxh3 seed=1 ",        /* and another */
        "bloom memory=512bit k=4 hash=xxh3 seed=1",     /* a whole number of bytes */
        "bloom memory=64 k=4 seed=1 hash=xxh3",         /* another order */
        "bloom memory=64 fpr=0.1 k=4 hash=xxh3 seed=1", /* a wish, not a fact */
        "bloom memory=64 capacity=50 hash=xxh3 seed=1", /* no k */
        "memory=64 k=4 hash=xxh3 seed=1",               /* no name */
        "bloom memory=8 k=4 hash=xxh3 seed=1",          /* too little */
    };

    (void)state;
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        assert_body(plain(configs[i], 5, 5), 64, bad_config);
}

static void the_configuration_must_be_a_text_that_is_there(void **state)
{
    struct body body = plain(BLOOM, 5, 5);

    (void)state;
    body.bytes[10] = '\0';
    assert_body(body, 64, bad_config);
    for (uint32_t length = 0; length < 2000; length++) {
        body = plain(BLOOM, 5, 5);
        bits_store32(body.bytes, length);
        if (length != sizeof BLOOM - 1)
            assert_body(body, 64, bad_config);
    }
    bits_store32(body.bytes, UINT32_MAX);
    assert_body(body, 64, bad_config);
    for (size_t size = 0; size < 4; size++) {
        body.size = size;
        assert_body(body, 0, bad_config);
    }
}

#define RLBSBF "rlbsbf memory=64 k=2 hash=xxh3 seed=1"

static struct body loads(uint64_t first, uint64_t second)
{
    struct body body = body_of(RLBSBF, 5, 5);

    add64(&body, first);
    add64(&body, second);
    add32(&body, 0);
    return body;
}

static void loads_of_rlbsbf_must_be_those_of_its_bits(void **state)
{
    struct body body = loads(3, 1);

    (void)state;
    body.bytes[body.size] = 0x15;      /* three bits of the first array */
    body.bytes[body.size + 63] = 0x80; /* the last of the second */
    assert_body(body, 64, NULL);
    body.bytes[body.size + 1] = 1;
    assert_body(body, 64, bad_state);
    assert_body(loads(0, 0), 64, NULL);
    assert_body(loads(1, 0), 64, bad_state);
    assert_body(loads(0, UINT64_MAX), 64, bad_state);
}

static struct body two(const char *config, uint64_t first, uint64_t second)
{
    struct body body = body_of(config, 5, 5);

    add64(&body, first);
    add64(&body, second);
    add32(&body, 0);
    return body;
}

static void registers_must_be_in_range(void **state)
{
    static const char buffers[] = "two-buffer memory=64 k=4 window=10 hash=xxh3 seed=1";
    static const char slices[] = "apbf memory=64 k=4 window=12 slices=4 hash=xxh3 seed=1";

    (void)state;
    assert_body(two(buffers, 1, 10), 64, NULL);
    assert_body(two(buffers, 2, 0), 64, bad_state);
    assert_body(two(buffers, UINT64_MAX, 0), 64, bad_state);
    assert_body(two(buffers, 0, 11), 64, bad_state);
    assert_body(two(slices, 7, 3), 64, NULL);
    assert_body(two(slices, 8, 0), 64, bad_state);
    assert_body(two(slices, UINT64_MAX, 0), 64, bad_state);
    assert_body(two(slices, 0, 4), 64, bad_state);
}

static struct body sampled(uint32_t n, uint32_t first, uint32_t second)
{
    struct body body = body_of(
        "ibf-mc memory=64 k=5 cell=3 decay=10 importance=percentile hash=xxh3 seed=1", 5, 5);

    add32(&body, n);
    add32(&body, first);
    add32(&body, second);
    return body;
}

static void samples_must_be_sorted_and_fit(void **state)
{
    size_t rest = 254 * 4 + 64;

    (void)state;
    assert_body(sampled(0, 0, 0), rest, NULL);
    assert_body(sampled(2, 5, 5), rest, NULL);
    assert_body(sampled(2, 6, 5), rest, bad_state);
    assert_body(sampled(3, 5, 6), rest, bad_state); /* the third is 0 */
    assert_body(sampled(257, 0, 0), rest, bad_state);
    assert_body(sampled(UINT32_MAX, 0, 0), rest, bad_state);
    struct body body = body_of(BLOOM, 5, 5);
    add32(&body, 1); /* a sample where there is room for none */
    assert_body(body, 64, bad_state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_must_be_possible),
        cmocka_unit_test(the_size_must_be_what_the_configuration_asks_for),
        cmocka_unit_test(only_complete_configurations_are_taken),
        cmocka_unit_test(the_configuration_must_be_a_text_that_is_there),
        cmocka_unit_test(loads_of_rlbsbf_must_be_those_of_its_bits),
        cmocka_unit_test(registers_must_be_in_range),
        cmocka_unit_test(samples_must_be_sorted_and_fit),
    };

    return cmocka_run_group_tests_name("bodies", tests, NULL, NULL);
}
