/* at.h - filters that live in servers (--at). */
#ifndef WEIR_CMD_AT_H
#define WEIR_CMD_AT_H

#include "cmd/run.h"
#include "remote/remote.h"
#include "verdict/by_remote.h"

#define AT_NOT_ON_FULL "--on-full stop does not go with --at; 'weir info --at' tells how full it is"

struct at {
    struct remote *remote;
    struct remote_filter filter;
};

/* Connect, and find the filter. make: as the options want it, if it is not there. False after a
 * sentence. */
bool at_open(struct at *a, const struct options *o, bool make);
void at_close(struct at *a);

/* Run it with verdicts of that filter, which is shown the keys or only asked. */
int at_run(struct at *a, struct run *r, bool ask, struct tally *tally);

/* weir info --at. */
int at_info(const struct options *o);

#endif
