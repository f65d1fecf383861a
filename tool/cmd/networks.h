/* networks.h - keys such as 10.0.0.0/8 in a list: a filter compares texts, so no address inside
 * the network matches. They are counted while a list is read, and noted once. */
#ifndef WEIR_CMD_NETWORKS_H
#define WEIR_CMD_NETWORKS_H

#include "pipe/batch.h"

struct networks {
    uint64_t count, looked_at;
    const char *name; /* of the input, line and text of the first */
    uint64_t line;
    char text[64];
};

void networks_count(struct networks *n, const struct batch *b);
void networks_tell(const struct networks *n); /* nothing if there are none */

/* The same for a store that is a list of keys (keys:FILE, FILE): its first lines. */
void networks_tell_store(const char *url);

#endif
