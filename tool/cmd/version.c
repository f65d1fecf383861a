/* version.c - weir version [--verbose]: what a report of a bug should have. */
#include <jansson.h>
#include <lzma.h>
#include <sodium.h>
#include <stdio.h>
#include <weir.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "cmd/commands.h"
#include "cli/messages.h"
#include "verdict/ask_store.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER ", with the address sanitizer"
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER ", with the thread sanitizer"
#else
#define SANITIZER ""
#endif

/* As the library chooses it: lib/base/processor.h. */
static const char *processor_path(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2"))
        return "x86-64 with AVX-512, which the filter recent uses";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2"))
        return "x86-64 with AVX2, which the filter recent uses";
    return "x86-64 without AVX2: plain code";
#else
    return "plain code";
#endif
}

static void print_libraries(void)
{
    char stores[128];
    unsigned xx = XXH_versionNumber();

    ask_store_libraries(stores, sizeof stores);
    printf("libraries   xxHash %u.%u.%u, libsodium %s, jansson %s\n", xx / 10000, xx / 100 % 100,
           xx % 100, sodium_version_string(), jansson_version_str());
    printf("            zlib %s, zstd %s, xz %s\n", zlibVersion(), ZSTD_versionString(),
           lzma_version_string());
    printf("            %s\n", stores);
}

int cmd_version(const struct options *o)
{
    if (o->operands > 0)
        return fail("'weir version' takes no '%s'", o->operand[0]);
    printf("weir %s\n", weir_version());
    if (!o->verbose)
        return EXIT_FINE;
    printf("build       " BUILD_TYPE ", compiler %s%s\n", __VERSION__, SANITIZER);
    printf("processor   %s\n", processor_path());
    print_libraries();
    return EXIT_FINE;
}
