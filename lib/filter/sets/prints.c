/* prints.c - memory=, capacity=, fpr= and bits= of sets of fingerprints: complete those that are
 * not given. */
#include "filter/sets/prints.h"

#include "base/text.h"
#include "spec/error.h"

#define BITS_DEFAULT 8 /* one byte each: a false-positive rate of 0.4 % in a fuse filter */

static const uint8_t widths[] = {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 24, 32};
#define WIDTHS (sizeof widths / sizeof *widths)

static bool is_a_width(uint64_t bits)
{
    for (size_t i = 0; i < WIDTHS; i++)
        if (widths[i] == bits)
            return true;
    return false;
}

/* The minimum bits that keep fpr=; 0 if none do. */
static uint64_t bits_for_error(const struct config *c, const struct print_sizes *sizes)
{
    for (size_t i = 0; i < WIDTHS; i++)
        if (config_keeps_fpr(c, sizes->error(widths[i])))
            return widths[i];
    return 0;
}

/* The maximum bits with which the keys fit into memory=; the minimum if none do. */
static uint64_t bits_for_memory(const struct config *c, const struct print_sizes *sizes)
{
    size_t i = WIDTHS - 1;

    while (i > 0 && sizes->memory(c->capacity, widths[i]) > c->memory)
        i--;
    return widths[i];
}

static bool refuse_bits(const struct config *c, struct weir_error *error)
{
    char bits[24];
    struct text t = text_in(bits, sizeof bits);

    text_add_u64(&t, c->bits);
    return error_refuse(error, WEIR_ERROR_INVALID_VALUE, "bits=", bits,
                        ": invalid value; use 4 to 16, 20, 24 or 32", NULL);
}

static bool choose_bits(struct config *c, const struct print_sizes *sizes, struct weir_error *error)
{
    bool memory = config_has(c, PARAMETER_MEMORY), keys = config_has(c, PARAMETER_CAPACITY);

    if (config_has(c, PARAMETER_BITS))
        return is_a_width(c->bits) || refuse_bits(c, error);
    if (config_has(c, PARAMETER_FPR))
        c->bits = bits_for_error(c, sizes);
    else
        c->bits = memory && keys ? bits_for_memory(c, sizes) : BITS_DEFAULT;
    return c->bits || config_refuse_fpr(c, sizes->error(32), "allow more", error);
}

/* The maximum number of keys that fit into memory=. */
static uint64_t capacity_for_memory(const struct config *c, const struct print_sizes *sizes)
{
    uint64_t fits = 1, most = COUNT_MAX;

    while (fits < most) {
        uint64_t middle = fits + (most - fits + 1) / 2;

        if (sizes->memory(middle, c->bits) <= c->memory)
            fits = middle;
        else
            most = middle - 1;
    }
    return fits;
}

static bool refuse_memory(const struct config *c, uint64_t needed, struct weir_error *error)
{
    char keys[24], bytes[24];
    struct text tk = text_in(keys, sizeof keys), tb = text_in(bytes, sizeof bytes);

    text_add_u64(&tk, c->capacity);
    text_add_u64(&tb, (needed + 7) / 8);
    return error_refuse(
        error, WEIR_ERROR_MEMORY_TOO_SMALL, "memory= is too small: ", keys, " keys need ", bytes,
        " bytes with fingerprints of this size; use more memory or a larger fpr=", NULL);
}

bool print_bits_plan(struct config *c, const struct print_sizes *sizes, struct weir_error *error)
{
    if (!choose_bits(c, sizes, error))
        return false;
    if (!config_keeps_fpr(c, sizes->error(c->bits)))
        return config_refuse_fpr(c, sizes->error(c->bits), "give it more bits or leave them out",
                                 error);
    if (!config_has(c, PARAMETER_CAPACITY))
        c->capacity = capacity_for_memory(c, sizes);
    uint64_t needed = sizes->memory(c->capacity, c->bits);
    if (needed > MEMORY_MAX ||
        ((config_has(c, PARAMETER_MEMORY) || !config_has(c, PARAMETER_CAPACITY)) &&
         needed > c->memory))
        return refuse_memory(c, needed, error);
    c->memory = needed;
    return true;
}
