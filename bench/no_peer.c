/* no_peer.c - in the place of peer.c where libbloom is not installed. */
#include "speed.h"

bool peer_there(void)
{
    return false;
}

void peer_run(struct table *t, double memory_mib, const struct stream *s)
{
    (void)t, (void)memory_mib, (void)s;
}
