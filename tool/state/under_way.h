/* under_way.h - the state of a run whose filter lives in servers: the note, and what was sent
 * without an answer when it ended. */
#ifndef WEIR_STATE_UNDER_WAY_H
#define WEIR_STATE_UNDER_WAY_H

#include "state/state.h"

struct under_way {
    const uint8_t *data; /* as remote/remote.h has it */
    size_t size;
    bool going; /* saved while the run went on */
};

/* Replace a file. False after a message. */
bool under_way_save(const char *path, const char *note, const struct under_way *u);

/* Load one; the data is to be freed. False after a message. */
bool under_way_load(const char *path, struct state *s, struct under_way *u);

#endif
