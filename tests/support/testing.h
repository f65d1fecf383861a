/* testing.h - tests that list themselves: TEST(name) { ... } defines one, and RUN_TESTS(group) is
 * the program that runs all tests of the file, in their order. */
#ifndef WEIR_TESTS_SUPPORT_TESTING_H
#define WEIR_TESTS_SUPPORT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define TESTS_MAX 64

static struct CMUnitTest listed_tests[TESTS_MAX] __attribute__((unused));
static size_t tests_listed __attribute__((unused));

#define TEST(name)                                                                                 \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void list_##name(void)                                     \
    {                                                                                              \
        listed_tests[tests_listed++] = (struct CMUnitTest)cmocka_unit_test(name);                  \
    }                                                                                              \
    static void name(void **state)

#define RUN_TESTS(group)                                                                           \
    int main(void)                                                                                 \
    {                                                                                              \
        return _cmocka_run_group_tests(group, listed_tests, tests_listed, NULL, NULL);             \
    }

#endif
