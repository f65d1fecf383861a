/* text.c - parsing and printing of sizes, counts and rates. */
#include "support/support.h"

#include <string.h>

#include "base/text.h"

static struct span span(const char *s)
{
    return (struct span){s, strlen(s)};
}

static void assert_read(bool (*reader)(struct span, uint64_t *), const char *text, uint64_t value)
{
    uint64_t got = 0;

    if (!reader(span(text), &got) || got != value)
        fail_msg("'%s' is read as %llu", text, (unsigned long long)got);
}

static void assert_not_read(bool (*reader)(struct span, uint64_t *), const char *text)
{
    uint64_t got = 0;

    if (reader(span(text), &got))
        fail_msg("'%s' is taken, as %llu", text, (unsigned long long)got);
}

TEST(sizes_are_powers_of_1024_and_bits)
{
    assert_read(span_size, "64", 512);
    assert_read(span_size, "1K", 8192);
    assert_read(span_size, "1k", 8192);
    assert_read(span_size, "1KiB", 8192);
    assert_read(span_size, "64M", UINT64_C(1) << 29);
    assert_read(span_size, "64MB", UINT64_C(1) << 29);
    assert_read(span_size, "64MiB", UINT64_C(1) << 29);
    assert_read(span_size, "64m", UINT64_C(1) << 29);
    assert_read(span_size, "64mb", UINT64_C(1) << 29);
    assert_read(span_size, "64mib", UINT64_C(1) << 29);
    assert_read(span_size, "64B", 512);
    assert_read(span_size, "2gb", UINT64_C(1) << 34);
    assert_read(span_size, "1G", UINT64_C(1) << 33);
    assert_read(span_size, "16T", UINT64_C(1) << 47);
    assert_read(span_size, "0.5K", 4096);
    assert_read(span_size, ".5K", 4096);
    assert_read(span_size, "1.25M", 10485760);
    assert_read(span_size, "1000bit", 1000);
    assert_read(span_size, "0.125", 1); /* bytes: one bit */
    assert_read(span_size, "2305843009213693951", UINT64_MAX - 7);
}

TEST(sizes_refuse_invalid_text)
{
    const char *bad[] = {"",
                         "K",
                         "M64",
                         "-1",
                         "+1",
                         "1 K",
                         "1X",
                         "1Kb",
                         "1Ki",
                         "1bits",
                         "1.",
                         "1..2",
                         "1e3",
                         "0x10",
                         "1.5bit",
                         "0.1",
                         "1mm",
                         "1Mi",
                         "1BB",
                         "1MBit",
                         "B",
                         "1KiBs",
                         "64,0",
                         "bit",
                         "iB",
                         "1iB",
                         "2305843009213693952", /* 2^61 bytes: 2^64 bits */
                         "18446744073709551616",
                         "99999999999999999999999999",
                         "2097152T"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_not_read(span_size, bad[i]);
}

TEST(counts_are_powers_of_1000)
{
    assert_read(span_count, "0", 0);
    assert_read(span_count, "7", 7);
    assert_read(span_count, "007", 7);
    assert_read(span_count, "1k", 1000);
    assert_read(span_count, "1K", 1000);
    assert_read(span_count, "2.5M", 2500000);
    assert_read(span_count, "1G", 1000000000);
    assert_read(span_count, "1T", 1000000000000);
    assert_read(span_count, "18446744073709551615", UINT64_MAX);
    assert_read(span_count, "18446744.073709551615T", UINT64_MAX);
    assert_read(span_count, "1.000000000000000000", 1);
}

TEST(counts_refuse_invalid_text)
{
    const char *bad[] = {"",
                         "k",
                         "-1",
                         "1.5",
                         "1.0005k",
                         "1kk",
                         "1bit",
                         "1e6",
                         "1 ",
                         "1iB",
                         "1,000",
                         "0x1",
                         "18446744073709551616",
                         "18446744073709551615k"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_not_read(span_count, bad[i]);
}

TEST(whole_numbers_have_no_unit)
{
    assert_read(span_whole, "0", 0);
    assert_read(span_whole, "18446744073709551615", UINT64_MAX);
    assert_not_read(span_whole, "18446744073709551616");
    assert_not_read(span_whole, "1k");
    assert_not_read(span_whole, "");
    assert_not_read(span_whole, "1.5");
}

TEST(rates_are_fractions_percentages_or_powers)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0.01", 0.01},       {"1%", 0.01},       {"1e-2", 0.01},  {"1E-2", 0.01},
                {"0.5%", 0.005},      {".5", 0.5},        {"1", 1},        {"0", 0},
                {"100%", 1},          {"2.5e-3", 0.0025}, {"1e-2%", 1e-4}, {"1e-300", 1e-300},
                {"0.000000001", 1e-9}};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double got = -1;

        assert_true(span_rate(span(good[i].text), &got));
        assert_true(got >= good[i].value * (1 - 1e-13) && got <= good[i].value * (1 + 1e-13));
    }
}

TEST(rates_refuse_invalid_text)
{
    const char *bad[] = {"",
                         "%",
                         "-0.1",
                         "1e2",
                         "1e+2",
                         "1e-",
                         "1e-301",
                         "e-3",
                         "nan",
                         "inf",
                         "0,1",
                         "1 %",
                         "1%%",
                         "0.1x",
                         "1e-3e-3",
                         ".",
                         "1e-99999999999999999999",
                         "99999999999999999999"};
    double got;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (span_rate(span(bad[i]), &got))
            fail_msg("'%s' is taken, as %g", bad[i], got);
}

TEST(parsers_read_only_their_span)
{
    uint64_t got;

    assert_true(span_size((struct span){"64M99", 3}, &got));
    assert_int_equal(got, 1 << 29);
    assert_true(span_count((struct span){"123", 2}, &got));
    assert_int_equal(got, 12);
    assert_true(span_is((struct span){"abcd", 3}, "abc"));
    assert_false(span_is((struct span){"abcd", 4}, "abc"));
    assert_false(span_is((struct span){"ab", 2}, "abc"));
}

TEST(numbers_are_written_in_full)
{
    char buffer[64];
    struct text t = text_in(buffer, sizeof buffer);

    text_add_u64(&t, 0);
    text_add(&t, " ");
    text_add_u64(&t, UINT64_MAX);
    text_add(&t, " ");
    text_add_span(&t, "abcdef", 3);
    assert_string_equal(buffer, "0 18446744073709551615 abc");
}

static void assert_rate(uint64_t billionths, const char *expected)
{
    char buffer[32];
    struct text t = text_in(buffer, sizeof buffer);

    text_add_rate(&t, billionths);
    assert_string_equal(buffer, expected);
}

TEST(billionths_are_written_as_fractions)
{
    assert_rate(30000000, "0.03");
    assert_rate(0, "0");
    assert_rate(1000000000, "1");
    assert_rate(1, "0.000000001");
    assert_rate(123456789, "0.123456789");
    assert_rate(1500000000, "1.5");
}

static void assert_double(double rate, const char *expected)
{
    char buffer[32];
    struct text t = text_in(buffer, sizeof buffer);

    text_add_double(&t, rate);
    assert_string_equal(buffer, expected);
}

TEST(rates_are_written_to_three_digits_rounded_up)
{
    assert_double(0.01, "0.01");
    assert_double(0.010001, "0.0101");
    assert_double(0.5696, "0.57");
    assert_double(1, "1");
    assert_double(0.001234, "0.00124");
    assert_double(2.3e-7, "2.3e-7");
    assert_double(1e-300, "1e-300");
    assert_double(1e-9, "1e-9");
    assert_double(0, "0");
}

TEST(writers_truncate_to_the_buffer)
{
    char buffer[8] = "-------";

    for (size_t size = 1; size < sizeof buffer; size++) {
        struct text t = text_in(buffer, size);

        text_add(&t, "12");
        text_add_u64(&t, 34567890);
        text_add_rate(&t, 30000000);
        assert_int_equal(strlen(buffer), size - 1);
        assert_memory_equal(buffer, "1234567", size - 1);
        assert_int_equal(buffer[sizeof buffer - 1], 0); /* of "-------": never reached */
    }
}

RUN_TESTS("text")
