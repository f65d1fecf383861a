/* wrapped.h - counts the C library's allocations and random numbers, and makes them fail.
 *
 * The linker replaces the real functions with those of wrapped.c (--wrap), also under sanitizers. A
 * budget limits the number of successful allocations. Live blocks are counted, so leaks are
 * detected without a sanitizer. */
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
