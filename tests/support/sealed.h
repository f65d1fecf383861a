/* sealed.h - saved parts made or changed by hand, with checksums that are right: what
 * else is wrong with them must be found. */
#ifndef WEIR_TESTS_SUPPORT_SEALED_H
#define WEIR_TESTS_SUPPORT_SEALED_H

#include "support/support.h"

#include "format/part.h"

/* The head of a part that is sound; its spec lies in the part. */
struct part_head head_of_blob(struct blob b);

/* A part of this head and these cells. */
struct blob sealed_part(const struct part_head *h, const void *cells);

/* Make the checksums of a part right again, which had this head before it was
 * changed. */
void seal(struct blob b, const struct part_head *was);

/* Call check() with all parts that are this one cut short: fewer cells, fewer words, a
 * shorter spec, each under lengths and checksums that are right. */
void with_sealed_cuts(struct blob b, void (*check)(struct blob cut, void *context), void *context);

/* The same with all parts in which some of the words (counters, registers, times), or eight of the
 * first cells, are numbers at the end of what 62, 63 or 64 bits hold. */
void with_forged_words(struct blob b, void (*check)(struct blob forged, void *context),
                       void *context);

#endif
