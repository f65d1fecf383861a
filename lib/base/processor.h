/* processor.h - selects the code path for this processor.
 *
 * The same code is compiled up to three times, in files that end in _plain.c, _avx2.c and
 * _avx512.c; all give the same bytes. The path is selected at each call from the processor
 * features that the compiler's runtime detected at startup, so no state is needed here. */
#ifndef WEIR_BASE_PROCESSOR_H
#define WEIR_BASE_PROCESSOR_H

#include <stdbool.h>

#ifdef __x86_64__ /* the features that lib/meson.build compiles those files for */

static inline bool processor_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

static inline bool processor_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

/* Zen 1 and 2 take a hundred cycles and more for a pdep. */
static inline bool processor_has_slow_pdep(void)
{
    return __builtin_cpu_is("amdfam17h");
}

/* The address of name_plain, name_avx2 or name_avx512, whichever is best. */
#define PROCESSOR_PATHS(name)                                                                      \
    (processor_has_avx512() ? &name##_avx512 : processor_has_avx2() ? &name##_avx2 : &name##_plain)

#else

static inline bool processor_has_slow_pdep(void)
{
    return false;
}

#define PROCESSOR_PATHS(name) (&name##_plain)

#endif

#endif
