/* processor.h - which of the paths compiled for newer processors this one can go.
 *
 * The same code is compiled three times, in files that end in _plain.c, _avx2.c and
 * _avx512.c, and gives the same bytes. Which one is chosen is asked at every call, of what the
 * compiler's own library found out when the program began: so nothing is kept here. */
#ifndef WEIR_BASE_PROCESSOR_H
#define WEIR_BASE_PROCESSOR_H

#include <stdbool.h>

#ifdef __x86_64__ /* all that lib/meson.build compiles those files for, with these flags */

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

/* Of name_plain, name_avx2 and name_avx512 the address of the best. */
#define PROCESSOR_PATHS(name)                                                                      \
    (processor_has_avx512() ? &name##_avx512 : processor_has_avx2() ? &name##_avx2 : &name##_plain)

#else

#define PROCESSOR_PATHS(name) (&name##_plain)

#endif

#endif
