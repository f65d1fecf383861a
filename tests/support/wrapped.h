/* wrapped.h - the C library's allocation and randomness, counted and made to fail.
 *
 * The linker puts the functions of wrapped.c in the place of the real ones (--wrap),
 * which works under sanitizers too. A budget says how many allocations go well;
 * what is live is counted, so that a leak is seen without a sanitizer. */
#ifndef WEIR_TESTS_SUPPORT_WRAPPED_H
#define WEIR_TESTS_SUPPORT_WRAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wrapped {
    size_t budget, asked; /* allocations */
    size_t live;          /* blocks */
    bool entropy_fails;
};

extern struct wrapped wrapped;

#endif
