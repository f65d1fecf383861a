/* hold.h - records that must wait for those after them: the last ones that came, as long
 * as there may be a leap in time among them (clock.h). What is held stays with the
 * reader and comes first in the next batch, so that it makes no difference how the bytes
 * came. Nothing waits for longer than a pause of the input, nor past the end of a file. */
#ifndef WEIR_PIPE_HOLD_H
#define WEIR_PIPE_HOLD_H

#include "pipe/read.h"

/* Must all that came wait for more? */
bool hold_all(struct reader *r, struct batch *b);

/* Wait so long for them, in milliseconds; what it was comes back. */
int hold_patience(struct reader *r, const struct batch *b);

/* Take those that must wait out of a batch of so many bytes, unless nothing came any
 * more. */
void hold_back(struct reader *r, struct batch *b, size_t filled, bool came);

#endif
