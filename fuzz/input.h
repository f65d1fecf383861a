/* input.h - the bytes of a fuzz input, taken from the front. Behind the end are zeros. */
#ifndef WEIR_FUZZ_INPUT_H
#define WEIR_FUZZ_INPUT_H

#include <weir.h>

struct input {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t byte(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

/* At most what is left. */
static inline struct weir_bytes bytes(struct input *in, size_t size)
{
    struct weir_bytes some = {in->at, size < in->left ? size : in->left};

    in->at += some.size;
    in->left -= some.size;
    return some;
}

#endif
