/* background.h - a call that blocks, such as looking up a host's name, done by a
 * thread of its own, so that nobody waits for it longer than an attempt may take. */
#ifndef WEIR_STORE_BACKGROUND_H
#define WEIR_STORE_BACKGROUND_H

#include "backend.h"

struct background;

/* Begin act(text) on a copy of the text; discard() frees what it returns, should
 * nobody want that any more. NULL if memory is short. */
struct background *background_start(void *(*act)(const char *text), void (*discard)(void *result),
                                    const char *text);

/* Wait for it until the attempt's time is over: false, and it may be waited for again.
 * Otherwise the result is the caller's, and there is nothing left to abandon. */
bool background_wait(struct store *store, struct background **work, void **result);

/* Wait no more. It ends by itself. NULL is nothing. */
void background_abandon(struct background **work);

#endif
