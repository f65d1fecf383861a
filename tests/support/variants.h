/* variants.h - configurations of every filter, for property tests.
 *
 * Filters and parameters are listed by the library, so a filter that is added to list.h is tested
 * without a change here. For a new parameter, add a line to variants.c. */
#ifndef WEIR_TESTS_SUPPORT_VARIANTS_H
#define WEIR_TESTS_SUPPORT_VARIANTS_H

#include "support/support.h"

struct variant {
    const char *name; /* of the filter */
    char spec[SPEC];  /* including the seed */
    size_t memory;    /* bytes, rounded up; 0 if fpr= decides */
};

/* Test a property on every variant of every filter that has weir_observe(), or of one filter.
 * set_properties.c tests the others. */
void for_each_variant(void (*property)(const struct variant *v));
void for_each_variant_of(const char *filter, void (*property)(const struct variant *v));

/* A teardown that prints the variant of a failed test. */
int print_variant(void **state);

#define PROPERTY(name)                                                                             \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        for_each_variant(property_##name);                                                         \
    }
#define property_test(name) cmocka_unit_test_teardown(name, print_variant)

#endif
