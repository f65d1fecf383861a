/* importance.c - from a record's importance to its class. */
#include "support/support.h"

#include "base/rng.h"
#include "spec/importance.h"

#include <string.h>

static struct importance mode(const char *text)
{
    struct importance imp;

    assert_true(importance_read((struct span){text, strlen(text)}, &imp));
    return imp;
}

static uint32_t class_in(const char *text, const struct sample *s, uint32_t value, uint32_t top)
{
    struct importance imp = mode(text);

    return importance_class(&imp, s, value, top);
}

TEST(a_range_is_cut_into_equal_classes)
{
    uint32_t counts[8] = {0};

    assert_int_equal(class_in("1-50", NULL, 0, 7), 1);
    assert_int_equal(class_in("1-50", NULL, 1, 7), 1);
    assert_int_equal(class_in("1-50", NULL, 50, 7), 7);
    assert_int_equal(class_in("1-50", NULL, UINT32_MAX, 7), 7);
    assert_int_equal(class_in("0-4294967295", NULL, UINT32_MAX, 255), 255);
    assert_int_equal(class_in("0-4294967295", NULL, UINT32_MAX / 2, 2), 1);
    assert_int_equal(class_in("0-4294967295", NULL, UINT32_MAX / 2 + 1, 2), 2);
    for (uint32_t i = 1; i <= 49; i++)
        counts[class_in("1-49", NULL, i, 7)]++;
    for (uint32_t c = 1; c <= 7; c++)
        assert_int_equal(counts[c], 7);
}

TEST(classes_never_fall_as_importance_rises)
{
    static const char *const modes[] = {"1-50", "log", "percentile", "capped"};
    struct sample s = {.n = 0};

    for (uint64_t i = 0; i < 1000; i++)
        sample_take(&s, (uint32_t)(i * i), i, 1);
    for (size_t m = 0; m < 4; m++)
        for (uint32_t top = 1; top <= 255; top += 2) {
            uint32_t before = 1;

            for (uint64_t value = 0; value <= UINT32_MAX; value = value * 3 / 2 + 1) {
                uint32_t now = class_in(modes[m], &s, (uint32_t)value, top);

                assert_true(now >= before && now <= top);
                before = now;
            }
            if (top <= 33 || m != 1) /* there are 33 lengths in bits */
                assert_int_equal(class_in(modes[m], &s, UINT32_MAX, top), top);
        }
}

TEST(log_classes_are_numbers_of_bits)
{
    assert_int_equal(class_in("log", NULL, 0, 33), 1);
    assert_int_equal(class_in("log", NULL, 1, 33), 2);
    assert_int_equal(class_in("log", NULL, 2, 33), 3);
    assert_int_equal(class_in("log", NULL, 3, 33), 3);
    assert_int_equal(class_in("log", NULL, 1u << 31, 33), 33);
    assert_int_equal(class_in("log", NULL, 255, 3), 1);
}

TEST(an_empty_sample_gives_the_middle_or_the_top)
{
    struct sample s = {.n = 0};

    assert_int_equal(class_in("percentile", &s, 5, 7), 4);
    assert_int_equal(class_in("capped", &s, 5, 7), 7);
}

/* 200 values: 0, 10, ... 1990. */
TEST(percentiles_and_caps_follow_the_sample)
{
    struct sample s = {.n = 0};

    for (uint32_t i = 0; i < 200; i++)
        sample_take(&s, i * 7 % 200 * 10, i, 1);
    assert_int_equal(s.n, 200);
    assert_true(sample_valid(&s));
    assert_int_equal(class_in("percentile", &s, 995, 10), 6);
    assert_int_equal(class_in("percentile", &s, 985, 10), 5);
    assert_int_equal(class_in("percentile", &s, 5, 10), 1);
    assert_int_equal(class_in("percentile", &s, 1985, 10), 10);
    assert_int_equal(class_in("capped", &s, 1800, 10), 10); /* the 90th percentile */
    assert_int_equal(class_in("capped", &s, 1799, 10), 10);
    assert_int_equal(class_in("capped", &s, 1619, 10), 9);
    assert_int_equal(class_in("capped", &s, 179, 10), 1);
}

/* All are equal: none is above the others. */
TEST(equal_values_are_in_the_middle_class)
{
    struct sample s = {.n = 0};

    for (uint64_t i = 0; i < 1000; i++)
        sample_take(&s, 42, i, 1);
    assert_int_equal(class_in("percentile", &s, 42, 7), 4);
    assert_int_equal(class_in("percentile", &s, 41, 7), 1);
    assert_int_equal(class_in("percentile", &s, 43, 7), 7);
}

/* After the level has risen, the sample follows: every 16 records one of 256 values is replaced, so
 * 40,000 records leave e^-9.8 of the old ones. */
TEST(the_sample_follows_the_stream)
{
    struct sample s = {.n = 0};

    for (uint64_t i = 0; i < 5000; i++)
        sample_take(&s, (uint32_t)(i % 100), i, 1);
    assert_int_equal(class_in("capped", &s, 95, 7), 7);
    for (uint64_t i = 5000; i < 45000; i++)
        sample_take(&s, 1000000 + (uint32_t)(i % 100), i, 1);
    assert_int_equal(s.n, SAMPLE_SIZE);
    assert_true(sample_valid(&s));
    assert_true(s.value[2] >= 1000000); /* one or two may remain */
    assert_int_equal(class_in("capped", &s, 95, 7), 1);
}

TEST(modes_are_written_as_they_are_read)
{
    static const char *const texts[] = {"1-50", "0-4294967295", "log", "percentile", "capped"};

    for (size_t i = 0; i < 5; i++) {
        struct importance imp = mode(texts[i]);
        char buffer[40];
        struct text t = text_in(buffer, sizeof buffer);

        importance_write(&t, &imp);
        assert_string_equal(buffer, texts[i]);
        assert_int_equal(importance_samples(&imp), i >= 3);
    }
}

/* The values around every step, and some others. */
static void check_steps(const struct importance *imp, const struct sample *s, uint32_t top)
{
    struct steps steps;

    assert_true(importance_steps(imp, s, top, &steps));
    for (uint32_t i = 0; i < 3 * top; i++) {
        uint32_t value = i / 3 < steps.top ? steps.from[i / 3] + i % 3 - 1 : i * 0x9e3779b9u;

        assert_int_equal(steps_class(&steps, value), importance_class(imp, s, value, top));
    }
    for (uint32_t i = 0; i <= SAMPLE_SIZE; i++) {
        uint32_t value = i < SAMPLE_SIZE ? s->value[i] : UINT32_MAX;

        assert_int_equal(steps_class(&steps, value), importance_class(imp, s, value, top));
        assert_int_equal(steps_class(&steps, value + 1), importance_class(imp, s, value + 1, top));
    }
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(steps_class(&steps, i), importance_class(imp, s, i, top));
}

static uint32_t drawn(struct rng *r, uint32_t kind)
{
    uint64_t any = rng_next(r);

    return kind == 0   ? (uint32_t)any
           : kind == 1 ? (uint32_t)any >> (any >> 32) % 32
           : kind == 2 ? (uint32_t)(any % 5)
           : kind == 3 ? UINT32_MAX - (uint32_t)(any % 3)
           : kind == 4 ? UINT32_MAX
                       : 0;
}

TEST(steps_give_the_same_classes)
{
    static const char *const modes[] = {"1-50", "0-4294967295", "7-8",   "4294967294-4294967295",
                                        "log",  "percentile",   "capped"};

    for (uint32_t kind = 0; kind < 6; kind++) {
        struct sample s = {.n = 0};
        struct rng r = rng_at(7, kind);

        for (uint64_t i = 0; i < 1000; i++)
            sample_take(&s, drawn(&r, kind), i, 1);
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
            for (uint32_t top = 1; top <= CLASSES_MAX; top++) {
                struct importance imp = mode(modes[m]);

                check_steps(&imp, &s, top);
            }
    }
}

TEST(steps_require_a_full_sample)
{
    struct importance percentile = mode("percentile");
    struct sample s = {.n = 0};
    struct steps steps;

    for (uint64_t i = 0; i < SAMPLE_SIZE; i++) {
        assert_false(importance_steps(&percentile, &s, 31, &steps));
        sample_take(&s, (uint32_t)i, i, 1);
    }
    assert_true(importance_steps(&percentile, &s, 31, &steps));
    assert_false(importance_steps(&percentile, &s, CLASSES_MAX + 1, &steps));
}

RUN_TESTS("importance")
