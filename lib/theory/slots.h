/* theory/slots.h - the weir filter: lines of slots that hold fingerprints.
 *
 * A fingerprint's first byte is one of 255, so one of w bits is one of
 * 255 * 2^(w-8). A line never holds two equal ones: a new key that meets n of
 * them is taken for seen with probability n / (255 * 2^(w-8)). */
#ifndef WEIR_THEORY_SLOTS_H
#define WEIR_THEORY_SLOTS_H

#include <stdint.h>

/* The error of a line with n slots of w bits in use. */
double slots_error(uint32_t width, uint32_t n);

/* The most slots of w bits, up to `room`, that keep under an error. */
uint32_t slots_most(double error, uint32_t width, uint32_t room);

#endif
