/* curve.h - how an entrant did over the stream: points at equal distances. */
#ifndef WEIR_EVAL_CURVE_H
#define WEIR_EVAL_CURVE_H

#include "eval/entrants.h"

bool curve_open(struct curve *c, uint32_t wanted); /* 0: no curve */
void curve_close(struct curve *c);

void curve_begin(struct curve *c, uint64_t n); /* 0: not known */

/* Arrivals until the next point, after so many; never 0. */
uint64_t curve_left(const struct curve *c, uint64_t shown);

/* That is now. */
void curve_mark(struct curve *c, const struct entrant *e);

/* The order is over: the last point, and of all points those wanted. */
void curve_end(struct curve *c, const struct entrant *e);

#endif
