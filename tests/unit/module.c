/* module.c - weir.so in the stand-in server, in situations that a real server rarely reaches: every
 * allocation fails, blocks move, and replicas and files are compared after every command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/stand_in.h"

#define TELL(...) stand_in_tell(__VA_ARGS__, (char *)NULL)

static void fill(void)
{
    char item[32], more[32], number[32];

    assert_string_equal(TELL("WEIR.CREATE", "f", "bloom memory=1K seed=1"), "OK");
    assert_string_equal(TELL("WEIR.CREATE", "t", "recent memory=1K span=1m"), "OK");
    assert_string_equal(TELL("BF.RESERVE", "b", "0.01", "5"), "OK");
    assert_string_equal(TELL("CMS.INITBYDIM", "c", "20", "3"), "OK");
    assert_string_equal(TELL("CMS.INITBYDIM", "d", "20", "3"), "OK");
    assert_string_equal(TELL("TOPK.RESERVE", "k", "4", "10", "3", "0.9"), "OK");
    for (int i = 0; i < 60; i++) {
        snprintf(item, sizeof item, "item%d", i % 37);
        snprintf(more, sizeof more, "more%d", i * i % 11);
        snprintf(number, sizeof number, "%d", i);
        TELL("WEIR.OBSERVE", "f", "ONCE", i % 2 ? "p" : "q", number, item, more);
        TELL("WEIR.OBSERVE", "t", item, more, item);
        TELL("WEIR.OBSERVE", "by default", item);
        TELL("BF.MADD", "b", item, more, number);
        TELL("BF.ADD", "n", number);
        TELL("CF.INSERT", "u", "CAPACITY", "8", "ITEMS", item, more);
        TELL("CF.DEL", "u", more);
        TELL("CMS.INCRBY", "c", item, "3", more, number);
        TELL("TOPK.ADD", "k", item, more);
        TELL("TOPK.INCRBY", "k", more, number);
    }
    TELL("CMS.MERGE", "d", "2", "c", "d", "WEIGHTS", "2", "1");
    TELL("WEIR.MERGE", "m", "1", "f");
    TELL("WEIR.LOAD", "l", "7", "WEIR...");
}

static void replies_equal_those_of_a_real_server(void **state)
{
    assert_string_equal(TELL("WEIR.CREATE", "x", "bloom memory=1K seed=1"), "OK");
    assert_string_equal(TELL("WEIR.OBSERVE", "x", "a", "b", "a"), "[ 0 0 1]");
    assert_string_equal(TELL("BF.MADD", "y", "a", "b", "a"), "[ 1 1 0]");
    assert_string_equal(TELL("BF.ADD", "x", "a"), "-WRONGTYPE Operation against a key holding the "
                                                  "wrong kind of value");
    assert_string_equal(TELL("TOPK.ADD", "z", "a"), "-TopK: key does not exist");
    assert_string_equal(TELL("WEIR.ASK"), "-ERR wrong number of arguments");
    stand_in_flush();
}

static void replicas_and_files_have_the_same_bytes(void **state)
{
    fill();
    assert_true(stand_in_copies_alike());
}

/* With half a span, and with an invalid date. */
static void neither_a_clock_that_jumps_nor_a_wrong_date_evicts_keys(void **state)
{
    static const char *const late =
        "-WEIRTIME time is more than a day ahead of the server's clock; "
        "use milliseconds since 1970";

    assert_string_equal(TELL("WEIR.CREATE", "t", "recent memory=1K span=1h seed=1"), "OK");
    assert_string_equal(TELL("WEIR.OBSERVE", "t", "a"), "[ 0]");
    stand_in_set_clock(7200000);
    assert_string_equal(TELL("WEIR.OBSERVE", "t", "a"), "[ 1]");
    stand_in_set_clock(-14400000);
    assert_string_equal(TELL("WEIR.OBSERVE", "t", "a"), "[ 1]");
    assert_string_equal(TELL("WEIR.OBSERVE", "t", "AT", "4070908800000", "a"), late);
    assert_string_equal(
        TELL("WEIR.OBSERVE", "t", "TIMED", "1700000000000", "a", "1700000000000000", "b"), late);
    assert_string_equal(TELL("WEIR.OBSERVE", "t", "a", "b"), "[ 1 0]");
    assert_true(stand_in_alike(STAND_IN_MASTER, STAND_IN_REPLICA));
    stand_in_set_clock(7200000);
    stand_in_flush();
}

static void blocks_can_move(void **state)
{
    fill();
    for (int i = 0; i < 5; i++)
        stand_in_defrag();
    assert_string_equal(TELL("WEIR.OBSERVE", "f", "ONCE", "p", "59", "item22", "more5"), "[ 1 1]");
    assert_string_equal(TELL("BF.EXISTS", "b", "item22"), "1");
    assert_string_equal(TELL("TOPK.QUERY", "k", "never"), "[ 0]");
    assert_true(stand_in_alike(STAND_IN_MASTER, STAND_IN_REPLICA));
    stand_in_flush();
    assert_int_equal(stand_in_held(), 0);
}

/* Runs each command with its first allocation failing, then the second, and so on, until none
 * fails. Nothing may be lost or half done, and a failed command is not replicated. */
static void a_failed_allocation_is_an_error_reply(void **state)
{
    static const char *const said[][8] = {
        {"WEIR.CREATE", "new", "recent memory=1K"},
        {"WEIR.OBSERVE", "f", "ONCE", "r", "1", "x", "y"},
        {"WEIR.OBSERVE", "new", "x"},
        {"WEIR.MERGE", "f", "1", "m"},
        {"WEIR.MERGE", "new", "2", "m", "f"},
        {"WEIR.SAVE", "f", "0"},
        {"WEIR.LOAD", "new", "4", "WEIR"},
        {"WEIR.LOAD", "l", "11", "more"},
        {"BF.RESERVE", "new", "0.01", "100"},
        {"BF.ADD", "new", "x"},
        {"BF.MADD", "n", "x1", "x2", "x3", "x4", "x5"},
        {"BF.SCANDUMP", "b", "0"},
        {"CF.RESERVE", "new", "100"},
        {"CF.INSERT", "u", "ITEMS", "x1", "x2", "x3", "x4", "x5"},
        {"CMS.INITBYPROB", "new", "0.1", "0.1"},
        {"CMS.MERGE", "d", "1", "c"},
        {"TOPK.RESERVE", "new", "3"},
        {"TOPK.ADD", "k", "x", "x", "x"},
        {"TOPK.INCRBY", "k", "x", "100000"},
        {"TOPK.LIST", "k"},
    };

    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        for (size_t n = 1;; n++) {
            struct weir_bytes words[8];
            size_t many = 0;

            fill();
            for (; many < 8 && said[i][many]; many++)
                words[many] = (struct weir_bytes){said[i][many], strlen(said[i][many])};
            stand_in_fail(n);
            const char *told = stand_in_say(words, many);
            bool enough = stand_in_allocations() < n;
            stand_in_fail(0);
            if (enough)
                assert_true(told[0] != '-');
            assert_true(stand_in_alike(STAND_IN_MASTER, STAND_IN_REPLICA));
            stand_in_flush();
            assert_int_equal(stand_in_held(), 0);
            if (enough)
                break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_equal_those_of_a_real_server),
        cmocka_unit_test(replicas_and_files_have_the_same_bytes),
        cmocka_unit_test(neither_a_clock_that_jumps_nor_a_wrong_date_evicts_keys),
        cmocka_unit_test(blocks_can_move),
        cmocka_unit_test(a_failed_allocation_is_an_error_reply),
    };

    if (!stand_in_load((const char *const[]){"DEFAULT", "memory=2K"}, 2))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
