/* background.h - run a blocking call, such as resolving a host name, on its own thread, so that an
 * attempt can time out. */
#ifndef WEIR_STORE_BACKGROUND_H
#define WEIR_STORE_BACKGROUND_H

#include "backend.h"

struct background;

/* Start act() with a copy of the text. discard() frees its result if nobody takes it. NULL if out
 * of memory. */
struct background *background_start(void *(*act)(const char *text), void (*discard)(void *result),
                                    const char *text);

/* Wait until it ends. False if the deadline of the attempt passes first; then wait again or abandon
 * it. Otherwise the caller owns the result. */
bool background_wait(struct store *store, struct background **work, void **result);

/* Stop waiting; it ends on its own. *work may be NULL. */
void background_abandon(struct background **work);

#endif
