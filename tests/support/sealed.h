/* sealed.h - saved parts that are forged or changed, with valid checksums: loading must detect
 * everything else that is wrong with them. */
#ifndef WEIR_TESTS_SUPPORT_SEALED_H
#define WEIR_TESTS_SUPPORT_SEALED_H

#include "support/support.h"

#include "format/part.h"

/* The head of a valid part; its spec points into the part. */
struct part_head head_of_blob(struct blob b);

/* A part with this head and these cells. */
struct blob sealed_part(const struct part_head *h, const void *cells);

/* Recompute the checksums of a changed part; head is what it had before. */
void seal(struct blob b, const struct part_head *was);

/* Call check() with every shortened version of a part: fewer cells, fewer words, a shorter spec,
 * with valid lengths and checksums. */
void with_sealed_cuts(struct blob b, void (*check)(struct blob cut, void *context), void *context);

/* Call check() with versions in which some words (counters, registers, times) or eight of the first
 * cells are close to the maximum of 62, 63 or 64 bits. */
void with_forged_words(struct blob b, void (*check)(struct blob forged, void *context),
                       void *context);

#endif
