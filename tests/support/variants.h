/* variants.h - configurations of every filter there is, for laws that hold for
 * all of them.
 *
 * The library is asked which filters and which parameters there are, so a filter
 * added to list.h is put to every law without a change here. A new parameter is
 * worth a line in variants.c. */
#ifndef WEIR_TESTS_SUPPORT_VARIANTS_H
#define WEIR_TESTS_SUPPORT_VARIANTS_H

#include "support/support.h"

struct variant {
    const char *name; /* of the filter */
    char spec[SPEC];  /* seed included */
    size_t memory;    /* bytes asked for, rounded up; 0 if left to fpr */
};

/* Run a law on every variant of every filter that can learn, or of one by its name. Those that
 * are built whole have laws of their own: set_laws.c. */
void for_each_variant(void (*law)(const struct variant *v));
void for_each_variant_of(const char *filter, void (*law)(const struct variant *v));

/* A teardown: says with which variant the test has failed, if it has. */
int tell_variant(void **state);

#define LAW(name)                                                                                  \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        for_each_variant(law_##name);                                                              \
    }
#define law_test(name) cmocka_unit_test_teardown(name, tell_variant)

#endif
