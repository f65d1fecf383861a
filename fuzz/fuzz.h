/* fuzz.h - declarations for all fuzz targets. A target aborts if a property does not hold. */
#ifndef WEIR_FUZZ_FUZZ_H
#define WEIR_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool condition)
{
    if (!condition)
        abort();
}

#endif
